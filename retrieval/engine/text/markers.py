"""The markers of citations, [1], [1, 2] and 【1】, told apart from the brackets that a text has for itself.

A bracketed number is a marker only outside code and maths, not glued to a word (`row[1]`), with the number of a
passage, and where none of the passages has the same bracket ("Press [9] for the porter").
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from retrieval.engine.text.languages import HAN, HANGUL, KANA

BRACKET = r"[\[【]\s*+\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+\s*+[\]】]"
# Around what `MarkerReader` found: a marker; code and maths within a line.
BEGIN = "\ue000"
END = "\ue001"
QUOTE_BEGIN = "\ue002"
QUOTE_END = "\ue003"
MAX_HELD = 80  # characters of a bracket that are waited for
MARKER = rf"{BEGIN}[^{END}]*+{END}"
_BRACKET = re.compile(BRACKET)
_OPEN_BRACKET = re.compile(r"[\[【][\d\s,，、;；]*\Z")  # what may become one when more of it comes
_MARKS = re.compile(f"[{BEGIN}-{QUOTE_END}]")
_NUMBER = re.compile(r"\d+")
_BLANKS = re.compile(r"\s+")
_EAST_ASIAN = HAN + KANA + HANGUL
_WORD_END = re.compile(rf"(?![{_EAST_ASIAN}\d])\w")
_ASSIGNED = re.compile(r"[=∈]\s*\Z")
_FREE = re.compile(rf"(?:\A|[\s(（“「{_EAST_ASIAN}])\Z")
_PLAIN = re.compile(r"[^`~$\\\[【]+")
_TICKS = re.compile(r"`+|~+")
_TAIL_CHARS = 40  # of what was read that are looked back at
# A citation of an answer as it is stored. One is set by the site behind a blank, and kept as a model wrote it where a
# sentence is built on it (根据[2]).
CITATION = re.compile(rf"(?<![^\W{_EAST_ASIAN}])\[(\d{{1,3}})\](?!\()")
_SENTENCE_END = re.compile(r"(?:\[\d{1,3}\])*+[*_”’\"')]*+(?:[.!?。！？；…|\n]|\s*+\Z)")
_CITATIONS = re.compile(rf"(?:(?<![ \t])[ \t]*+(?<![^\W{_EAST_ASIAN}])\[\d{{1,3}}\](?!\())++")


def without_citations(text: str) -> str:
    """A stored answer as a model may read it: citations are the site's."""
    return _CITATIONS.sub("", text)


def cited_markers(text: str) -> set[int]:
    """Of a stored answer."""
    return {int(number) for number in CITATION.findall(text)}


def numbers_of(markers: str) -> list[int]:
    """[2, 9] → 2, 9."""
    return [int(number) for number in _NUMBER.findall(markers)]


@dataclass(frozen=True, slots=True)
class Brackets:
    """numbers: of the passages; a bracket with another one is text. own: the brackets that they hold, as (whether it
    stands free, what it is): footnotes (300.[1]) do not."""

    numbers: frozenset[int]
    own: frozenset[tuple[bool, str]]

    @classmethod
    def of(cls, passages: Collection[tuple[int, str]]) -> Brackets:
        """passages: (number, text)."""
        own = set()
        for _, text in passages:
            for match in _BRACKET.finditer(text):
                own.add(
                    (
                        _is_free(text[max(0, match.start() - _TAIL_CHARS) : match.start()]),
                        _named(match[0]),
                    )
                )
        return cls(frozenset(number for number, _ in passages), frozenset(own))

    def citations(self, text: str) -> list[re.Match[str]]:
        """Of a stored answer, in order. Where a passage has the same bracket, the one at a sentence's end is ours."""
        found = []
        for match in CITATION.finditer(text):
            is_own = (
                _is_free(text[max(0, match.start() - 1) : match.start()]),
                match[0],
            ) in self.own
            if int(match[1]) in self.numbers and (
                not is_own or _SENTENCE_END.match(text, match.end())
            ):
                found.append(match)
        return found

    def cited(self, text: str) -> set[int]:
        """The markers of a stored answer's citations."""
        return {int(match[1]) for match in self.citations(text)}

    def is_marker(self, bracket: str, before: str, following: str) -> bool:
        """before: the end of the text before it, its markers in BEGIN and END; following: the next character."""
        if not self.numbers.issuperset(numbers_of(bracket)):
            return False
        if (bracket[0] == "[" and _is_glued(before)) or _ASSIGNED.search(before):
            return False
        if following in ("(", "]") or (following == ":" and not before.rpartition("\n")[2].strip()):
            return False  # a link, an array, the definition of a link
        return (_is_free(before), _named(bracket)) not in self.own


def _is_glued(before: str) -> bool:
    """To a word, but not to a number ("EUR 55[1]") or to East Asian, which has no blanks to part them; to a bracket."""
    return before.endswith(("[", "]", "$", "\\")) or bool(
        _WORD_END.match(before.rstrip("0123456789")[-1:])
    )


