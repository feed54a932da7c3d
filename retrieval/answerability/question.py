"""What a question asks for: its terms, the names and numbers among them, and the kind of answer it wants."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from retrieval.answerability.oppositions import Opposition, opposites_of, prefixed
from retrieval.answerability.spans import Span, spans_of
from retrieval.text.analysis import query_terms
from retrieval.text.language import HAN_CHARACTER, to_simplified
from retrieval.text.negation import NEGATION
from retrieval.text.numbers import numbers_in

AnswerKind = Literal["time", "date", "number", "person", "place", "reason", "other"]
# Words that a question needs and its answer seldom repeats, and general words for which a text has many others. Of the
# prepositions, those that only tie a verb to what it is about: place and time may be what is asked.
_WEAK_WORDS = (
    "many much long often need want happen allow apply get cost mean possible require take make use work find"
    " about against regarding concerning despite per upon toward towards via"
    " tell explain describe usually exactly number amount people person kind type sort name called example term"
    " word according besides else rest instead later early earlier originally normal normally generally mainly"
    " main primarily typically commonly currently eventually approximately roughly actually specifically"
    " especially particularly major important significant famous popular known well certain various different"
    " several particular similar same group thing way part form piece place area side point case fact reason"
    " purpose result effect role basis begin start stop end finish become remain stay keep come go went gone bring"
    " brought give gave given put set run ran show see seen look consider believe think say said state claim"
    " suggest refer call used using help try cause lead led include involve contain consist belong occur exist"
    " appear seem turn change increase decrease affect cease lose lost win won gain receive provide produce create"
    " built build made done differ difference compare respond response define identify following total average"
    " percentage percent rate level degree size height length age high low large small big great good best better"
    " most least less new old first last next final only one two three four original responsible able likely lend"
    " attempt serve served act lie lies located location live lived born die died year day month date time period"
    " century decade country city"
    " 多少 多久 什么 怎么 怎样 如何 可以 需要 应该 能否 是否 必须 最多 最少 多长 时间 时候 几点 几天 几个 哪些"
    " 哪个 规定 要求 办理 情况 发生 进行 允许 谁 何 哪里 哪 几 为什么 原因 请问 分别 属于 称为 叫做 指"
    " 主要 包括 具体 位于 成为 开始 结束 认为 通过 使用 根据 关于 由于 其中 名字 名称 地方 位置 城市 国家"
    " 日期 年份 第一 一个"
)
_FOCUS = re.compile(r"\b(?:what|which|whose|how many|how much)\s+([a-z]+)", re.IGNORECASE)
_KINDS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    ("time", re.compile(r"\bwhat time\b|几点(?!建议|意见|要求|原因|理由|内容)", re.IGNORECASE)),
    (
        "date",
        re.compile(
            r"\bwhen\b|\b(?:what|which)\s+(?:\w+\s+)?(?:year|date|day|month|century|decade)s?\b"
            r"|何时|什么时候|哪[一]?[年天月日]|几[年月日]|何年|什么时间|时间是|日期|年份",
            re.IGNORECASE,
        ),
    ),
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|long|old|far|large|big|tall|high|often|wide|deep)\b"
            r"|\bwhat (?:percent\w*|number|amount)\b"
            r"|多少|几[个名位人次种岁层条天]|多[大长高远久重宽]|数量|人数|比例|金额|价格|票房",
            re.IGNORECASE,
        ),
    ),
    ("person", re.compile(r"\bwho(?:m|se)?\b|谁|哪[一]?位|何人|什么人|哪[个些]人", re.IGNORECASE)),
    (
        "place",
        re.compile(
            r"\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|state|place|town|region|county)\b"
            r"|哪里|哪儿|何处|何地|在哪|哪[个一座](?:国家|城市|省|市|地方|地区|区)|地点|什么地方",
            re.IGNORECASE,
        ),
    ),
    ("reason", re.compile(r"\bwhy\b|为什么|为何|原因|何故", re.IGNORECASE)),
)  # fmt: skip
# Of small letters, Simplified. A statement has question words too ("cells which lack it"), but does not begin with one.
_ASKS = re.compile(
    r"[?？吗呢]\s*$"
    r"|^\W*(?:(?:and|but|so|or|please)\W+)*(?:(?:in|on|at|of|for|to|from|by|with|during|after|before|since|until|under|about"
    r"|into|through|according to)\s+)?(?:what|who|whom|whose|which|when|where|why|how)\b"
    r"|^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b"
    r"|^\W*(?:please\W+)?(?:tell|explain|describe|list|name|give|show|say|find out|let me know)\b"
    r"|谁|什么|哪[里儿个些位年天月种座家所一]|(?<!任)何[时地人处年月日种事故]|为何|多少|几[个名位年月日点次天岁种号]|怎[么样]"
    r"|(?<!无论)如何|是否|能否|可否|是不是|能不能|可不可以|^\W*(?:请|告诉我|解释|说明|介绍|列出)"
)
_QUOTED = re.compile(r"[《「『“\"‘]([^》」』”\"’]{1,60})[》」』”\"’]")
_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z\u00c0-\u00de][\w'’.-]*|\b[A-Z]{2,}\w*|\b\w*\d\w*")
_LATIN_AMONG_HAN = re.compile(r"[A-Za-z][A-Za-z0-9.+-]*")


@dataclass(frozen=True, slots=True)
class QuestionView:
    """`terms`: distinct, in order. `names`: those that belong to names, titles and codes. `weak`: say little."""

    terms: tuple[str, ...]
    names: frozenset[str]
    weak: frozenset[str]
    numbers: frozenset[str]
    words: frozenset[str]  # as written, in lower case
    kind: AnswerKind
    negated: bool
    chinese: bool
    is_question: bool  # not a statement, nor a few words
    folded: str  # small letters, Simplified
    spans: tuple[Span, ...]
    opposites: tuple[Opposition, ...]
    prefixed: frozenset[str]


@lru_cache(maxsize=256)
def view_question(text: str) -> QuestionView:
    text = unicodedata.normalize("NFKC", text).strip()
    terms = tuple(dict.fromkeys(query_terms(text)))
    chinese = _is_chinese(text)
    names = _names(text, chinese=chinese)
    held = frozenset(terms)
    folded = to_simplified(text).lower()
    return QuestionView(
        terms=terms,
        names=held & {term for name in names for term in query_terms(name)},
        weak=held & (weak_terms() | {term for focus in _FOCUS.findall(text) for term in query_terms(focus)}),
        numbers=frozenset(numbers_in(text)),
        words=frozenset(re.findall(r"[\w'’-]+", text.lower())),
        kind=next((kind for kind, pattern in _KINDS if pattern.search(folded)), "other"),
        negated=bool(NEGATION.search(folded)),
        chinese=chinese,
        is_question=bool(_ASKS.search(folded)),
        folded=folded,
        spans=spans_of(text, chinese=chinese),
        opposites=opposites_of(folded),
        prefixed=prefixed(folded),
    )


def names_in(text: str) -> list[str]:
    """Names, titles and codes as they are written, in the order of the text but what is quoted first."""
    return _names(text, chinese=_is_chinese(text))


def _names(text: str, *, chinese: bool) -> list[str]:
    names: list[str] = _QUOTED.findall(text) + (_LATIN_AMONG_HAN if chinese else _NAME).findall(text)
    return names


def _is_chinese(text: str) -> bool:
    return len(HAN_CHARACTER.findall(text)) * 2 > len(re.findall(r"\w+", HAN_CHARACTER.sub(" ", text)))


@lru_cache(maxsize=1)
def weak_terms() -> frozenset[str]:
    return frozenset(query_terms(_WEAK_WORDS))
