"""The citations of an answer that is being written: those of a sentence are set the moment it is complete."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence

from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.languages import shown_language
from retrieval.engine.text.markers import (
    BEGIN,
    MARKER,
    QUOTE_BEGIN,
    QUOTE_END,
    Brackets,
    MarkerReader,
    numbers_of,
    without_citations,
)
from retrieval.engine.text.sentences import (
    CLOSING,
    EAST_ASIAN_CLOSING,
    EAST_ASIAN_STOPS,
    OPENING,
    QUESTION_MARKS,
    STOPS,
    ends_sentence,
    is_small,
)
from retrieval.engine.text.statements import is_delimiter_row, is_row, leading_signs

Align = Callable[
    [str, Collection[int]], Awaitable[Sequence[int]]
]  # (sentence, the model's markers) → ours
PIECE_CHARS = 500  # a longer piece is read as several
MAX_HELD = 240  # characters that are held back at most
MOST_TERMS = 1  # before a marker that the sentence is built on
LANGUAGE_CHARS = 4_000  # of the text that show its language
LINE_CHARS = 300  # of a line that show what it is
SENTENCE_CHARS = 4_000  # of a sentence that are looked up
_SENTENCE_END_CHARS = 100
_WORD = re.compile(r"[^\W_]")
_PLAIN = re.compile(rf"[^{STOPS}{EAST_ASIAN_STOPS}\s|{BEGIN}{QUOTE_BEGIN}]+")
# Markers, a stop with what closes around it, markers behind it ("55 [1]. [2]."), a row's last bar, and a line's end.
_STOP = (
    rf"(?:[{EAST_ASIAN_STOPS}][{STOPS}{EAST_ASIAN_STOPS}]*+[{EAST_ASIAN_CLOSING}]*+"
    rf"|[{STOPS}]++(?:[ \u00a0\u202f]»(?!\w)|[{CLOSING}]*+))"
)
_BOUNDARY = re.compile(
    rf"(?P<before>(?:[ \t]*+{MARKER})*+)(?P<blank>[ \t]*+)(?P<stop>{_STOP}?)"
    rf"(?P<behind>(?:[ \t]*+{MARKER}[{STOPS}{EAST_ASIAN_STOPS}]*+)*+)(?P<bar>(?:[ \t]*+\|)?)(?P<gap>\s*+)"
)
_LIST_NUMBER = re.compile(r"\s*\d{1,3}")
_FENCE = ("```", "~~~")
_ANNOUNCES = (":", "：")


class CitedStream:
    """Takes pieces of an answer, gives back what may be sent, citations included: of each sentence the moment it is
    complete.

    The text of a sentence goes on at once; what ends it (a full stop, the blanks behind it) waits for the next
    letter, since that tells whether it was the end. The model's own markers are taken out and handed over as hints;
    one before which a sentence says nothing yet stays, as the sentence is built on it ("According to [2], …"). What
    goes out is never taken back. A heading, code and a table's head have no citations.
    All pieces put together give the same text however they are cut.
    """

    def __init__(self, align: Align, *, brackets: Brackets) -> None:
        """`align` is awaited once for each sentence. brackets: those of the answer's passages."""
        self._align = align
        self._reader = MarkerReader(brackets)
        self._held = ""
        self._text = ""  # the beginning of the answer, without markers
        self._sentence = ""  # so far, without markers
        self._hints: list[int] = []  # the model's markers in it
        self._line = ""  # the current line so far, without markers
        self._fenced = False
        self._quoting = False  # code or maths within a line
        self._after_row = False
        self._whole = True

    def begin(self, text: str, *, sentence: str) -> None:
        """Go on behind this text. sentence: the one that it breaks off in; its citations are set when it ends."""
        lines = text.split("\n")
        self._reader.skip(text)
        self._fenced = sum(line.lstrip().startswith(_FENCE) for line in lines) % 2 == 1
        self._text = without_citations(text)[:LANGUAGE_CHARS]
        self._line = without_citations(lines[-1])[:LINE_CHARS]
        self._sentence = sentence
        self._after_row = len(lines) > 1 and is_row(lines[-2])

    async def feed(self, piece: str) -> str:
        out: list[str] = []
        for start in range(0, len(piece), PIECE_CHARS):
            self._held += self._reader.feed(piece[start : start + PIECE_CHARS])
            out.append(await self._read(last=False))
        return "".join(out)

    async def finish(self, *, whole: bool = True) -> str:
        """What was held back; the beginning of a marker that never ended is dropped. whole: False of a text that broke
        off; the sentence that it broke off in is not cited, as it may go on."""
        self._whole = whole
        self._held += self._reader.finish()
        rest = await self._read(last=True)
        return (rest + (await self._citations("", last=True) if whole else "")).rstrip()

    # -------------------------------------------------------------------------------------------- reading
    async def _read(self, *, last: bool) -> str:
        out: list[str] = []
        while self._held:
            if self._fenced or self._line.lstrip().startswith(_FENCE):
                out.append(self._code())
            elif self._quoting:
                out.append(self._quote())
            elif plain := _PLAIN.match(self._held):
                out.append(self._take(plain.end()))
            elif self._held[0] == QUOTE_BEGIN:
                self._quoting = True
                self._held = self._held[1:]
            elif (piece := await self._boundary(last=last)) is not None:
                out.append(piece)
            else:
                break
        return "".join(out)

    def _code(self) -> str:
        end = self._held.find("\n") + 1
        if end and (self._line + self._held[:end]).lstrip().startswith(_FENCE):
            self._fenced = not self._fenced
        text = self._take(end or len(self._held))
        self._sentence = ""
        return text

    def _quote(self) -> str:
        end = self._held.find(QUOTE_END)
        text = self._take(end if end >= 0 else len(self._held))
        if end >= 0:
            self._quoting = False
            self._held = self._held[1:]
        return text

    async def _boundary(self, *, last: bool) -> str | None:
        """What may be sent of the place where a sentence may end; None: more has to come first."""
        found = _BOUNDARY.match(self._held)
        end = found.end() if found else 0
        rest = self._held[end:]
        if not last and not rest.strip(OPENING) and len(self._held) <= MAX_HELD:
            return None
        if not found or (rest and not end):
            return self._take(1)
        self._held = rest
        hints = numbers_of(found["before"] + found["behind"])
        self._hints += hints
        text = found["blank"] + found["stop"] + found["bar"] + found["gap"]
        if not self._is_end(found, rest):
            kept = "" if found["stop"] else self._within(found["before"], hints)
            return kept + self._pass(text)
        citations = await self._citations(found["stop"], last=last and not rest)
        self._pass(text)
        self._sentence = ""
        return citations + text

    def _is_end(self, found: re.Match[str], following: str) -> bool:
        """`following`: what comes next; empty where the text is over."""
        stop = found["stop"]
        gap = found["gap"]
        new_line = "\n" in gap or (not following and (self._whole or bool(stop)))
        if is_row(self._line + found["bar"]):
            return new_line
        new_line = new_line and not (gap.count("\n") == 1 and is_small(following[:1]))
        if not stop or not _WORD.search(self._sentence):
            return new_line
        if stop == "." and _LIST_NUMBER.fullmatch(self._sentence):
            return new_line
        if not (gap or found["behind"] or stop[0] in EAST_ASIAN_STOPS):
            return new_line
        return new_line or bool(found["behind"]) or self._stops(found, following)

    def _stops(self, found: re.Match[str], following: str) -> bool:
        before = "" if found["before"] else self._sentence  # no abbreviation is cited
        following = following.replace(BEGIN, "").replace(QUOTE_BEGIN, "`")
        return ends_sentence(before, found["stop"], following, language=shown_language(self._text))

    def _within(self, written: str, hints: Sequence[int]) -> str:
        """The markers of passages that the model wrote where the sentence says nothing yet."""
        begun = self._sentence[leading_signs(self._sentence) :].strip()
        if not hints or not _WORD.search(begun) or len(set(query_terms(begun))) > MOST_TERMS:
            return ""
        return (" " if written.startswith((" ", "\t")) else "") + "".join(
            f"[{number}]" for number in hints
        )

    # -------------------------------------------------------------------------------------------- passing on
    def _take(self, length: int) -> str:
        text = self._held[:length]
        self._held = self._held[length:]
        return self._pass(text)

    def _pass(self, text: str) -> str:
        """Text of the current sentence."""
        if len(self._text) < LANGUAGE_CHARS:
            self._text += text
        self._sentence += text
        if len(self._sentence) > SENTENCE_CHARS:
            self._sentence = (
                self._sentence[: -2 * _SENTENCE_END_CHARS] + self._sentence[-_SENTENCE_END_CHARS:]
            )
        *before, line = (self._line + text).split("\n")
        if before:
            self._after_row = is_row(before[-1])
        self._line = line[:LINE_CHARS]
        return text

    async def _citations(self, closing: str, *, last: bool) -> str:
        """Of the sentence that has ended: " [1][3]", or nothing. last: of the text, so a colon announces nothing."""
        text = self._sentence[leading_signs(self._sentence) :].strip()
        if not _WORD.search(text):
            return ""
        hints = tuple(dict.fromkeys(self._hints))
        self._hints = []
        heads = is_row(self._line) and (not self._after_row or is_delimiter_row(self._line))
        states_nothing = QUESTION_MARKS if last else (*QUESTION_MARKS, *_ANNOUNCES)
        if (
            heads
            or self._line.lstrip().startswith("#")
            or (text + closing).rstrip("*_ ").endswith(states_nothing)
        ):
            return ""
        markers = await self._align(text, hints)
        return " " + "".join(f"[{marker}]" for marker in markers) if markers else ""
