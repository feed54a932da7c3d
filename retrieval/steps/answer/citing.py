"""Sentences of an answer while it is streamed, so that each gets its citations the moment it is complete.

The text of a sentence goes on at once; what ends it (a full stop, the blanks behind it) waits for the next character,
since that tells whether it was the end. The model's own markers are taken out and handed over as hints. Where its
marker stands for a word ("according to [2]"), the rest of the sentence waits, and the right one is put there.

What goes out is appended and never taken back. A heading, code, a table's head and a line that ends in a colon have no
citations.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from retrieval.steps.answer.markers import MARKER, is_open_marker, numbers_of
from retrieval.text.markdown import is_delimiter_row, is_row, leading_signs
from retrieval.text.sentences import ends_in_abbreviation

Align = Callable[[str, Collection[int]], Sequence[int]]  # (sentence, the model's markers) → ours

MAX_HELD = 240  # characters that are held back at most
_STOPS = ".!?。！？；…"
_CLOSERS = "”’」』】》）\"')]*_`"
_EAST_ASIAN = frozenset("。！？；…")
_WORD = re.compile(r"[^\W_]")
_WORDS = re.compile(r"[^\W_]+")
_STATES_NOTHING = (":", "：", "?", "？")
_FENCE = ("```", "~~~")
# A marker behind one of these stands for the passage's name.
_NAMED = re.compile(
    r"(?:\b(?:to|in|by|see|per|from|passages?|sources?|documents?|references?|id|and|&)|根据|根據|依据|依據|按照|参见|參見|见|見|段落"
    r"|来源|來源|文档|文件|和|与|與)[ \t:：(（]*$",
    re.IGNORECASE,
)
# Words that only point to a passage: an answer of nothing else is empty.
_POINTERS = frozenset(
    """see passage passages source sources document documents reference references id and answer answers in the 参见
    參見 见 見 段落 编号 編號 来源 來源 文档 文檔 文件 答案 和 与 與 见段落 見段落 参见段落 參見段落""".split()  # noqa: SIM905
)


def says_nothing(text: str, *, going_on: bool = False) -> bool:
    """Whether an answer has no word, or only words that point to passages ("See passage 2.").

    going_on: its last word may be the beginning of one that does.
    """
    pointed = False
    plain = MARKER.sub(" ", text).casefold()
    words = _WORDS.findall(plain)
    for at, word in enumerate(words):
        if word in _POINTERS:
            pointed = True
        elif not (pointed and word.isdecimal()):
            is_open = going_on and at == len(words) - 1 and plain.endswith(word)
            return is_open and any(pointer.startswith(word) for pointer in _POINTERS)
    return True


@dataclass(slots=True)
class _Sentence:
    """text: without markers, as it was sent. hints: the model's markers in and behind it."""

    text: str = ""
    hints: list[int] = field(default_factory=list)
    waiting: list[str | int] | None = None  # pieces held from a marker that stands for a word (its number) on


