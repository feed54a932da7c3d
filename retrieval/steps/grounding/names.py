"""Names in a statement that its passages do not have.

Capitals tell them in English, except where a sentence begins; in Chinese titles in 《》, foreign names with a dot,
words that begin with a surname, and places by their endings. Codes are names in every language. A word that is in the
question is known: repeating it claims nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import partial

from retrieval.answerability.passage import PassageView, likeness
from retrieval.text.analysis import query_terms
from retrieval.text.language import HAN, HAN_CHARACTER, to_simplified

MIN_CREDIT = 0.6  # of a name's term by a relative in the passage: Norman, Normans
HEADLINE = 0.6  # share of capitalised words from which capitals tell nothing
_WORD = re.compile(r"[^\W_][\w'’&-]*")
_ENDS = frozenset('.!?:;。！？：；…\n“"‘(（[*_|-•>#')  # before a word: its capital may be that of a beginning
_ADDRESS = re.compile(r"\b(?:Dr|Prof|Mr|Mrs|Ms|St)\. ?\Z")  # their full stop ends no sentence
_CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec eur usd gbp cny rmb am
    pm""".split()  # noqa: SIM905
)
_NEUTRAL = frozenset(
    ("i", "yes", "no", "ok", "note", "answer", "please", "however", "if", "according", "based", "passage", "passages",
     "source", "sources"),
)  # fmt: skip
_QUOTED = re.compile(r"[《「『]([^》」』]{2,40})[》」』]")
# A foreign name's middle: where it begins and ends shows nothing.
_DOTTED = re.compile(rf"[{HAN}]{{1,2}}[·・•][{HAN}]{{1,2}}")
_SURNAMES = frozenset(
    "王李张刘陈杨赵黄吴徐孙朱胡郭何罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘袁董余苏叶吕魏蒋杜丁沈姜范卢汪钟谭邹熊孟秦邱侯尹薛雷龙贺"
    "顾毛郝龚邵钱严覃赖洪武莫孔"
)
_NO_NAMES = frozenset(
    """许多 许可 曾经 张贴 何时 何处 何种 何人 余额 余下 余地 严格 严重 严禁 严肃 严谨 顾客 顾问 顾及 范围 范例
    黄色 黄金 罗列 杜绝 武器 武力 武术 武装 钱款 钱财 毛病 毛利 洪水 莫大 莫过于 谢谢 钟头 钟表 龙头 雷电
    叶子 王国 王朝 王子 王室 丁字 孔子 孙子 唐朝 宋朝 秦朝 雷达 苏打 徐徐 胡说 张开 张力 罗马 秦代 唐代 宋代
    陈述 陈列 陈旧 杨树 孙女 朱红 沈阳 姜汤 卢比 汪洋 侯爵 贺年 龙舟 全国 各国 该国 本国 外国 城市 地区 市区
    校区 郊区 社区 区 市 省 县 国 州 山 河 湖 岛 镇 村 乡镇 登山 各省 全市 本市 全省 该市 该县 园区 王位 民国
    余名 余人 余年 余种 何以 何必 钟声""".split()  # noqa: SIM905
)
_PLACE = frozenset("省市县州国岛镇村")


def missing_names(statement: str, views: list[PassageView], known: str, asked: str) -> list[str]:
    """Names that neither the passages nor the question have, as written. known: all that the passages say; asked: the
    question."""
    statement = to_simplified(unicodedata.normalize("NFKC", statement))
    there = folded(f"{known}\n{asked}")
    asked_terms = frozenset(query_terms(asked))
    missing = []
    for name in dict.fromkeys(_names(statement)):
        if folded(name) in there:
            continue
        if HAN_CHARACTER.match(name):
            missing.append(name)
            continue
        terms = query_terms(name)
        if not terms or all(term in asked_terms or any(_is_there(term, view) for view in views) for term in terms):
            continue
        if name.isupper() and name.lower() in _initials(known):
            continue
        missing.append(name)
    return missing


def chinese_names(statement: str, asked: str) -> list[str]:
    """Names in Chinese characters that the question does not have, in Simplified ones."""
    there = folded(asked)
    statement = to_simplified(unicodedata.normalize("NFKC", statement))
    found = dict.fromkeys(_names(statement)) if HAN_CHARACTER.search(statement) else {}
    return [name for name in found if HAN_CHARACTER.match(name) and folded(name) not in there]


def folded(text: str) -> str:
    """Without the differences of width, of case and of the two Chinese scripts."""
    return to_simplified(unicodedata.normalize("NFKC", text)).casefold()


def _is_there(term: str, view: PassageView) -> bool:
    """It, or a form of it: Normans, Iranian. One of equal length is another name: Kowalczyk, Kowalczek."""
    if view.holds(term):
        return True
    relatives = (other for other in view.relatives(term) if len(other) != len(term))
    return max(map(partial(likeness, term), relatives), default=0.0) >= MIN_CREDIT


def _names(statement: str) -> Iterator[str]:
    yield from _QUOTED.findall(statement)
    yield from _DOTTED.findall(statement)
    if HAN_CHARACTER.search(statement):
        for word in query_terms(statement):
            is_person = 2 <= len(word) <= 3 and word[0] in _SURNAMES
            is_place = 2 <= len(word) <= 4 and word[-1] in _PLACE
            if (is_person or is_place) and word not in _NO_NAMES and HAN_CHARACTER.match(word):
                yield word
    words = list(_WORD.finditer(statement))
    latin = [match for match in words if not HAN_CHARACTER.search(match.group())]
    capitals = sum(match.group()[0].isupper() for match in latin)
    headline = len(latin) > 3 and capitals > HEADLINE * len(latin)
    last = -2
    for at, match in enumerate(latin):
        word = match.group().removesuffix("'s").removesuffix("’s")
        lower = word.lower()
        if any(map(str.isdigit, word)) and any(map(str.isalpha, word)):
            if not re.fullmatch(
                r"\d+(?:st|nd|rd|th|s|km|kg|cm|mm|m|g|mg|l|ml|h|am|pm|k|x)|[A-Za-z]?\d{1,2}[A-Za-z]?", word
            ):
                yield word
            continue
        if headline or not word[0].isupper() or lower in _CALENDAR or lower in _NEUTRAL or len(word) < 2:
            continue
        begins = not statement[: match.start()].strip() or _before(statement, match.start()) in _ENDS
        begins = begins and not _ADDRESS.search(statement[max(0, match.start() - 8) : match.start()])
        if begins:
            last = at
            follows = latin[at + 1].group() if at + 1 < len(latin) else ""
            if not (follows[:1].isupper() and statement[match.end() : match.end() + 1] == " "):
                continue
            if not query_terms(word):
                continue
        elif last == at - 1:
            last = at
        yield word


def _before(statement: str, at: int) -> str:
    return statement[:at].rstrip(" ")[-1:]


def _initials(text: str) -> str:
    return "".join(match.group()[0] for match in _WORD.finditer(text)).lower()
