"""OpenDocument texts: their XML becomes HTML, which is read like any other.

Labels of lists and numbers of headings are counted here, as they stand nowhere in the file. What changes deleted,
comments, and what its style hides are left out; headers and footers are read once.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html

from ragsite.core.messages import Sentence
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import ParsedDocument, first_title
from retrieval.knowledge.ingest.markup.html import Mark, read_html
from retrieval.knowledge.ingest.sniff import damaged
from retrieval.knowledge.ingest.word_processing.odf_styles import (
    BULLET,
    ODF,
    STYLE,
    TEXT,
    Counters,
    OdfStyles,
)
from retrieval.knowledge.ingest.word_processing.word_styles import PARSER

TABLE = f"{{{ODF}table:1.0}}"
DRAW = f"{{{ODF}drawing:1.0}}"
OFFICE = f"{{{ODF}office:1.0}}"
# Left out: what is not shown, or says nothing of the document.
SKIPPED = frozenset(
    (
        f"{TEXT}tracked-changes",
        f"{OFFICE}annotation",
        f"{OFFICE}annotation-end",
        f"{TEXT}hidden-text",
        f"{TEXT}hidden-paragraph",
        f"{TEXT}sequence-decls",
        f"{TEXT}variable-decls",
        f"{TEXT}user-field-decls",
        f"{TEXT}page-number",
        f"{TEXT}page-count",
        f"{TEXT}note-citation",
        f"{TEXT}index-title-template",
        f"{TEXT}table-of-content-source",
        f"{OFFICE}forms",
    )
)
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
LINK = "{http://www.w3.org/1999/xlink}href"
MATH = "{http://www.w3.org/1998/Math/MathML}math"
MAX_REPEATS = 50  # of a cell; sheets in a text repeat empty ones without end
MAX_FORMULAS = 2_000
MAX_LEVEL = 6


def parse_odt(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    with zipfile.ZipFile(path) as archive:
        parts: dict[str, etree._Element] = {}
        for name in ("content.xml", "styles.xml", "meta.xml"):
            if name in archive.namelist():
                parts[name] = etree.fromstring(archive.read(name), PARSER)
        formulas = _formulas(archive, parts.get("content.xml"))
    content = parts.get("content.xml")
    body = None if content is None else content.find(f"{OFFICE}body/{OFFICE}text")
    if content is None or body is None:
        raise damaged("odt")
    maker = _Maker(OdfStyles(parts), formulas)
    for region in _running_texts(parts.get("styles.xml"), "header"):
        maker.read(region)
    maker.read(body)
    for region in _running_texts(parts.get("styles.xml"), "footer"):
        maker.read(region)
    blocks, _ = read_html(maker.root, marks=maker.marks, has_layout_tables=False)
    meta = parts.get("meta.xml")
    title = (
        ""
        if meta is None
        else (meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "").strip()
    )
    return ParsedDocument(
        blocks=tuple(blocks), title=title or first_title(blocks), unread=maker.told
    )


def _formulas(
    archive: zipfile.ZipFile, content: etree._Element | None
) -> dict[str, etree._Element]:
    """Link of an object → its MathML, as HTML has it, of those that are formulas."""
    names = set(archive.namelist())
    formulas: dict[str, etree._Element] = {}
    for element in () if content is None else content.iter(f"{DRAW}object"):
        link = element.get(LINK) or ""
        part = f"{link.removeprefix('./').rstrip('/')}/content.xml"
        if part not in names or link in formulas or len(formulas) >= MAX_FORMULAS:
            continue
        root = etree.fromstring(archive.read(part), PARSER)
        if root.tag == MATH:
            for inner in root.iter(etree.Element):
                inner.tag = etree.QName(inner).localname
            formulas[link] = root
    return formulas


def _running_texts(styles: etree._Element | None, kind: str) -> Iterator[etree._Element]:
    """Headers or footers that are shown, each text once."""
    seen: set[str] = set()
    for page in () if styles is None else styles.iter(f"{STYLE}master-page"):
        for region in page:
            if region.tag not in (f"{STYLE}{kind}", f"{STYLE}{kind}-left", f"{STYLE}{kind}-first"):
                continue
            text = " ".join("".join(region.itertext()).split())
            if (
                region.get(f"{STYLE}display") != "false"
                and any(map(str.isalpha, text))
                and text not in seen
            ):
                seen.add(text)
                yield region


class _Maker:
    """root: what was made so far. marks: the items of its lists and its notes. formulas: by the links to them."""

    def __init__(self, styles: OdfStyles, formulas: dict[str, etree._Element]) -> None:
        self.root = lxml_html.Element("body")
        self.marks: dict[etree._Element, Mark] = {}
        self._styles = styles
        self._formulas = formulas
        self._pictures = 0
        self._drawings = 0
        self._headings = Counters(styles.outline)
        self._lists: dict[str, Counters] = {}
        self._label: str | None = None  # of an item that has no paragraph yet
        self._depth = 0
        self._counters: Counters | None = None
        self._notes: list[etree._Element] = []

    @property
    def told(self) -> tuple[Sentence, ...]:
        counts = ((unread.pictures, self._pictures), (unread.drawings, self._drawings))
        return tuple(words(count) for words, count in counts if count)

    def read(self, source: etree._Element) -> None:
        self._children(source, self.root)

    def _children(self, source: etree._Element, target: etree._Element) -> None:
        _add_text(target, source.text)
        for child in source:
            is_shown = isinstance(child.tag, str) and child.get(f"{TEXT}display") != "none"
            if is_shown and child.tag not in SKIPPED:
                self._element(child, target)
            _add_text(target, child.tail)

    def _element(self, source: etree._Element, target: etree._Element) -> None:
        match source.tag.removeprefix(TEXT).removeprefix(TABLE).removeprefix(DRAW):
            case "p" | "h":
                self._paragraph(source, target)
            case "list":
                self._list(source, target)
            case "span":
                span = etree.SubElement(
                    target, "span", style=self._styles.css(source.get(f"{TEXT}style-name"))
                )
                self._children(source, span)
            case "s":
                count = source.get(f"{TEXT}c") or "1"
                _add_text(target, " " * min(int(count) if count.isdigit() else 1, 100))
            case "tab":
                _add_text(target, "\t")
            case "line-break":
                etree.SubElement(target, "br")
            case "note":
                note = lxml_html.Element("div")
                self._children(source, note)
                self._notes.append(note)
            case "table":
                self._children(source, etree.SubElement(target, "table"))
            case "table-header-rows":
                self._children(source, etree.SubElement(target, "thead"))
            case "table-row":
                self._children(source, etree.SubElement(target, "tr"))
            case "table-cell":
                self._cell(source, target)
            case "covered-table-cell":
                pass
            case "image":
                self._pictures += 1
            case "object" if (
                formula := self._formulas.pop(source.get(LINK) or "", None)
            ) is not None:
                target.append(formula)
            case "object" | "object-ole" | "plugin":
                self._drawings += 1
            case "text-box":
                box = etree.SubElement(target, "div")
                self._children(source, box)
            case "frame":
                self._frame(source, target)
            case _:
                self._children(source, target)

    def _frame(self, source: etree._Element, target: etree._Element) -> None:
        """Of an object and its picture, the object."""
        has_object = any(child.tag in (f"{DRAW}object", f"{DRAW}object-ole") for child in source)
        for child in source:
            if isinstance(child.tag, str) and not (has_object and child.tag == f"{DRAW}image"):
                self._element(child, target)

    def _paragraph(self, source: etree._Element, target: etree._Element) -> None:
        level = source.get(f"{TEXT}outline-level") or "0"
        depth = int(level) if level.isdigit() else 0
        style = source.get(f"{TEXT}style-name")
        if self._styles.is_title(style) and not depth:
            title = etree.SubElement(target, "h1", style=self._styles.css(style))
            self._children(source, title)
            return
        is_heading = source.tag == f"{TEXT}h" and depth > 0
        tag = f"h{min(MAX_LEVEL, depth)}" if is_heading else "p"
        paragraph = etree.SubElement(target, tag, style=self._styles.css(style))
        if is_heading:
            listed = self._label if self._label not in (None, BULLET) else None
            label = listed or (
                self._headings.label(depth) if depth in self._headings.levels else ""
            )
            self._label = None
            _add_text(paragraph, f"{label} " if label and label != BULLET else "")
        elif self._label is not None and (source.text or len(source)):
            self.marks[paragraph] = Mark("list_item", max(1, self._depth), self._label)
            self._label = None
        self._children(source, paragraph)
        for note in self._notes:
            target.append(note)
            for inner in note.iter("p"):
                self.marks[inner] = Mark("note")
        self._notes = []

    def _list(self, source: etree._Element, target: etree._Element) -> None:
        name = source.get(f"{TEXT}style-name")
        outer = self._counters
        if outer is None or (name and self._depth == 0):
            levels = self._styles.list_levels(name)
            goes_on = source.get(f"{TEXT}continue-numbering") == "true"
            known = self._lists.get(f"list {source.get(f'{TEXT}continue-list')}")
            if known is None and goes_on:
                known = self._lists.get(f"style {name}")
            self._counters = known or Counters(levels)
            self._lists[f"style {name}"] = self._counters
            if key := source.get(XML_ID):
                self._lists[f"list {key}"] = self._counters
        elif name:
            self._counters = Counters(self._styles.list_levels(name) or outer.levels, outer.counts)
        self._depth += 1
        for item in source:
            if item.tag == f"{TEXT}list-item" and self._counters is not None:
                start = item.get(f"{TEXT}start-value") or ""
                if start.isdigit():
                    self._counters.counts[self._depth] = int(start) - 1
                holds_list = len(item) > 0 and item[0].tag == f"{TEXT}list"
                self._label = None if holds_list else self._counters.label(self._depth)
            if isinstance(item.tag, str):
                self._children(item, target)
            self._label = None
        self._depth -= 1
        self._counters = outer

    def _cell(self, source: etree._Element, target: etree._Element) -> None:
        repeated = source.get(f"{TABLE}number-columns-repeated") or "1"
        for _ in range(min(int(repeated) if repeated.isdigit() else 1, MAX_REPEATS)):
            cell = etree.SubElement(
                target,
                "td",
                rowspan=source.get(f"{TABLE}number-rows-spanned") or "1",
                colspan=source.get(f"{TABLE}number-columns-spanned") or "1",
            )
            self._children(source, cell)


def _add_text(target: etree._Element, text: str | None) -> None:
    if not text:
        return
    if len(target):
        target[-1].tail = (target[-1].tail or "") + text
    else:
        target.text = (target.text or "") + text
