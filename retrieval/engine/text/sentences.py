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
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

import sentencex

from retrieval.engine.text.languages import HAN, KANA, UNKNOWN, shown_language

EAST_ASIAN_STOPS = "。！？；｡"
STOPS = ".!?…।॥۔؟։።၊။"  # end a sentence only where white space follows
QUESTION_MARKS = ("?", "？", "؟", "՞", "፧", "\u037e")  # signs, whatever the language
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
_LAST_WORDS = 3  # that sentencex is shown: initials and titles come in rows
_WINDOW = 60  # characters that are looked at on either side
_SHORT = 6  # letters of a word that a number behind its stop belongs to: "sec. 7", "Zi. 12"
_ORDINAL = re.compile(r"\d{1,2}|[IVX]{1,5}")
# Letters of the scripts with vowels below, and these without their accents.
_LETTERS = re.compile(r"[a-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff]+", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouyæœøıəαεηιουωаеиоуыэюяє]", re.IGNORECASE)
_ASKED_IN_DOUBT = ("en", "de", "es", "fr", "it", "pl", "pt")
# Languages that write no stop behind an ordinal ("3. Mai").
_WITHOUT_ORDINAL_STOPS = frozenset(
    [
        "ar",
        "bg",
        "ca",
        "el",
        "en",
        "es",
        "fa",
        "fr",
        "ga",
        "he",
        "hi",
        "id",
        "it",
        "ja",
        "ko",
        "ne",
        "nl",
        "pt",
        "ro",
        "ru",
        "ta",
        "th",
        "uk",
        "vi",
        "zh",
    ]
)


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """`text` is `source[start:end]`, without surrounding white space."""

    text: str
    start: int
    end: int


def sentence_spans(text: str, *, language: str = "") -> list[SentenceSpan]:
    """All sentences in order; together they hold everything but the white space between them.

    language: of the text that this one is a part of; a few words of their own show none.
    """
    code = [match.span() for match in _CODE.finditer(text)]
    sentences: list[SentenceSpan] = []
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
        if ends or ends_sentence(
            before, stop, following, language=language or shown_language(text)
        ):
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


def ends_sentence(before: str, stop: str, following: str, *, language: str) -> bool:
    """Whether `stop`, with what closes around it, ends the sentence; `before` and `following` are the text around it.

    Of `following` only the first letter counts: it can be decided as soon as that is written.
    """
    first = following.lstrip(OPENING + "\r\n")[:1]
    if not first or stop[0] in EAST_ASIAN_STOPS:
        return True
    if is_small(first):
        return False
    before = before[-_WINDOW:].rstrip("*_")
    words = _WORD.findall(before)
    if stop.rstrip("*_") != "." or not words or not before.endswith(words[-1]):
        return True
    last = words[-1]
    if _ORDINAL.fullmatch(last):
        return language in _WITHOUT_ORDINAL_STOPS
    if (
        len(words) > 1 and len(last) == 2 and last.istitle()
    ):  # "Zi. Nord", "Av. Central"; "No." alone is a sentence
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


def is_small(letter: str) -> bool:
    """Whether no sentence begins with such a letter. Unicode calls all of Georgian small: it writes no capitals."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"


def _is_abbreviated(word: str, *, counted: bool) -> bool:
    """One letter, or letters of which none is a vowel: "Hrn.", "Bldg."; but not a unit ("5 km.") and not "HTML.". Of a
    script without capitals or without vowels this tells nothing."""
    if ".-" in word:  # "Dipl.-Ing."
        return True
    if not _LETTERS.fullmatch(word):
        return False
    if len(word) < 2:
        return True
    if counted or word.isupper():
        return False
    return not _VOWEL.search(unicodedata.normalize("NFD", word))


def _add(sentences: list[SentenceSpan], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        first = start + len(piece) - len(piece.lstrip())
        sentences.append(SentenceSpan(stripped, first, first + len(stripped)))
