"""The citations of an answer that is being written: those of a sentence are set the moment it is complete."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence

from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.markers import MARKER, numbers_of, without_markers
from retrieval.engine.text.statements import ends_in_abbreviation, is_delimiter_row, is_row, leading_signs

Align = Callable[[str, Collection[int]], Awaitable[Sequence[int]]]  # (sentence, the model's markers) → ours
MAX_HELD = 240  # characters that are held back at most
MOST_TERMS = 1  # before a marker that the sentence is built on
OPEN_MARKER = re.compile(r"[\[【][\d\s,，、;；]*\Z")  # what may become one when more of it comes
_WORD = re.compile(r"[^\W_]")
_PLAIN = re.compile(r"[^.!?。！？；…\s\[【|]+")
_DIGIT = re.compile(r"\d")
# Markers, a stop with what closes around it, markers behind it ("55 [1]. [2]."), a row's last bar, and a line's end.
_BOUNDARY = re.compile(
    rf"(?P<before>(?:[ \t]*+{MARKER})*+)(?P<blank>[ \t]*+)"
    r"(?P<stop>(?:[.!?。！？；…]++[”’」』】》）\"')\]*_`]*+)?)"
    rf"(?P<behind>(?:[ \t]*+{MARKER}[.!?。！？；…]*+)*+)(?P<bar>(?:[ \t]*+\|)?)(?P<gap>\s*+)"
)
_EAST_ASIAN_STOP = re.compile(r"[。！？；…]")
_LIST_NUMBER = re.compile(r"\s*\d{1,3}")
_FENCE = ("```", "~~~")
_ASKS = ("?", "？")
_ANNOUNCES = (":", "：")


class CitedStream:
    """Takes pieces of an answer, gives back what may be sent, citations included: of each sentence the moment it is
    complete.

    The text of a sentence goes on at once; what ends it (a full stop, the blanks behind it) waits for the next
    character, since that tells whether it was the end. The model's own markers are taken out and handed over as hints;
    one before which a sentence says nothing yet stays, as the sentence is built on it ("According to [2], …"). What
    goes out is never taken back. A heading, code and a table's head have no citations.
    All pieces put together give the same text however they are cut.
    """

    def __init__(self, align: Align, *, markers: Collection[int] = ()) -> None:
        """`align` is awaited once for each sentence. markers: those of the answer's passages."""
        self._align = align
        self._markers = markers
        self._held = ""
        self._sentence = ""  # so far, without markers
        self._hints: list[int] = []  # the model's markers in it
        self._line = ""  # the current line so far, without markers
        self._fenced = self._after_row = False
        self._whole = True

    def begin(self, text: str, *, sentence: str) -> None:
        """Go on behind this text. sentence: the one that it breaks off in; its citations are set when it ends."""
        lines = text.split("\n")
        self._fenced = sum(line.lstrip().startswith(_FENCE) for line in lines) % 2 == 1
        self._line, self._sentence = without_markers(lines[-1]), sentence
        self._after_row = len(lines) > 1 and is_row(lines[-2])

    async def feed(self, piece: str) -> str:
        self._held += piece
        return await self._read(last=False)

    async def finish(self, *, whole: bool = True) -> str:
        """What was held back; the beginning of a marker that never ended is dropped. whole: False of a text that broke
        off; the sentence that it broke off in is not cited, as it may go on."""
        self._whole = whole
        rest = await self._read(last=True)
        return (rest + (await self._citations("", last=True) if whole else "")).rstrip()

    # -------------------------------------------------------------------------------------------- reading
    async def _read(self, *, last: bool) -> str:
        out: list[str] = []
        while self._held:
            if self._fenced or self._line.lstrip().startswith(_FENCE):
                out.append(self._code())
            elif plain := _PLAIN.match(self._held):
                out.append(self._take(plain.end()))
            elif (piece := await self._boundary(last=last)) is not None:
                out.append(piece)
            else:
                break
        return "".join(out)

    def _code(self) -> str:
        end = self._held.find("\n") + 1
        if end and (self._line + self._held[:end]).lstrip().startswith(_FENCE):
            self._fenced = not self._fenced
        text, self._sentence = self._take(end or len(self._held)), ""
        return text

    async def _boundary(self, *, last: bool) -> str | None:
        """What may be sent of the place where a sentence may end; None: more has to come first."""
        found = _BOUNDARY.match(self._held)
        end = found.end() if found else 0
        rest = self._held[end:]
        is_open = bool(OPEN_MARKER.match(rest))
        if not last and (not rest or is_open) and len(self._held) <= MAX_HELD:
            return None
        if is_open and _DIGIT.search(rest):  # the text broke off in a marker
            rest = ""
        if not found or (rest and not end):
            return self._take(1)
        self._held = rest
        hints = numbers_of(found["before"] + found["behind"])
        self._hints += hints
        text = found["blank"] + found["stop"] + found["bar"] + found["gap"]
        if not self._is_end(found, rest[:1]):
            return self._within(found["before"], hints) + self._pass(text)
        citations = await self._citations(found["stop"], last=last and not rest)
        self._pass(text)
        self._sentence = ""
        return citations + text

    def _is_end(self, found: re.Match[str], following: str) -> bool:
        """`following`: the next character; empty where the text is over."""
        stop, gap = found["stop"], found["gap"]
        new_line = "\n" in gap or (not following and (self._whole or bool(stop)))
        if is_row(self._line + found["bar"]):
            return new_line
        wrapped = gap.count("\n") == 1 and following.islower()
        if not stop or not _WORD.search(self._sentence):
            return new_line and not wrapped
        abbreviates = stop == "." and not found["behind"] and following and _is_no_end(self._sentence)
        if abbreviates:
            return new_line and not wrapped
        return bool(_EAST_ASIAN_STOP.search(stop) or found["behind"] or gap) or new_line

    def _within(self, written: str, hints: Sequence[int]) -> str:
        """The markers of passages that the model wrote where the sentence says nothing yet."""
        begun = self._sentence[leading_signs(self._sentence) :].strip()
        selection = [f"[{number}]" for number in hints if number in self._markers]
        if not selection or not _WORD.search(begun) or len(set(query_terms(begun))) > MOST_TERMS:
            return ""
        return (" " if written.startswith((" ", "\t")) else "") + "".join(selection)

    # -------------------------------------------------------------------------------------------- passing on
    def _take(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return self._pass(text)

    def _pass(self, text: str) -> str:
        """Text of the current sentence."""
        self._sentence += text
        *before, self._line = (self._line + text).split("\n")
        if before:
            self._after_row = is_row(before[-1])
        return text

    async def _citations(self, closing: str, *, last: bool) -> str:
        """Of the sentence that has ended: " [1][3]", or nothing. last: of the text, so a colon announces nothing."""
        text = self._sentence[leading_signs(self._sentence) :].strip()
        if not _WORD.search(text):
            return ""
        hints, self._hints = tuple(dict.fromkeys(self._hints)), []
        heads = is_row(self._line) and (not self._after_row or is_delimiter_row(self._line))
        states_nothing = _ASKS if last else (*_ASKS, *_ANNOUNCES)
        if heads or self._line.lstrip().startswith("#") or (text + closing).rstrip("*_ ").endswith(states_nothing):
            return ""
        markers = await self._align(text, hints)
        return " " + "".join(f"[{marker}]" for marker in markers) if markers else ""


def _is_no_end(sentence: str) -> bool:
    """Whether a full stop behind it ends no sentence: of an abbreviation, of a number of a list."""
    return ends_in_abbreviation(sentence + ".") or bool(_LIST_NUMBER.fullmatch(sentence))
