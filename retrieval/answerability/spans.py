"""Names as they stand: quoted titles, runs of capitalised words, codes, Chinese names; looked for in one piece.

A title of common words ("The Silence of the Room") is no evidence where its words stand apart. So a name is a span of
words, function words included, and a text holds it only where it stands in one piece.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import islice

from retrieval.text.language import HAN, HAN_CHARACTER, to_simplified
from retrieval.text.stop_words import ENGLISH

MAX_SPANS = 12
SURNAME = 0.4  # of a name of several words whose last one alone is there
APART = 0.5  # of a name whose words stand apart
PAIRS = 0.8  # of a Chinese name of which only pairs of characters are there
LONG_RUN = 12  # characters of a Chinese run without a function word that may still be a name
_WORD = re.compile(r"[^\W_]+(?:['’.&/+#_-]+[^\W_]+)*[+#]*")
_PLAIN = re.compile(rf"(?:(?![{HAN}])[^\W_])+|[{HAN}]+")
_POSSESSIVE = re.compile(r"['’]s?\b")
_QUOTED = re.compile(r"[《「『“\"‘〈]([^《》「」『』“”\"‘’〈〉]{1,60})[》」』”\"’〉]")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#_-]*(?:\s+[A-Z0-9][A-Za-z0-9.+#_-]*)*|(?<!\d)\d++[A-Za-z][A-Za-z0-9]*")
# Words that may stand inside a name, in small letters.
_INSIDE = frozenset(
    [
        "of",
        "the",
        "and",
        "to",
        "for",
        "a",
        "an",
        "de",
        "la",
        "le",
        "les",
        "del",
        "da",
        "di",
        "du",
        "von",
        "van",
        "der",
        "den",
        "ibn",
        "al",
        "bin",
        "el",
        "y",
        "et",
        "und",
    ]
)
_ARTICLES = frozenset({"the", "a", "an"})
_BEFORE_ARTICLE = frozenset(
    {"in", "on", "at", "with", "from"}
)  # inside a name only before an article: Once in a Blue Moon
# With these a question begins; capitalised for that alone.
_FIRST = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "can",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "will",
        "would",
        "has",
        "have",
        "had",
        "in",
        "on",
        "at",
        "of",
        "for",
        "to",
        "from",
        "by",
        "with",
        "during",
        "after",
        "before",
        "since",
        "until",
        "under",
        "among",
        "between",
        "about",
        "if",
        "name",
        "give",
        "list",
        "tell",
        "explain",
        "describe",
        "the",
        "a",
        "an",
        "it",
        "this",
        "that",
        "these",
        "those",
        "there",
        "both",
        "according",
        "while",
        "although",
        "as",
        "not",
        "no",
        "many",
        "much",
        "i",
        "we",
        "you",
        "my",
        "our",
        "your",
        "please",
    ]
)
_CALENDAR = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "i",
        "ii",
    ]
)
# What ends a Chinese name from outside: particles, verbs of being, question words, common verbs of questions.
_BREAK = re.compile(
    r"什么时候|什么时间|什么|为什么|为何|怎么样|怎么|怎样|如何|哪一?[个些位年天月日种座家条支款部所里儿]|哪|谁|多少|多久|多[大长高远重宽]|何[时地人处年]?"
    r"|几[个名位人次种岁年天月条]|是不是|是否|能否|可否|可以|能够|应该|需要|必须|属于|位于|称为|叫做|包括|分别|主要|目前|现在|一共|总共|请问|根据|关于|对于"
    r"|姓名|名字|名称|具体"
    r"|[的是在和与及或了吗呢吧被把于由从到为以向对给让使将会能要有不没也都还就而且但又其此这那该每各很更已曾着过得跟同]"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A name. `text`: as `plain` has it. `is_title`: see `_is_title`."""

    text: str
    chinese: bool
    is_title: bool


def plain(text: str) -> str:
    """Small letters and digits, one space between words and around runs of Chinese characters, and at both ends."""
    text = _POSSESSIVE.sub("", to_simplified(unicodedata.normalize("NFKC", text)))
    return f" {' '.join(_PLAIN.findall(text.casefold()))} "


