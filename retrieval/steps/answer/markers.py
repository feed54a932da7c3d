"""Citation markers in a streamed answer: [1] [2] …; those that point to nothing never reach the reader."""

from __future__ import annotations

import re

_MARKER = re.compile(r"(?<![ \t])([ \t]*)[\[【]\s*+(\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+)\s*+[\]】]")
MARKER = re.compile(r"[\[【]\s*+\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+\s*+[\]】]")  # without the blanks before it
_OPEN = re.compile(r"[\[【][\d\s,，、;；]*")
_NUMBERS = re.compile(r"[\d\s,，、;；]*")
_CITED = re.compile(r"\[(\d+)\]")


def without_markers(text: str) -> str:
    """The answer as a model may read it: citations are the site's."""
    return _MARKER.sub("", text)


class MarkerFilter:
    """Cleans an answer piece by piece: what comes out, put together, is the final text.

    A marker may be spread over several pieces, so an unfinished one (and the blanks before it) is held back. [2, 9]
    and 【2】 become [2]; numbers above `passages` are dropped.
    """

    def __init__(self, passages: int) -> None:
        self._passages = passages
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        start = _unfinished(text)
        self._held = text[start:]
        return self._clean(text[:start])

    def finish(self) -> str:
        """What was held back at the end; the beginning of a marker that never ended is dropped."""
        held, self._held = self._held, ""
        return "" if re.search(r"[\[【]\s*\d", held) else held.rstrip()

    def _clean(self, text: str) -> str:
        return _MARKER.sub(self._checked, text)

    def _checked(self, match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match.group(2))]
        valid = [number for number in dict.fromkeys(numbers) if 1 <= number <= self._passages]
        return match.group(1) + "".join(f"[{number}]" for number in valid) if valid else ""


def _unfinished(text: str) -> int:
    """Where a marker begins that may go on in the next piece, with the blanks before it; or the blanks at the end."""
    bracket = max(text.rfind("["), text.rfind("【"))
    is_open = bracket >= 0 and _NUMBERS.fullmatch(text, bracket + 1)
    end = bracket if is_open else len(text) - text.endswith("\n")
    return len(text[:end].rstrip(" \t"))


def cited_markers(text: str) -> set[int]:
    return {int(number) for number in _CITED.findall(text)}


def numbers_of(marker: str) -> list[int]:
    """[2, 9] → 2, 9."""
    return [int(number) for number in re.findall(r"\d+", marker)]


def is_open_marker(text: str) -> bool:
    """Whether it may become a marker when more of it comes."""
    return bool(_OPEN.fullmatch(text))
