"""The labels of Word's automatic lists ("2.2", "(b)"), counted as Word does: they stand nowhere in its file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from retrieval.knowledge.ingest.numbering import word_number
from retrieval.knowledge.ingest.word_processing.word_styles import Styles, tag, value_of

MAX_LEVELS = 9
BULLET = "-"
_PLACE = re.compile(r"%([1-9])")


@dataclass(slots=True)
class _Level:
    """template: "%1.%2" of the label's text."""

    start: int = 1
    number_format: str = "decimal"
    template: str = ""
    is_legal: bool = False  # all numbers in figures
    restarts: bool = True


class Labels:
    """root: of numbering.xml; None where there is none."""

    def __init__(self, root: etree._Element | None, styles: Styles) -> None:
        self._styles = styles
        self._levels: dict[str, dict[int, _Level]] = {}  # of each abstract list
        self._lists: dict[str, str] = {}  # numId → abstract list
        self._overrides: dict[str, dict[int, _Level]] = {}
        self._restarts: dict[str, dict[int, int]] = {}  # numId → level → where it begins
        self._counters: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._style_levels: dict[tuple[str, str], int] = {}  # (abstract list, style) → level
        if root is not None:
            self._read(root)

    def next(self, properties: etree._Element | None) -> tuple[str, int]:
        """The label of the paragraph that has these properties, and its level from 1; ("", 0) where it is in no list.

        To be called once for each paragraph, in order.
        """
        list_id, level = self._place(properties)
        abstract = self._lists.get(list_id)
        if abstract is None or not 0 <= level < MAX_LEVELS:
            return "", 0
        counters = self._counters.setdefault(abstract, {})
        levels = self._levels.get(abstract, {}) | self._overrides.get(list_id, {})
        own = levels.get(level, _Level())
        restart = self._restarts.get(list_id, {}).get(level)
        if restart is not None and (list_id, level) not in self._begun:
            counters[level] = restart
        elif level in counters:
            counters[level] += 1
        else:
            counters[level] = own.start
        self._begun.add((list_id, level))
        for deeper in [
            other for other in counters if other > level and levels.get(other, _Level()).restarts
        ]:
            del counters[deeper]
        if own.number_format == "bullet":
            return BULLET, level + 1
        return self._text(own, levels, counters), level + 1

    @staticmethod
    def _text(own: _Level, levels: dict[int, _Level], counters: dict[int, int]) -> str:
        def number(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            level = levels.get(at, _Level())
            count = counters.setdefault(at, level.start)
            return word_number(count, "decimal" if own.is_legal else level.number_format)

        return _PLACE.sub(number, own.template).strip()

    def _place(self, properties: etree._Element | None) -> tuple[str, int]:
        """(numId, level) of a paragraph, its own or those of its style."""
        style_id = None if properties is None else value_of(properties.find(tag("pStyle")))
        list_id = level = None
        for one in self._styles.paragraph_chain(properties):
            numbering = one.find(tag("numPr"))
            if numbering is None:
                continue
            list_id = list_id or value_of(numbering.find(tag("numId")))
            level = level or value_of(numbering.find(tag("ilvl")))
        abstract = self._lists.get(list_id or "")
        if abstract is not None and level is None:
            for style in self._styles.chain(style_id):
                known = self._style_levels.get((abstract, value_of(style, "styleId") or ""))
                if known is not None:
                    return list_id or "", known
        return list_id or "", int(level) if level and level.isdigit() else 0

    # -------------------------------------------------------------------------------------------- reading
    def _read(self, root: etree._Element) -> None:
        linked: dict[str, str] = {}  # style → abstract list
        for abstract in root.findall(tag("abstractNum")):
            key = value_of(abstract, "abstractNumId") or ""
            self._levels[key] = {}
            for element in abstract.findall(tag("lvl")):
                at = _number(value_of(element, "ilvl"))
                self._levels[key][at] = _level(element)
                if style_id := value_of(element.find(tag("pStyle"))):
                    self._style_levels[key, style_id] = at
            if style_id := value_of(abstract.find(tag("styleLink"))):
                linked[style_id] = key
        for abstract in root.findall(tag("abstractNum")):
            style_id = value_of(abstract.find(tag("numStyleLink")))
            if style_id in linked:
                self._levels[value_of(abstract, "abstractNumId") or ""] = self._levels[
                    linked[style_id]
                ]
        for element in root.findall(tag("num")):
            list_id = value_of(element, "numId") or ""
            self._lists[list_id] = value_of(element.find(tag("abstractNumId"))) or ""
            for override in element.findall(tag("lvlOverride")):
                at = _number(value_of(override, "ilvl"))
                if (start := value_of(override.find(tag("startOverride")))) is not None:
                    self._restarts.setdefault(list_id, {})[at] = _number(start)
                if (level := override.find(tag("lvl"))) is not None:
                    self._overrides.setdefault(list_id, {})[at] = _level(level)
        self._lists.pop("0", None)


def _level(element: etree._Element) -> _Level:
    start = value_of(element.find(tag("start")))
    return _Level(
        start=_number(start) if start is not None else 0,
        number_format=value_of(element.find(tag("numFmt"))) or "decimal",
        template=value_of(element.find(tag("lvlText"))) or "",
        is_legal=element.find(tag("isLgl")) is not None,
        restarts=value_of(element.find(tag("lvlRestart"))) != "0",
    )


def _number(value: str | None) -> int:
    return int(value) if value and value.isdigit() and len(value) < 10 else 0
