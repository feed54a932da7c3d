"""Styles of an OpenDocument text: what they hide, and how they label lists and number headings."""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree

from retrieval.knowledge.ingest.numbering import list_number

ODF = "urn:oasis:names:tc:opendocument:xmlns:"
TEXT = f"{{{ODF}text:1.0}}"
STYLE = f"{{{ODF}style:1.0}}"
FO = f"{{{ODF}xsl-fo-compatible:1.0}}"
TITLE_STYLE = "Title"  # whatever the language of the program
BULLET = "-"
MAX_PARENTS = 6  # that a style is based on, one after the other


@dataclass(frozen=True, slots=True)
class ListLevel:
    """Of a list: how its items are labelled."""

    number_format: str = ""
    prefix: str = ""
    suffix: str = ""
    levels_shown: int = 1
    start: int = 1
    is_bullet: bool = False


class OdfStyles:
    """Of a document: which texts are hidden, and how lists are labelled."""

    def __init__(self, parts: dict[str, etree._Element]) -> None:
        roots = [parts[name] for name in ("styles.xml", "content.xml") if name in parts]
        self._styles = {
            style.get(f"{STYLE}name"): style
            for root in roots
            for style in root.iter(f"{STYLE}style")
        }
        self._lists = {
            style.get(f"{STYLE}name"): _levels(style)
            for root in roots
            for style in root.iter(f"{TEXT}list-style")
        }
        outline = next(
            (style for root in roots for style in root.iter(f"{TEXT}outline-style")), None
        )
        self.outline = {} if outline is None else _levels(outline)

    def list_levels(self, name: str | None) -> dict[int, ListLevel]:
        return self._lists.get(name, {})

    def list_of_paragraph(self, name: str | None) -> str | None:
        style = self._styles.get(name)
        return None if style is None else style.get(f"{STYLE}list-style-name")

    def is_title(self, name: str | None) -> bool:
        """Whether a paragraph's style is, or is based on, that of a document's title."""
        for _ in range(MAX_PARENTS):
            style = self._styles.get(name)
            if name == TITLE_STYLE or style is None:
                break
            name = style.get(f"{STYLE}parent-style-name")
        return name == TITLE_STYLE

    def css(self, name: str | None) -> str:
        """What can hide of a style, as CSS."""
        found: dict[str, str] = {}
        for _ in range(MAX_PARENTS):
            style = self._styles.get(name)
            if style is None:
                break
            for properties in style.iter(f"{STYLE}text-properties", f"{STYLE}paragraph-properties"):
                if properties.get(f"{TEXT}display") == "none":
                    found.setdefault("display", "none")
                for key in ("font-size", "color", "background-color"):
                    if value := properties.get(f"{FO}{key}"):
                        found.setdefault(key, value)
            name = style.get(f"{STYLE}parent-style-name")
        if found.get("font-size", "").endswith("%"):
            del found["font-size"]
        return ";".join(f"{key}:{value}" for key, value in found.items())


def _levels(style: etree._Element) -> dict[int, ListLevel]:
    levels = {}
    for element in style:
        at = element.get(f"{TEXT}level") or ""
        if not at.isdigit():
            continue
        start = element.get(f"{TEXT}start-value") or "1"
        shown = element.get(f"{TEXT}display-levels") or "1"
        levels[int(at)] = ListLevel(
            number_format=element.get(f"{STYLE}num-format") or "",
            prefix=element.get(f"{STYLE}num-prefix") or "",
            suffix=element.get(f"{STYLE}num-suffix") or "",
            levels_shown=int(shown) if shown.isdigit() else 1,
            start=int(start) if start.isdigit() else 1,
            is_bullet=element.tag == f"{TEXT}list-level-style-bullet",
        )
    return levels


@dataclass(slots=True)
class Counters:
    """Of a list, or of the headings."""

    levels: dict[int, ListLevel]
    counts: dict[int, int] = field(default_factory=dict)

    def label(self, depth: int) -> str:
        """Of the next item at this depth, from 1."""
        level = self.levels.get(depth, ListLevel(is_bullet=True))
        if level.is_bullet:
            return BULLET
        self.counts[depth] = self.counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in self.counts if other > depth]:
            del self.counts[deeper]
        if not level.number_format:
            return ""
        numbers = []
        for at in range(max(1, depth - level.levels_shown + 1), depth + 1):
            other = self.levels.get(at, level)
            if other.number_format:
                numbers.append(list_number(self.counts.get(at, other.start), other.number_format))
        return f"{level.prefix}{'.'.join(numbers)}{level.suffix}".strip()
