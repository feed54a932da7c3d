"""Pieces of a PDF's text that know the place of each of their characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragsite.core.text import strip_for_reading
from retrieval.knowledge.ingest.pdf.geometry import Rect

WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
HYPHENS = "\ufffe\x02\u00ad"  # pdfium's marks for a hyphen that parts a word
_OPEN_RANGE = re.compile(r"\d[–—/-]$")  # 9:00–12:30
_WIDE_END = re.compile(f"[{WIDE}]$")
_WIDE_START = re.compile(f"^[{WIDE}]")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text of a page. places: of each character, its number on the page (`PageText`); -1: it was put in."""

    text: str
    places: tuple[int, ...]

    def part(self, start: int, end: int) -> TextRun:
        """Those characters, without white space around them."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        end = start + len(text.strip())
        return TextRun(self.text[start:end], self.places[start:end])


class LinePiece(NamedTuple):
    """What stands between two blanks of a line. rect: in points, as the page is shown. goes_on: it is the second part
    of a word that a hyphen parted."""

    run: TextRun
    rect: Rect
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class TextLine:
    """height: of its characters with ascender and descender, in points; 0: not known. is_bold: all of it. turn: by how
    many degrees it is turned clockwise, as the page is shown. top, bottom: in points upwards, in the line's own
    direction. pieces: its words, where they were asked for (`PageText.with_pieces`)."""

    run: TextRun
    height: float = 0.0
    is_bold: bool = False
    turn: int = 0
    top: float = 0.0
    bottom: float = 0.0
    pieces: tuple[LinePiece, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        return self.run.text


def joined(parts: Sequence[TextRun | str]) -> TextRun:
    """One after the other; a string is put in between."""
    runs = [
        part if isinstance(part, TextRun) else TextRun(part, (-1,) * len(part)) for part in parts
    ]
    return TextRun(
        "".join(run.text for run in runs), tuple(place for run in runs for place in run.places)
    )


def shown(run: TextRun) -> TextRun:
    """Without the characters that no reader sees."""
    if strip_for_reading(run.text) == run.text and not any(
        hyphen in run.text for hyphen in HYPHENS
    ):
        return run
    shown = [
        at
        for at, character in enumerate(run.text)
        if character not in HYPHENS and strip_for_reading(character)
    ]
    return TextRun("".join(run.text[at] for at in shown), tuple(run.places[at] for at in shown))


def space_between(first: str, second: str) -> str:
    """What parts them where a line ended between them."""
    is_wide = _WIDE_END.search(first) and _WIDE_START.match(second)
    is_range = _OPEN_RANGE.search(first) and second[:1].isdigit()
    return "" if is_wide or is_range else " "


def width_of(line: str) -> int:
    """In columns of a terminal: an East Asian character has two."""
    return sum(2 if _WIDE_START.match(character) else 1 for character in line)
