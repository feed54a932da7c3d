"""What a question is made of, by rules: the parts of a compound one, the broader one behind a specific one.

The fallback of `decompose` and `step_back`, and what decides which of the two fits a question. English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from retrieval.steps.query.wording import without_filler
from retrieval.text.language import HAN, HAN_CHARACTER
from retrieval.text.stop_words import ENGLISH
from retrieval.text.term_coverage import strong_terms

Transformation = Literal["decompose", "step_back"]

MIN_PARTS, MAX_PARTS = 2, 4
LONG_QUESTION = 14  # terms with a meaning of their own; so many seldom stand in one passage
MAX_COMPARED_CHARS = 100  # of a Chinese question; the pattern for it takes cubic time
MAX_CONJUNCT = 4  # words of one thing that is compared with another
_ASKING = (
    r"(?:what|which|when|where|who|whom|whose|why|how|do|does|did|is|are|was|were|can|could|may|must|should|will|would)"
)
_ASKS = re.compile(
    rf"\b{_ASKING}\b|什么|什麼|多少|怎么|怎麼|怎样|怎樣|如何|几|幾|哪|谁|誰|是否|能否|吗|嗎|何时|何時|为何|為何|多久|多长|多長",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    rf"(?: ?[,;] ?| )(?:and|or|but) (?:also |then )?(?={_ASKING}\b)|[;?？；] ?(?=\S)|(?P<comma>[，,] ?)",
    re.IGNORECASE,
)
_LEADING_JOIN = re.compile(
    r"^(?:and|or|but|also|并且|而且|以及|还有|還有|另外|同时|同時|又|和|与|與)\s*", re.IGNORECASE
)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|that|those|this|these|there)\b|它|其|该|該|这|這", re.IGNORECASE
)
_COMPARES = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison)|differ(?:s|ent|ence|ences)?|vs\.?|versus|both|respectively)\b"
    r"|比较|比較|对比|對比|区别|區別|不同|差别|差別|差异|差異|分别|分別|相比|还是|還是|哪个更|哪個更",
    re.IGNORECASE,
)
# "Is it cheaper to rent or …?": one after the other, within one question.
_WEIGHS = tuple(
    re.compile(word, re.IGNORECASE) for word in (r"\b(?:is|are|costs?|takes?|lasts?)\b", r"\b\w+er\b", r"\bor\b")
)
_COMPARISON_WORDS = re.compile(
    r"\b(?:please\s+)?(?:compare|(?:what(?:'s| is| are)\s+)?the differences?|how (?:do|does))\s+(?:between\s+)?"
    r"|\bboth\s+|\brespectively\b|\bdiffer(?:ent)?\b"
    r"|(?:有|的)?(?:什么|什麼|何|哪些)?(?:区别|區別|不同|差别|差別|差异|差異)(?:是什么|是什麼)?|(?:请|請)?(?:比较|比較|对比|對比)(?:一下)?|分别|分別",
    re.IGNORECASE,
)
_JOINS = ("vs", "vs.", "versus", "and", "or", "with", "than")
_BOUNDARY = ENGLISH | {"between", "compare", "comparing", "difference", "differences", "different", "cheaper", "per"}
_HAN_JOIN = re.compile(
    rf"(?P<left>(?:[{HAN}\w]+、)*[{HAN}\w]+?)(?:和|与|與|以及|及|跟|还是|還是|相比|vs\.?)(?P<right>[{HAN}\w]+?)"
    r"(?=的|在|有|是|分别|分別|各|哪|之间|之間|相比|比|[，,？?\s]|$)"
)
_HAN_BORDER = re.compile(r".*(?:比较|比較|对比|對比|[，,：:\s])")

_TROUBLE = re.compile(
    r"\bwhy\b|\berrors?\b|\bfail(?:s|ed|ure|ing)?\b"
    r"|\b(?:does|do|did|can)\s?(?:not|n['’]t) (?:work|connect|start|open|log)"
    r"|\b(?:crash|broken|rejected|refused|denied)\w*\b"
    r"|为什么|為什麼|为何|為何|报错|報錯|错误|錯誤|失败|失敗|无法|無法|不能用|连不上|連不上",
    re.IGNORECASE,
)
_SPECIFIC = re.compile(
    r"[\"“「『《][^\"”」』》]{1,80}[\"”」』》]"  # what is quoted
    r"|(?<![A-Za-z0-9])(?=[A-Za-z0-9_./-]{0,40}\d)[A-Za-z0-9][A-Za-z0-9_./:-]*(?: ?%)?(?:年|月|日|学年|學年)?"
    r"|\b[a-z]+(?:[A-Z][a-z]+)+\b|\b(?:[A-Z][a-z]+){2,}\b"  # camelCase, ImagePullBackOff
    r"|,? ?\b(?:when|after|before|while|if|because|although|since|during)\b.*",  # under which circumstances
)
_EDGES = " ,.;:!?，。；：！？、"


def choose_transformation(question: str) -> Transformation | None:
    """A compound question is worth decomposing; a very specific one, or one about an error, worth a step back."""
    if len(split_question(question)) >= MIN_PARTS:
        return "decompose"
    if _TROUBLE.search(question) or len(strong_terms(question)) >= LONG_QUESTION:
        return "step_back"
    return None


def is_comparison(question: str) -> bool:
    """Whether the question compares things with each other."""
    return bool(_COMPARES.search(question)) or any(map(_weighs, question.split("?")))


def _weighs(text: str) -> bool:
    at = 0
    for word in _WEIGHS:
        match = word.search(text, at)
        if match is None:
            return False
        at = match.end()
    return True


def split_question(question: str) -> list[str]:
    """2–4 questions that stand on their own, or none where the question is not compound."""
    text = _tidy(without_filler(question))
    parts = _clauses(text)
    if len(parts) < MIN_PARTS and is_comparison(text):
        parts = _compared_han(text) if HAN_CHARACTER.search(text) else _compared(text)
    parts = list(dict.fromkeys(part for part in map(_tidy, parts) if part))
    return parts[:MAX_PARTS] if len(parts) >= MIN_PARTS else []


def step_back_without_model(question: str) -> str:
    """The question without what makes it special: codes, numbers, quotations, circumstances. Empty when that leaves too
    little to search for, or changes nothing."""
    text = _tidy(without_filler(question))
    broader = _tidy(" ".join(_SPECIFIC.sub(" ", text).split()))
    return broader if broader != text and len(strong_terms(broader)) >= 2 else ""


# ------------------------------------------------------------------------------------------------ several questions
def _clauses(text: str) -> list[str]:
    """The questions that stand one after the other, each with the subject of the first where it has none of its own."""
    parts = [_LEADING_JOIN.sub("", part) for part in map(_tidy, _cut(text)) if part]
    if len(parts) < MIN_PARTS or not all(_ASKS.search(part) for part in parts):
        return []
    subject = _subject(parts[0])
    return [parts[0], *(_with_subject(part, subject) for part in parts[1:])]


def _cut(text: str) -> Iterator[str]:
    """At a comma only where Chinese comes after it."""
    han = max((match.start() for match in HAN_CHARACTER.finditer(text)), default=-1)
    begin = 0
    for match in _CLAUSE.finditer(text):
        if match["comma"] and match.end() > han:
            continue
        yield text[begin : match.start()]
        begin = match.end()
    yield text[begin:]


def _with_subject(part: str, subject: str) -> str:
    lacks_one = bool(_POINTS_BACK.search(part)) or len(strong_terms(part)) < 2
    return f"{part} {subject}" if lacks_one and subject and subject not in part else part


def _subject(part: str) -> str:
    """The words that say what a question is about."""
    if HAN_CHARACTER.search(part):
        return _tidy(_ASKS.split(part)[0]).removesuffix("是").removesuffix("的")
    return " ".join(word for word in map(_tidy, part.split()) if strong_terms(word))


# ------------------------------------------------------------------------------------------------ comparisons
def _compared(text: str) -> list[str]:
    """One question for each of the things compared; what surrounds them belongs to all."""
    words = text.split()
    place = next((i for join in _JOINS for i, word in enumerate(words) if word.lower() == join and i > 0), None)
    if place is None:
        return []
    end = place + 1 + _run_length(words[place + 1 :])
    items, begin = [words[place + 1 : end]], place
    while length := _run_length(words[:begin][::-1], backwards=True):
        items.insert(0, words[begin - length : begin])
        begin -= length
        if not (begin and words[begin - 1].endswith(",")):
            break
    if len(items) < MIN_PARTS or not all(items):
        return []
    before, after = words[:begin], words[end:]
    return [_without_comparison(" ".join([*before, *item, *after]).replace(",", "")) for item in items]


def _run_length(words: Sequence[str], *, backwards: bool = False) -> int:
    """How many words from the first on belong to one thing: up to a small word, a comma, or MAX_CONJUNCT words."""
    length = 0
    for number, word in enumerate(words[:MAX_CONJUNCT]):
        if _tidy(word).lower() in _BOUNDARY or (backwards and number and word.endswith(",")):
            break
        length += 1
        if not backwards and word.endswith((",", "?", ";")):
            break
    return length


def _compared_han(text: str) -> list[str]:
    match = _HAN_JOIN.search(text) if len(text) <= MAX_COMPARED_CHARS else None
    if match is None:
        return []
    left = match["left"]
    border = _HAN_BORDER.match(left)
    lead = text[: match.start()] + (border.group() if border else "")
    items = [*left[border.end() if border else 0 :].split("、"), match["right"]]
    return [_without_comparison(lead + item + text[match.end() :]) for item in items if item]


def _without_comparison(text: str) -> str:
    return " ".join(_COMPARISON_WORDS.sub(" ", text).split())


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES)
