"""`__icontains_han`: `__icontains` that finds Traditional Chinese by its Simplified spelling, and the reverse.

The words of a query alone are spelt in both ways, so nothing has to be stored for it. A pattern of characters side by
side takes both databases no longer than LIKE (of 20,000 texts of 1,000 characters 0.15 s against 0.14 on SQLite, 0.22
against 0.40 on PostgreSQL), while a LIKE for each spelling would be as many readings.

PostgreSQL has a pattern for every text, so that one `TrigramIndex` of a column serves them all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db.backends.ddl_references import Statement
from django.db.models.lookups import IContains, IRegex

from retrieval.engine.text.languages import converted


class IContainsHan(IContains):
    lookup_name = "icontains_han"

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        pattern = either_script(self.rhs)
        one_way = connection.vendor != "postgresql" and pattern == re.escape(self.rhs)
        return compiler.compile(
            IContains(self.lhs, self.rhs) if one_way else IRegex(self.lhs, pattern)
        )


class TrigramIndex(GinIndex):
    """On PostgreSQL, for searches within texts (the extension pg_trgm). SQLite has none, and gets none."""

    def __init__(
        self, *, fields: Sequence[str], name: str, opclasses: Sequence[str] = ("gin_trgm_ops",)
    ) -> None:
        super().__init__(fields=fields, name=name, opclasses=opclasses)

    def create_sql(
        self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any
    ) -> Statement:
        if schema_editor.connection.vendor != "postgresql":
            return Statement("SELECT 1")  # an index has to be some statement
        return super().create_sql(model, schema_editor, using, **kwargs)


def either_script(text: str) -> str:
    """A pattern of the text in which Han characters may be Traditional or Simplified, each by itself: 台湾 is 臺灣, and
    台灣."""
    folded, spellings = _spellings()
    pieces = []
    for char in text:
        ways = spellings.get(folded.get(char, char), "")
        pieces.append(f"[{ways}]" if ways else re.escape(char))
    return "".join(pieces)


@lru_cache(maxsize=1)
def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    """Traditional characters to the Simplified one, and this one to all of them, itself included."""
    characters = [chr(code) for code in range(0x3400, 0xA000)]
    simplified = converted("\n".join(characters), "t2s").split("\n")
    folded = {
        char: plain for char, plain in zip(characters, simplified, strict=True) if char != plain
    }
    spellings: dict[str, str] = {}
    for char, plain in folded.items():
        spellings[plain] = spellings.get(plain, plain) + char
    return folded, spellings
