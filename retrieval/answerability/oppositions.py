"""Words that turn a question round: antonyms and negating prefixes.

A question written to look answerable often differs from what the passage says by one such word.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Opposition = tuple[re.Pattern[str], re.Pattern[str]]
_ENGLISH = """
increas* rise rises rising rose risen rais* higher | decreas* declin* fall falls fell fallen reduc* lower*
grow* grew gain* upregulat* elevat* | drop* shrink* downregulat* diminish*
allow* permit* legal legali* | forbid* forbade forbidden prohibit* ban bans banned illegal outlaw*
before prior preced* | after follow* subsequent*
more greater | less fewer
most maxim* | least minim* fewest
largest biggest greatest | smallest
highest | lowest
longest | shortest
oldest | youngest newest
best | worst
fastest quickest | slowest
first earliest | last latest final
north northern | south southern
east eastern | west western
male males man men boy boys husband father son | female females woman women girl girls wife mother daughter
win wins won victory defeated | lose loses lost loss defeat
begin* began begun start* | end ends ended ending finish* ceas*
found founded open opened establish* | clos* dissolv* abolish*
early earlier | late later
above over upper | below under beneath lower
inside internal inner interior within indoor* | outside external outer exterior outdoor*
buy* bought purchas* import* | sell* sold export*
accept* approv* agree* | reject* refus* deny denied declin* disagree*
support* favor* favour* | oppos* against
positive* | negative*
strong* | weak*
hot warm* heat* | cold cool*
public | private
succe* | fail* unsuccess*
includ* | exclud* except
enter* arriv* join* | leav* left exit* depart* quit*
major majority | minor minority
always | never
activat* promot* enhanc* induc* stimulat* | inhibit* suppress* prevent* block* repress* deactivat* inactivat*
rich* wealth* | poor*
wet | dry
light lighter | dark heavy heavier
safe* | danger* unsafe
summer | winter
day | night
left | right
modern new newer | ancient old older traditional
love* like* | hate* dislike*
teacher* | student* pupil*
employer* | employee* worker*
ally allies friend* | enemy enemies opponent*
attack* | defen*
import imports | export exports
income revenue* | expen* cost*
rural | urban
liberal* | conservative*
create* built build* construct* | destroy* demolish*
add* | remov* delet*
enable* | disable*
"""
_CHINESE = """
增加 上升 上涨 增长 提高 升高 | 减少 下降 下跌 降低 缩减
允许 可以 批准 准许 | 禁止 不得 不可 不允许 取缔
之前 以前 此前 | 之后 以后 此后
最大 | 最小
最高 | 最低
最多 | 最少
最早 第一 首次 首个 最初 | 最后 最晚 最终 末
最长 | 最短
最好 最佳 | 最差 最坏
北部 北方 以北 | 南部 南方 以南
东部 东方 以东 | 西部 西方 以西
男性 男子 男生 父亲 儿子 丈夫 | 女性 女子 女生 母亲 女儿 妻子
胜利 获胜 战胜 击败 | 失败 落败 战败 败给
开始 成立 创立 建立 开业 开通 | 结束 解散 撤销 关闭 停业 停运
进口 | 出口
内部 室内 | 外部 室外
成功 | 失败
支持 赞成 | 反对
公立 公有 公办 | 私立 私有 民办
左侧 左边 左手 | 右侧 右边 右手
有毒 | 无毒
合法 | 非法 违法
同意 接受 | 拒绝
大于 高于 超过 多于 | 小于 低于 少于 不足
启用 开启 打开 | 禁用 关闭
添加 新增 | 删除 移除
上线 | 下线
收入 | 支出
优点 | 缺点
"""
# Words of several meanings, whose replacement may leave the question as it was.
_LOOSE_WORDS = """
right left day night cost income last latest final first earliest like love light found end ends ended lower over under
best worst fall falls fell rise rises rose above below old older new newer
"""
_PREFIX = re.compile(r"\b(?:un|in|im|ir|il|dis|non-?|anti-?|de)([a-z]{4,})\b")


def _english_pattern(side: str) -> str:
    words = "|".join(word.replace("*", r"\w*") for word in side.split())
    return rf"\b(?:{words})\b"


def _chinese_pattern(side: str) -> str:
    return "|".join(side.split())


def _pairs(lines: str, form: Callable[[str], str]) -> tuple[Opposition, ...]:
    pairs = []
    for line in lines.strip().splitlines():
        left, right = (re.compile(form(side)) for side in line.split(" | "))
        pairs += [(left, right), (right, left)]
    return tuple(pairs)


def _by_word(lines: str) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Words, and stems without their star → the numbers of the pairs whose own side they are in."""
    words: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    for number, side in enumerate(side for line in lines.strip().splitlines() for side in line.split(" | ")):
        for word in side.split():
            (stems if word.endswith("*") else words).setdefault(word.strip("*"), []).append(number)
    return words, stems


