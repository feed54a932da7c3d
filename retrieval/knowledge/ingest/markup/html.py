"""HTML: what a reader sees, as blocks. Word documents, e-mails, books and the HTML in Markdown come through here, too.

What styles hide is left out (`visibility`), but for what a button, a tab or a summary opens: it stands under these as
under a heading. A table for layout is read through; any other one is a grid, and one in a cell is read within that
cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lxml import etree
from lxml import html as lxml_html

from ragsite.core.messages import Sentence
from retrieval.engine.text.statements import NAME_END
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import (
    Block,
    BlockKind,
    ParsedDocument,
    first_title,
    table_block,
)
from retrieval.knowledge.ingest.markup.elements import input_text, is_after, is_large, is_note
from retrieval.knowledge.ingest.markup.layout import OpenRow, OpenTable, cell_text, is_layout
from retrieval.knowledge.ingest.markup.lists import BULLET, OpenList, list_of
from retrieval.knowledge.ingest.markup.opened import HEADINGS, SPACES, opened_by
from retrieval.knowledge.ingest.markup.trees import html_tree
from retrieval.knowledge.ingest.markup.visibility import ElementVisibility, Look, is_hidden, look_of

# Nothing of these is shown as text, or it is no part of what the page says.
SKIPPED = frozenset(
    (
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "title",
        "datalist",
        "annotation",
        "annotation-xml",
        "rp",
        "video",
        "audio",
        "map",
        "colgroup",
    )
)
BREAKS = HEADINGS.keys() | frozenset(
    (
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "aside",
        "ul",
        "ol",
        "menu",
        "dl",
        "dt",
        "dd",
        "li",
        "blockquote",
        "figure",
        "figcaption",
        "form",
        "fieldset",
        "legend",
        "address",
        "hr",
        "body",
        "details",
        "summary",
        "center",
        "pre",
        "table",
        "caption",
        "tr",
        "td",
        "th",
        "dialog",
        "hgroup",
        "search",
    )
)
SUPERSCRIPTS = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
RAISED = frozenset("0123456789+-=()n")
BEFORE = {"mfrac": "", "msqrt": "√", "q": "“", "del": "~~", "s": "~~", "strike": "~~", "rt": "("}
AFTER = {"mfrac": " ", "q": "”", "del": "~~", "s": "~~", "strike": "~~", "rt": ")"}
BETWEEN = {
    "mfrac": "/",
    "msup": "^",
    "msub": "_",
    "munder": "_",
    "mover": "^",
    "msubsup": " ",
}  # of two children
MAX_LEVEL = 6


def parse_html(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    root = html_tree(data)
    title = SPACES.sub(" ", root.findtext(".//title") or "").strip()
    blocks, missing = read_html(root)
    return ParsedDocument(blocks=tuple(blocks), title=title or first_title(blocks), unread=missing)


@dataclass(frozen=True, slots=True)
class Mark:
    """What an element is, where its own program knows better. level, label: of a list item."""

    kind: Literal["list_item", "note"]
    level: int = 0
    label: str = ""


def read_html(
    root: lxml_html.HtmlElement,
    *,
    marks: Mapping[etree._Element, Mark] | None = None,
    has_layout_tables: bool = True,
) -> tuple[list[Block], tuple[Sentence, ...]]:
    """The blocks, and what was not read. has_layout_tables: tables may only place what stands in them."""
    reader = _Reader(root, marks or {}, has_layout_tables=has_layout_tables)
    reader.read()
    told = []
    if reader.missing["picture"]:
        told.append(unread.pictures(reader.missing["picture"]))
    if reader.missing["drawing"]:
        told.append(unread.drawings(reader.missing["drawing"]))
    return reader.blocks, tuple(told)


class _Reader:
    """Walks the tree without recursion (files nest deeply) and gathers inline text up to the next break."""

    def __init__(
        self,
        root: lxml_html.HtmlElement,
        marks: Mapping[etree._Element, Mark],
        *,
        has_layout_tables: bool,
    ) -> None:
        self.blocks: list[Block] = []
        self.missing: Counter[str] = Counter()
        self._root = root
        self._marks = marks
        self._has_layout_tables = has_layout_tables
        self._visibility = ElementVisibility(root)
        self._looks: list[Look] = [self._visibility.first]
        self._opened = opened_by(root)
        self._words: list[str] = []
        self._level = 0  # of the last heading that is one
        self._lists: list[OpenList] = []
        self._label = ""  # of a list item that has no text yet
        self._depth = 1
        self._terms: list[str] = []  # that are defined next, or were last
        self._defines = False  # the next text explains them
        self._is_defined = False
        self._tables: list[OpenTable | None] = []  # None: of one for layout
        self._preformatted = 0
        self._notes = 0  # open ones
        self._raised: list[int] = []  # where the words of open superscripts begin

    def read(self) -> None:
        walker = etree.iterwalk(self._root, events=("start", "end"))
        skipped: etree._Element | None = None
        for event, element in walker:
            if event == "start":
                if self._is_skipped(element):
                    walker.skip_subtree()
                    skipped = element
                    continue
                self._start(element)
                self._add(element.text)
            else:
                if element is skipped:
                    skipped = None
                else:
                    self._end(element)
                self._add(element.tail)
        self._flush()

    # -------------------------------------------------------------------------------------------- what is seen
    def _is_skipped(self, element: etree._Element) -> bool:
        """With all that is in it. Otherwise, its look is the one that counts from here on."""
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in SKIPPED:
            return True
        styles = self._visibility.styles(element)
        opener = self._opened.headings.get(element)
        if opener is None and is_hidden(element, styles):
            return True
        if self._replaced(element, tag):
            return True
        self._looks.append(look_of(styles, self._looks[-1]))
        if opener:
            self._flush()
            self._append(
                Block(
                    text=opener,
                    kind="heading",
                    level=min(MAX_LEVEL, max(2, self._level + 1)),
                    label=opener,
                )
            )
        return False

    def _replaced(self, element: etree._Element, tag: str) -> bool:
        """Elements that show something else than their text."""
        match tag:
            case "img" | "canvas":
                self.missing["picture"] += is_large(element)
            case "iframe" | "object" | "embed":
                self.missing["drawing"] += 1
            case "input":
                self._words.append(input_text(element))
            case "select":
                chosen = next(
                    (
                        option
                        for option in element.iter("option")
                        if option.get("selected") is not None
                    ),
                    None,
                )
                self._words.append("" if chosen is None else f" {chosen.text_content()} ")
            case "svg":
                self._add_drawing(element)
            case _:
                is_button = tag == "button" and element.getparent().tag not in HEADINGS
                return is_button or element in self._opened.openers
        return True

    def _add_drawing(self, element: etree._Element) -> None:
        """Of a drawing in the page, what is written in it."""
        texts = [SPACES.sub(" ", text.text_content()).strip() for text in element.iter("text")]
        if any(texts):
            self._flush()
            self._append(Block(text="\n".join(filter(None, texts))))
        else:
            self.missing["drawing"] += is_large(element)

    # -------------------------------------------------------------------------------------------- elements
    def _start(self, element: etree._Element) -> None:
        tag = element.tag
        if tag == "dt" and element.getparent().tag == "dt":  # libxml2 does not close the one before
            self._terms += [self._take()]
        if tag in BREAKS:
            self._flush()
        if (mark := self._marks.get(element)) and mark.kind == "list_item":
            self._label = mark.label
            self._depth = mark.level
        match tag:
            case "table":
                is_read_through = self._has_layout_tables and is_layout(element)
                self._tables.append(None if is_read_through else OpenTable(self.blocks))
            case "thead" if table := self._table:
                table.is_in_head = True
            case "tr" if table := self._table:
                table.rows.append(OpenRow(is_in_head=table.is_in_head))
            case "td" | "th" | "caption" if self._table:
                self.blocks = []
            case "ul" | "menu" | "dir":
                self._lists.append(OpenList(""))
            case "ol":
                self._lists.append(list_of(element, self._visibility.styles(element)))
            case "li":
                self._label = self._lists[-1].label(element.get("value")) if self._lists else BULLET
                self._depth = max(1, len(self._lists))
            case "dt":
                if not is_after(element, "dt"):
                    self._end_terms()
            case "dd":
                self._defines = True
            case "pre":
                self._preformatted += 1
            case "sup":
                self._raised.append(len(self._words))
            case "aside":
                self._notes += is_note(element)
            case "br":
                self._words.append("\n")
            case "kbd" if is_after(element, "kbd"):
                self._words.append(" ")
        self._words.append(BEFORE.get(tag, ""))

    def _end(self, element: etree._Element) -> None:
        tag = element.tag
        self._words.append(AFTER.get(tag, ""))
        self._end_text(element)
        match tag:
            case "table":
                table = self._tables.pop() if self._tables else None
                if table is not None:
                    self.blocks = table.outside
                    for part in table.tables():
                        self._append(table_block(part))
            case "thead" if table := self._table:
                table.is_in_head = False
            case "td" | "th" | "caption" if table := self._table:
                self._end_cell(element, table)
            case "ul" | "ol" | "menu" | "dir" if self._lists:
                self._lists.pop()
                self._label = ""
            case "li":
                self._label = ""
            case "dl":
                self._end_terms()
            case "pre":
                self._preformatted -= 1
            case "sup":
                self._raise_words()
            case "aside":
                self._notes -= is_note(element)
        parent = element.getparent()
        if parent is not None and parent.tag in BETWEEN and element.getnext() is not None:
            self._words.append(BETWEEN[parent.tag])
        self._looks.pop()

    def _end_text(self, element: etree._Element) -> None:
        """Of a heading, a term or a block, the text up to its end."""
        tag = element.tag
        if tag in HEADINGS:
            self._level = HEADINGS[tag]
            self._flush("heading", HEADINGS[tag])
        elif tag == "dt":
            if term := self._take():
                self._terms.append(term)
            self._defines = False
        elif tag == "pre":
            self._flush("code")
        elif tag in BREAKS:
            mark = self._marks.get(element)
            is_note_mark = mark is not None and mark.kind == "note"
            self._flush("note" if self._notes > 0 or is_note_mark else "paragraph")

    @property
    def _table(self) -> OpenTable | None:
        return self._tables[-1] if self._tables else None

    def _end_cell(self, element: etree._Element, table: OpenTable) -> None:
        blocks = self.blocks
        self.blocks = table.outside
        if element.tag == "caption":
            table.caption = cell_text(blocks)
        else:
            table.add_cell(element, blocks)

    def _raise_words(self) -> None:
        """Figures in superscript: 10⁶ is not 106."""
        start = self._raised.pop()
        raised = "".join(self._words[start:]).strip()
        if raised and all(character in RAISED for character in raised):
            self._words[start:] = [raised.translate(SUPERSCRIPTS)]

    # -------------------------------------------------------------------------------------------- text
    def _add(self, text: str | None) -> None:
        if text and self._looks[-1].is_seen:
            self._words.append(text if self._preformatted else SPACES.sub(" ", text))

    def _take(self) -> str:
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            return text.strip("\n")
        lines = (SPACES.sub(" ", part).strip() for part in text.split("\n"))
        return "\n".join(filter(None, lines))

    def _flush(self, kind: BlockKind = "paragraph", level: int = 0) -> None:
        text = self._take()
        if not text.strip():
            return
        if kind == "heading":
            label = SPACES.sub(" ", text)
            self._append(Block(text=label, kind=kind, level=level, label=label))
            return
        if self._defines and any(self._terms):
            text = f"{' / '.join(filter(None, self._terms))}{NAME_END}{text}"
            self._is_defined = True
        self._defines = False
        if self._label and kind == "paragraph":
            label = self._label
            self._label = ""
            self._append(
                Block(text=f"{label} {text}", kind="list_item", level=self._depth, label=label)
            )
        else:
            self._append(Block(text=text, kind=kind))

    def _append(self, block: Block) -> None:
        self.blocks.append(block)

    def _end_terms(self) -> None:
        """Terms that nothing explains stand by themselves."""
        for term in filter(None, () if self._is_defined else self._terms):
            self._append(Block(text=term))
        self._terms = []
        self._defines = self._is_defined = False
