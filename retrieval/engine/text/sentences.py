"""Where sentences end, in any language, of a whole text and of one that is still being written.

A full stop also ends abbreviations, initials and ordinals ("Dr. Voss", "see sec. 7", "am 3. Mai"). Which ones are
abbreviations, the library sentencex knows for thirty languages; it is asked about one stop at a time, with the few
words around it. So a text of any length takes linear time, and what is written is cut in the same places as what was
read. What it leaves open is decided by what stands there, not by words: a small letter goes on, a number behind a short
word belongs to it. In doubt no sentence ends: two that are cited as one do less harm than a citation within one.

Measured on 1,000 sentences each of ten languages (the PUD treebanks of Universal Dependencies), ends put where none is,
and ends missed: docs/decisions/0005-grounding.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import sentencex

from retrieval.engine.text.analysis import ENGLISH
from retrieval.engine.text.languages import HAN, KANA, SAMPLE_CHARS, UNKNOWN, detect_language

EAST_ASIAN_STOPS = "。！？；｡"
STOPS = ".!?…।॥۔؟։።၊။"  # end a sentence only where white space follows
CLOSING = "”’“«»）\"')\\]*_"  # goes along with the stop
EAST_ASIAN_CLOSING = "”’」』】》）\"')\\]*_"
OPENING = ",\"'“”„‚‘’«»‹›(（[{【「『¿¡—–-*_ \t\u00a0\u202f"  # stands in front of a sentence's first letter
# One class of characters at the front lets the search skip what can't begin a match: five times as fast as without.
_END = re.compile(
    rf"[{EAST_ASIAN_STOPS}{STOPS}\n](?:"
    rf"(?<=[{EAST_ASIAN_STOPS}])[{EAST_ASIAN_STOPS}{STOPS}]*+[{EAST_ASIAN_CLOSING}]*+"
    rf"|(?<=[{STOPS}])(?<![{STOPS}]{{2}})[{STOPS}]*+"
    rf"(?:[{CLOSING}]++(?=\s)|[ \u00a0\u202f]»(?=\s)|(?=\s)|(?<=…)(?=[{HAN}{KANA}]))"
    r"|(?<=\n)(?:\s*\n|(?=\s*(?:[-*•#|]|\d+[.)]\s))))"
)
_CODE = re.compile(r"`++[^`\n]++`++")
_WORD = re.compile(r"[^\W_](?:[\w.\-’']*[^\W_])?")
_LATIN_WORD = re.compile(r"[a-z]+")
_LAST_WORDS = 3  # that sentencex is shown: initials and titles come in rows
_WINDOW = 60  # characters that are looked at on either side
_SHORT = 6  # letters of a word that a number behind its stop belongs to: "sec. 7", "Zi. 12"
_ORDINAL = re.compile(r"\d{1,2}|[IVX]{1,5}")
_VOWEL = re.compile(r"[aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿœąęėįųőűăāēīōūıαεηιουωаеёиоуыэюяієї]", re.IGNORECASE)
_ENGLISH_ALONE = ENGLISH - frozenset("a am an as be do had he i in is me on so us was".split())  # noqa: SIM905
_ASKED_IN_DOUBT = ("en", "de", "es", "fr", "it", "pl", "pt")
_WITHOUT_ORDINAL_STOPS = frozenset("en fr es it pt nl zh".split())  # noqa: SIM905  # languages that write no "3."


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is `source[start:end]`, without surrounding white space."""

    text: str
    start: int
    end: int


def sentence_spans(text: str, *, language: str = "") -> list[Sentence]:
    """All sentences in order; together they hold everything but the white space between them.

    language: of the text that this one is a part of; a few words of their own show none.
    """
    code = [match.span() for match in _CODE.finditer(text)]
    sentences: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        while code and code[0][1] <= match.start():
            code.pop(0)
        if code and code[0][0] < match.start():
            continue
        stop = match.group()
        before = text[max(start, match.start() - _WINDOW) : match.start()]
        following = text[match.end() : match.end() + _WINDOW]
        ends = stop[0] == "\n" or stop[0] in EAST_ASIAN_STOPS
        if ends or ends_sentence(before, stop, following, language=language or shown_language(text)):
            _add(sentences, text, start, match.end())
            start = match.end()
    _add(sentences, text, start, len(text))
    return sentences


def split_sentences(text: str) -> list[str]:
    """The texts of `sentence_spans`."""
    return [sentence.text for sentence in sentence_spans(text)]


def sentence_pieces(text: str) -> list[str]:
    """The text in pieces that begin with a sentence each; put together they give it again."""
    starts = [0, *(sentence.start for sentence in sentence_spans(text)[1:]), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def shown_language(text: str) -> str:
    """ISO 639-1, Simplified and Traditional Chinese alike; `und` where nothing shows it: English, the guess for all
    that is in Latin letters, only where one of its small words stands."""
    return _shown_language(text[:SAMPLE_CHARS])


@lru_cache(maxsize=1024)
def _shown_language(sample: str) -> str:
    language = detect_language(sample).split("-")[0]
    if language == "en" and _ENGLISH_ALONE.isdisjoint(_LATIN_WORD.findall(sample.lower())):
        return UNKNOWN
    return language


def ends_sentence(before: str, stop: str, following: str, *, language: str) -> bool:
    """Whether `stop`, with what closes around it, ends the sentence; `before` and `following` are the text around it.

    Of `following` only the first letter counts: it can be decided as soon as that is written.
    """
    first = following.lstrip(OPENING + "\r\n")[:1]
    if not first or stop[0] in EAST_ASIAN_STOPS:
        return True
    if first.islower():
        return False
    before = before[-_WINDOW:].rstrip("*_")
    words = _WORD.findall(before)
    if stop.rstrip("*_") != "." or not words or not before.endswith(words[-1]):
        return True
    last = words[-1]
    if _ORDINAL.fullmatch(last):
        return language in _WITHOUT_ORDINAL_STOPS
    if len(words) > 1 and len(last) == 2 and last.istitle():  # "Zi. Nord", "Av. Central"; "No." alone is a sentence
        return False
    if _is_abbreviated(last, counted=len(words) > 1 and words[-2][-1].isdigit()):
        return False
    if first.isdigit() and (len(last) <= _SHORT or last[-1].isdigit()):
        return last[-1].isdigit()
    # Of a digit sentencex says that it always goes on; what is asked is whether it knows the word.
    following = "A" if first.isdigit() else first
    context = " ".join(words[-_LAST_WORDS:])
    asked = _ASKED_IN_DOUBT if language == UNKNOWN else (language,)
    return all(sentencex.segment(one, f"{context}. {following}")[-1] == following for one in asked)


def _is_abbreviated(word: str, *, counted: bool) -> bool:
    """One letter, or letters of which none is a vowel: "Hrn.", "Bldg."; but not a unit ("5 km.") and not "HTML."."""
    if ".-" in word:  # "Dipl.-Ing."
        return True
    if len(word) < 2 or not word.isalpha():
        return word.isalpha()
    return not (counted or word.isupper() or _VOWEL.search(word))


def _add(sentences: list[Sentence], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        first = start + len(piece) - len(piece.lstrip())
        sentences.append(Sentence(stripped, first, first + len(stripped)))