def _replacements() -> dict[str, str]:
    """Small letters: a word, or a stem with a star, → its opposite. Of each side the word in the same place."""
    replacements: dict[str, str] = {}
    loose = frozenset(_LOOSE_WORDS.split())
    for line in (*_ENGLISH.strip().splitlines(), *_CHINESE.strip().splitlines()):
        left, right = (side.split() for side in line.split(" | "))
        for own_side, other_side in ((left, right), (right, left)):
            for place, own in enumerate(own_side):
                other = other_side[min(place, len(other_side) - 1)]
                if own.endswith("*") == other.endswith("*") and own.strip("*") not in loose:
                    replacements.setdefault(own, other)
    return replacements


_ENGLISH_OPPOSITES = _pairs(_ENGLISH, _english_pattern)
_CHINESE_OPPOSITES = _pairs(_CHINESE, _chinese_pattern)
_OPPOSITES = _ENGLISH_OPPOSITES + _CHINESE_OPPOSITES
_ENGLISH_WORDS, _ENGLISH_STEMS = _by_word(_ENGLISH)
_SHORTEST, _LONGEST = (of(map(len, _ENGLISH_STEMS)) for of in (min, max))
_REPLACEMENTS = _replacements()
_STEMS = sorted((own.strip("*") for own in _REPLACEMENTS if own.endswith("*")), key=len, reverse=True)
_HAN_WORDS = sorted((own for own in _REPLACEMENTS if not own.isascii()), key=len, reverse=True)


def opposites_of(question: str) -> tuple[Opposition, ...]:
    """(a word of the question, its opposite) as patterns. `question`: small letters, Simplified."""
    opposites = [_ENGLISH_OPPOSITES[number] for number in sorted(_english_numbers(question))]
    if not question.isascii():
        opposites += [pair for pair in _CHINESE_OPPOSITES if pair[0].search(question)]
    return tuple((own, other) for own, other in opposites if not other.search(question))


def _english_numbers(question: str) -> set[int]:
    """The pairs whose own side the question says. Looked up by its words: hundreds of patterns take long."""
    found: set[int] = set()
    for word in re.findall(r"\w+", question):
        found.update(_ENGLISH_WORDS.get(word, ()))
        for end in range(_SHORTEST, min(len(word), _LONGEST) + 1):
            found.update(_ENGLISH_STEMS.get(word[:end], ()))
    return found


def turned_round(question: str) -> str:
    """The question with the first of its words that has a clear opposite replaced by it; "" where none has.

    question: Simplified. Words of several meanings (right, found) are left alone. Endings are kept, so the result is
    not always good English ("forbided"); it is for searching.
    """
    for word in re.finditer(r"[a-z]+", question, re.IGNORECASE):
        own = word[0].lower()
        other = _REPLACEMENTS.get(own, "")
        if not other and (stem := next((stem for stem in _STEMS if own.startswith(stem)), "")):
            other = _REPLACEMENTS[f"{stem}*"].strip("*") + own[len(stem) :]
        if other and other not in question.lower():
            return question[: word.start()] + other + question[word.end() :]
    for own in _HAN_WORDS:
        if own in question and _REPLACEMENTS[own] not in question:
            return question.replace(own, _REPLACEMENTS[own], 1)
    return ""


def is_opposed(own: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    """Does the text say the opposite word, and not the question's own?"""
    return bool(other.search(text)) and not own.search(text)


def prefixed(text: str) -> frozenset[str]:
    """Words with their negating prefix taken off: regulated, of unregulated."""
    return frozenset(_PREFIX.findall(text))
