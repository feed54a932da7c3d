"""The markers of citations: [1], [1, 2], 【1】."""

from __future__ import annotations

import re

MARKER = r"[\[【]\s*+\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+\s*+[\]】]"
_WITH_BLANKS = re.compile(rf"(?<![ \t])[ \t]*+{MARKER}")
_NUMBER = re.compile(r"\d+")
_CITED = re.compile(r"\[(\d+)\]")


def without_markers(text: str) -> str:
    """The answer as a model may read it: citations are the site's."""
    return _WITH_BLANKS.sub("", text)


def cited_markers(text: str) -> set[int]:
    return {int(number) for number in _CITED.findall(text)}


def numbers_of(markers: str) -> list[int]:
    """[2, 9] → 2, 9."""
    return [int(number) for number in _NUMBER.findall(markers)]
