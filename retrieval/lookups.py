"""`__icontains_han`: `__icontains` that finds Traditional Chinese by its Simplified spelling, and the reverse.

The asked words alone are spelt in both ways, so nothing has to be stored for it. A pattern of characters side by side
takes both databases no longer than LIKE (of 20,000 texts of 1,000 characters 0.15 s against 0.14 on SQLite, 0.22
against 0.40 on PostgreSQL), while a LIKE for each spelling would be as many readings.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from django.db.models.lookups import IContains, IRegex

from retrieval.text.analysis import converted


class IContainsHan(IContains):
    lookup_name = "icontains_han"

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        pattern = either_script(self.rhs)
        lookup = IRegex(self.lhs, pattern) if pattern else IContains(self.lhs, self.rhs)
        return compiler.compile(lookup)


def either_script(text: str) -> str:
    """A pattern of the text in which Han characters may be Traditional or Simplified, each by itself: 台湾 is 臺灣, and
    台灣. "" where it is written in one way alone."""
    folded, spellings = _spellings()
    pieces = []
    for char in text:
        ways = spellings.get(folded.get(char, char), "")
        pieces.append(f"[{ways}]" if ways else re.escape(char))
    return "".join(pieces) if any(piece.startswith("[") for piece in pieces) else ""


@lru_cache(maxsize=1)
def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    """Traditional characters to the Simplified one, and this one to all of them, itself included."""
    characters = [chr(code) for code in range(0x3400, 0xA000)]
    simplified = converted("\n".join(characters), "t2s").split("\n")
    folded = {char: plain for char, plain in zip(characters, simplified, strict=True) if char != plain}
    spellings: dict[str, str] = {}
    for char, plain in folded.items():
        spellings[plain] = spellings.get(plain, plain) + char
    return folded, spellings