def spans_of(text: str, *, chinese: bool) -> tuple[Span, ...]:
    """The names in a question (NFKC), in order, each once."""
    quoted = _QUOTED.findall(text)
    rest = _QUOTED.sub(" , ", text) if chinese else text
    found = [*quoted, *(_chinese_runs(rest) if chinese else _capitalised(text))]
    spans: dict[str, Span] = {}
    for number, name in enumerate(found):
        one = plain(name).strip()
        one = one[4:] if one.startswith("the ") else one
        if len(one) > 1 and one not in ENGLISH:
            spans.setdefault(
                one, Span(one, bool(HAN_CHARACTER.search(one)), _is_title(name, quoted=number < len(quoted)))
            )
    together = "\n".join(f" {name} " for name in spans)  # looked through once for each: a long question has thousands
    kept = (span for span in spans.values() if together.count(f" {span.text} ") == 1)
    return tuple(islice(kept, MAX_SPANS))


def _is_title(name: str, *, quoted: bool) -> bool:
    """Of a film, a book, a song: quoted, or beginning with an article that has a capital, or "X of the Y". Other names
    of several words ("Lane and Vail", "University of Leeds") are often written otherwise in a text that answers."""
    words = name.split()
    return (quoted and len(name) > 2) or (len(words) > 2 and words[0] in ("The", "A", "An")) or " of the " in name


def _capitalised(text: str) -> list[str]:
    """Runs of words with a capital, with the numbers and small words between them."""
    runs: list[str] = []
    run: list[str] = []
    waiting: list[str] = []
    begins, end = True, 0

    def close() -> None:
        if any(char.isalpha() and char.isupper() for word in run for char in word):
            runs.extend(_taken_apart(run))
        run.clear()
        waiting.clear()

    for match in _WORD.finditer(text):
        word, low = match.group(), match.group().lower()
        gap = text[end : match.start()]
        end = match.end()
        initial = bool(run) and len(run[-1]) == 1 and gap == ". "
        if gap.strip(" \t-–&") and not initial:
            close()
            begins = begins or bool(re.search(r"[.?!:\n]", gap))
        is_name = _looks_like_a_name(word) and low not in _CALENDAR and not (begins and low in _FIRST)
        begins = False
        if is_name:
            run += [*waiting, word]
            waiting.clear()
        elif run and len(waiting) < 2 and (low in _INSIDE or low in _BEFORE_ARTICLE):
            waiting.append(word)
        else:
            close()
        if waiting and waiting[0] in _BEFORE_ARTICLE and len(waiting) == 2 and waiting[1] not in _ARTICLES:
            close()
        if is_name and len(run) > 2 and run[-2] in _BEFORE_ARTICLE:  # "Napoleon in Kaunas" are two names
            del run[-2:]
            while run and (run[-1] in _INSIDE or run[-1] in _BEFORE_ARTICLE):
                run.pop()
            close()
            run.append(word)
    close()
    return runs


def _looks_like_a_name(word: str) -> bool:
    return word[0].isupper() or any(char.isdigit() for char in word) or any(char.isupper() for char in word[1:])


def _taken_apart(run: list[str]) -> list[str]:
    """Two names that "and" joins, where one of them has several words."""
    if "and" in run[:-1]:
        at = run.index("and")
        if at > 1 or len(run) - at > 2 + (run[at + 1] in _ARTICLES):
            return [" ".join(run[:at]), " ".join(run[at + 1 :])]
    return [" ".join(run)]


def _chinese_runs(text: str) -> list[str]:
    """Latin names among Chinese, and what stands between marks, particles and question words."""
    found = _LATIN.findall(text)
    for part in re.findall(rf"[{HAN}·•]+", to_simplified(text)):
        found += [run for run in _BREAK.split(part) if 3 <= len(run) <= LONG_RUN]
    return found


def credit(span: Span, text: str) -> float:
    """How far `text` (of `plain`) holds the name in one piece, 0..1. Endings may differ: Norman, Normans."""
    if span.chinese:
        return _chinese_credit(span.text, text)
    if _stands(span.text, text):
        return 1.0
    first, _, last = span.text.rpartition(" ")
    if not first:
        return 0.0
    words = [word for word in span.text.split() if word not in _INSIDE]
    if len(words) > 1 and all(_stands(word, text) for word in words):
        return APART
    return SURNAME if f" {last} " in text and not last.isdigit() else 0.0


def _stands(words: str, text: str) -> bool:
    return (f" {words} " if words[-1].isdigit() else f" {words}") in text


def _chinese_credit(run: str, text: str) -> float:
    if run in text:
        return 1.0
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return PAIRS * sum(pair in text for pair in pairs) / len(pairs) if len(pairs) > 1 else 0.0
