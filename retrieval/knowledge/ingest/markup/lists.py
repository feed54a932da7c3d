"""Lists of a page, and how their items are labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

from retrieval.knowledge.ingest.numbering import list_number

BULLET = "-"
LIST_STYLES = {
    "none": "",
    "decimal": "1",
    "lower-alpha": "a",
    "lower-latin": "a",
    "upper-alpha": "A",
    "upper-latin": "A",
    "lower-roman": "i",
    "upper-roman": "I",
    "cjk-ideographic": "一",
    "simp-chinese-informal": "一",
    "trad-chinese-informal": "一",
}
LIST_TYPES = ("1", "a", "A", "i", "I", "一")


@dataclass(slots=True)
class OpenList:
    """An open list. label_type: of an ordered one as `list_number` knows them; "" of another one."""

    label_type: str
    number: int = 1
    step: int = 1

    def label(self, value: str | None) -> str:
        if not self.label_type:
            return BULLET
        if value is not None and value.lstrip("-").isdigit():
            self.number = int(value)
        number = self.number
        self.number += self.step
        return f"{list_number(number, self.label_type)}."


def list_of(element: etree._Element, styles: Mapping[str, str]) -> OpenList:
    """styles: its own, which say more than its attributes."""
    styled = [LIST_STYLES[word] for word in _list_style(styles).split() if word in LIST_STYLES]
    if "" in styled:  # its items are written with their labels, or have none
        return OpenList("")
    start = element.get("start") or ""
    is_reversed = element.get("reversed") is not None
    items = sum(child.tag == "li" for child in element)
    number = (
        int(start)
        if start.lstrip("-").isdigit() and len(start) < 10
        else items
        if is_reversed
        else 1
    )
    label_type = next(iter(styled), element.get("type") or "1")
    return OpenList(
        label_type if label_type in LIST_TYPES else "1", number, -1 if is_reversed else 1
    )


def _list_style(styles: Mapping[str, str]) -> str:
    return styles.get("list-style-type") or styles.get("list-style") or ""