def _is_free(before: str) -> bool:
    return bool(_FREE.search(before[-1:]))


def _named(bracket: str) -> str:
    return _BLANKS.sub("", bracket)


class MarkerReader:
    """Takes pieces of a text and gives them back with its markers in BEGIN and END, and code and maths within a line in
    QUOTE_BEGIN and QUOTE_END.

    A bracket is held back until the next character is there. All pieces put together give the same text however they
    are cut.
    """

    def __init__(self, brackets: Brackets) -> None:
        self._brackets = brackets
        self._held = ""
        self._tail = ""  # of what was given back
        self._closing = ""  # what ends the code or maths that is being read
        self._is_fenced = False

    def feed(self, piece: str) -> str:
        self._held += _MARKS.sub("", piece)
        return self._read(last=False)

    def finish(self) -> str:
        return self._read(last=True)

    def skip(self, text: str) -> None:
        """Go on behind this text."""
        self.feed(text)
        self.finish()

    def _read(self, *, last: bool) -> str:
        out: list[str] = []
        while self._held:
            piece = self._next(last=last)
            if not piece:
                break
            out.append(piece)
            self._tail = (self._tail + piece)[-_TAIL_CHARS:]
        return "".join(out)

    def _next(self, *, last: bool) -> str:
        """Nothing: more has to come first."""
        if self._closing:
            return self._quoted(last=last)
        if plain := _PLAIN.match(self._held):
            return self._take(plain.end())
        first = self._held[0]
        if first in "`~":
            return self._begin_code(last=last)
        if first in "[【":
            return self._bracket(last=last)
        if len(self._held) == 1 and not last:
            return ""
        return self._begin_maths() if first == "$" else self._escaped()

    def _take(self, length: int) -> str:
        piece = self._held[:length]
        self._held = self._held[length:]
        return piece

    def _bracket(self, *, last: bool) -> str:
        match = _BRACKET.match(self._held)
        end = match.end() if match else 0
        waits = end == len(self._held) if match else bool(_OPEN_BRACKET.match(self._held))
        if waits and not last and len(self._held) <= MAX_HELD:
            return ""
        if not match:
            # The text broke off in a marker: what there is of it is no text.
            return self._drop() if waits and last and _NUMBER.search(self._held) else self._take(1)
        is_marker = self._brackets.is_marker(match[0], self._tail, self._held[end : end + 1])
        bracket = self._take(end)
        return f"{BEGIN}{bracket}{END}" if is_marker else bracket

    def _drop(self) -> str:
        self._held = ""
        return ""

    def _begin_code(self, *, last: bool) -> str:
        ticks = _TICKS.match(self._held)[0]  # type: ignore[index]
        if len(ticks) == len(self._held) and not last:
            return ""
        self._is_fenced = len(ticks) > 2 and not self._tail.rpartition("\n")[2].strip()
        if self._is_fenced:
            self._closing = ticks
        elif ticks[0] == "`":
            return self._begin_quote(ticks, closing=ticks)
        return self._take(len(ticks))

    def _begin_quote(self, opening: str, *, closing: str) -> str:
        self._closing = closing
        return QUOTE_BEGIN + self._take(len(opening))

    def _end_quote(self, length: int) -> str:
        self._closing = ""
        return self._take(length) + QUOTE_END

    def _begin_maths(self) -> str:
        if self._held[1:2] == "$":
            return self._begin_quote("$$", closing="$$")
        # "$5" is an amount.
        if (
            self._held[1:2].strip()
            and not self._held[1].isdigit()
            and not self._tail[-1:].isalnum()
        ):
            return self._begin_quote("$", closing="$")
        return self._take(1)

    def _escaped(self) -> str:
        following = self._held[1:2]
        if following in ("(", "["):
            return self._begin_quote("\\" + following, closing="\\)" if following == "(" else "\\]")
        return self._take(2 if following in ("`", "$", "\\", "~") else 1)

    def _quoted(self, *, last: bool) -> str:
        """Code or maths: to what closes it, or to the end of the line."""
        if self._is_fenced:
            return self._fenced_line(last=last)
        places = [
            at for at in (self._held.find(self._closing[0]), self._held.find("\n")) if at >= 0
        ]
        before = min(places, default=len(self._held))
        if before:
            return self._take(before)
        if self._held[0] == "\n":
            return self._end_quote(0)
        run = _TICKS.match(self._held)
        found = run[0] if run else self._held[: len(self._closing)]
        if not last and (len(found) == len(self._held) if run else len(found) < len(self._closing)):
            return ""
        if found != self._closing:
            return self._take(len(found) if run else 1)
        return self._end_quote(len(found))

    def _fenced_line(self, *, last: bool) -> str:
        line_end = self._held.find("\n") + 1
        if not line_end and not last:
            return ""
        line = self._take(line_end or len(self._held))
        at_start = not self._tail.rpartition("\n")[2].strip()
        if at_start and line.strip().startswith(self._closing):
            self._closing = ""
            self._is_fenced = False
        return line