class CitedStream:
    """Takes pieces of an answer, gives back what may be sent, citations included.

    All pieces put together give the same text however they are cut.
    """

    def __init__(self, passages: int, align: Align) -> None:
        """align: runs in a thread, once for each sentence."""
        self._passages = passages
        self._align = align
        self._held = ""
        self._sentence = _Sentence()
        self._line = ""  # the current line so far, without markers
        self._fenced = False
        self._after_row = False
        self._began = ""  # held until the answer has said something
        self._says = False

    def begin(self, text: str, *, sentence: str) -> None:
        """Go on behind this text. sentence: the one that it breaks off in; its citations are set when it ends."""
        lines = text.split("\n")
        self._fenced = sum(line.lstrip().startswith(_FENCE) for line in lines) % 2 == 1
        self._line = MARKER.sub("", lines[-1])
        self._after_row = len(lines) > 1 and is_row(lines[-2])
        self._sentence.text = sentence
        self._says = True

    async def feed(self, piece: str) -> str:
        self._held += piece
        return self._shown(await self._read(last=False))

    async def finish(self) -> str:
        """What was held back; the beginning of a marker that never ended is dropped."""
        out = await self._read(last=True)
        out += await self._end_sentence("")
        shown = self._shown(out)
        if not self._says and self._began and not says_nothing(self._began):
            self._says, shown = True, self._began
        return shown.rstrip()

    def _shown(self, out: str) -> str:
        """Nothing is sent before a word that says something."""
        if self._says:
            return out
        self._began += out
        if says_nothing(self._began, going_on=True):
            return ""
        self._says = True
        began, self._began = self._began.lstrip(), ""
        return began

    # -------------------------------------------------------------------------------------------- reading
    async def _read(self, *, last: bool) -> str:
        out: list[str] = []
        while self._held:
            length, done = self._plain_length()
            if length:
                out.append(self._pass(self._held[:length]))
                self._held = self._held[length:]
                continue
            if done:
                break
            step = await self._special(last=last)
            if step is None:
                if len(self._held) <= MAX_HELD:
                    break
                step = self._pass(self._held)
                self._held = ""
            out.append(step)
        return "".join(out)

    def _plain_length(self) -> tuple[int, bool]:
        """How many characters go on at once."""
        for at, char in enumerate(self._held):
            if char in _STOPS or char in " \t\n[【" or (char == "|" and is_row(self._line + self._held[:at] + "|")):
                return at, False
            if char in _CLOSERS and at == 0 and not self._sentence.text.strip():
                continue
        return len(self._held), False

    async def _special(self, *, last: bool) -> str | None:
        """The next piece of text from a place where something may end; None: more has to come first."""
        held = self._held
        if self._fenced or self._line.lstrip().startswith(_FENCE):
            return self._code()
        at = _skip(held, 0, " \t")
        if at == len(held) and not last:
            return None
        if held[at : at + 1] in ("[", "【"):
            return self._marker(at, last=last)
        if at and held[at : at + 1] not in ("\n", "") and held[at] not in _STOPS:
            if held[at] == "|" and is_row(self._line):
                return await self._stop(at, last=last)
            return self._take(at)
        return await self._stop(at, last=last)

    def _code(self) -> str:
        end = self._held.find("\n")
        if end < 0:
            return self._take(len(self._held))
        line = self._line + self._held[:end]
        if line.lstrip().startswith(_FENCE):
            self._fenced = not self._fenced
        return self._take(end + 1)

    def _marker(self, at: int, *, last: bool) -> str | None:
        match = MARKER.match(self._held, at)
        if not match:
            if is_open_marker(self._held[at:]):
                if not last:
                    return None
                if any(map(str.isdigit, self._held[at:])):  # broken off in a marker
                    self._held = ""
                    return ""
            return self._take(at + 1)
        numbers = [number for number in numbers_of(match.group()) if 1 <= number <= self._passages]
        before = self._sentence.text
        named = bool(_NAMED.search(before + self._held[:at])) and not self._fenced
        self._held = self._held[match.end() :]
        self._sentence.hints += numbers
        if named and numbers:
            if self._sentence.waiting is None:
                self._sentence.waiting = []
            self._sentence.waiting += [" " if at else "", *numbers]
        return ""

    async def _stop(self, at: int, *, last: bool) -> str | None:
        """Text at `at` begins with a stop, a line's end, a row's last bar, or is over."""
        held = self._held
        end = at
        while end < len(held) and held[end] in _STOPS:
            end += 1
        stops = held[at:end]
        if stops:
            while end < len(held) and held[end] in _CLOSERS:
                end += 1
        elif held[at : at + 1] == "|":
            end = at + 1
        # Markers behind the stop belong to the sentence.
        hints: list[int] = []
        after = end
        while True:
            blank = _skip(held, after, " \t")
            match = MARKER.match(held, blank)
            if match and (stops or blank > after or after == end):
                hints += [number for number in numbers_of(match.group()) if 1 <= number <= self._passages]
                after = match.end()
                while after < len(held) and held[after] in _STOPS:  # "55 [1]. [2]."
                    after += 1
                continue
            if not last and (blank == len(held) or is_open_marker(held[blank:])):
                return None
            break
        following = held[blank : blank + 1]
        if held[at : at + 1] == "|":
            if following not in ("\n", ""):
                return self._take(end)
            return await self._row(at, end, after)
        if stops:
            east_asian = any(char in _EAST_ASIAN for char in stops)
            is_end = east_asian or blank > end or following in ("\n", "") or after > end
            words = self._sentence.text
            if (
                not is_end
                or not _WORD.search(words[leading_signs(words + " ") :] if words.strip() else "")
                or (stops == "." and not after > end and following and _is_no_end(words))
            ):
                return self._take(end)
            self._sentence.hints += hints
            closing = held[at:end]
            self._held = held[after:]
            return await self._end_sentence(held[:at] if not words.strip() else "", closing=closing)
        # Whether the sentence goes on shows in the next line's first character.
        return None if not last and _skip(held, at, " \t\n") == len(held) else await self._new_line(at)

    async def _new_line(self, at: int) -> str:
        held = self._held
        end = _skip(held, at, " \t\n")
        gap, following = held[:end], held[end : end + 1]
        wrapped = gap.count("\n") == 1 and following.islower() and not is_row(self._line)
        if wrapped:
            return self._take(end)
        self._held = held[end:]
        row = is_row(self._line)
        ended = await self._end_sentence("")
        self._line, self._after_row = "", row
        return ended + (gap.lstrip(" \t") if gap.strip(" \t") else gap)

    async def _row(self, at: int, end: int, after: int) -> str:
        """The last bar of a table's row: its citation stands before it."""
        blanks = self._held[:at]
        self._held = self._held[after:]
        markers = "" if not self._after_row or is_delimiter_row(self._line + "|") else await self._citations()
        waiting = self._released(markers)
        self._line += blanks + "|"
        self._sentence = _Sentence()
        return waiting + markers + (blanks or (" " if markers else "")) + "|"

    # -------------------------------------------------------------------------------------------- passing on
    def _take(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return self._pass(text)

    def _pass(self, text: str) -> str:
        """Plain text of the current sentence."""
        for char in text:
            self._line = "" if char == "\n" else self._line + char
        self._sentence.text += text
        if self._sentence.waiting is not None:
            self._sentence.waiting.append(text)
            return ""
        return text

    def _released(self, markers: str) -> str:
        """What has waited for the marker that stands for a word; ours is put in its place the first time."""
        waiting = self._sentence.waiting
        if waiting is None:
            return ""
        named = [piece for piece in waiting if isinstance(piece, int)]
        ours = markers.strip() if len(named) == 1 else ""
        return "".join(piece if isinstance(piece, str) else ours or f"[{piece}]" for piece in waiting)

    async def _end_sentence(self, before: str, *, closing: str = "") -> str:
        markers = await self._citations(closing) if self._sentence.text.strip() else ""
        named = [piece for piece in self._sentence.waiting or () if isinstance(piece, int)]
        out = self._released(markers)
        if named and (len(named) == 1 or {f"[{number}]" for number in named} >= set(_each(markers))):
            markers = ""
        self._line += closing
        hints = [] if self._sentence.text.strip() else self._sentence.hints
        self._sentence = _Sentence(hints=hints)
        return before + out + markers + closing

    async def _citations(self, closing: str = "") -> str:
        """Of the sentence that has ended: " [1][3]", or nothing."""
        sentence = self._sentence
        text = sentence.text[leading_signs(sentence.text) :].strip()
        if (
            len(_WORD.findall(text)) < 1
            or self._line.lstrip().startswith("#")
            or (text + closing).rstrip("*_ ").endswith(_STATES_NOTHING)
        ):
            return ""
        markers = await asyncio.to_thread(self._align, text, tuple(dict.fromkeys(sentence.hints)))
        return " " + "".join(f"[{marker}]" for marker in markers) if markers else ""


def _each(markers: str) -> list[str]:
    return re.findall(r"\[\d+\]", markers)


def _skip(text: str, at: int, chars: str) -> int:
    while at < len(text) and text[at] in chars:
        at += 1
    return at


def _is_no_end(words: str) -> bool:
    """Whether a full stop behind these words ends no sentence: of an abbreviation, of a number of a list."""
    return ends_in_abbreviation(words + ".") or bool(re.fullmatch(r"\s*\d{1,3}", words))
