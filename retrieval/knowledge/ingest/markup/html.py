"""HTML: what a reader sees, as blocks. Word documents, e-mails, books and the HTML in Markdown come through here, too.

What styles hide is left out (`visibility`), but for what a button, a tab or a summary opens: it stands under these as
under a heading. A table for layout is read through; any other one is a grid, and one in a cell is told in that cell.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lxml import etree
from lxml import html as lxml_html

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.statements import NAME_END
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import Block, BlockKind, ParsedDocument, Table, first_title, table_block
from retrieval.knowledge.ingest.markup.visibility import Look, Visibility, is_hidden, look_of
from retrieval.knowledge.ingest.numbering import list_number
from retrieval.knowledge.ingest.tables import CAPTION_JOIN, Row, SpannedCell, grid_of, tables_of
from retrieval.knowledge.ingest.text import readable_text

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_SPACES = re.compile(r"[ \t\n\r\f\u00a0]+")
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
HEADINGS = {f"h{level}": level for level in range(1, 7)}
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
OPENED = ("div", "section", "article", "p", "ul", "ol", "dl", "table", "blockquote", "dd")
OPENS = ("aria-expanded", "aria-controls", "data-bs-toggle", "data-toggle", "data-bs-target", "data-target")
TICKS = {True: "☑ ", False: "☐ "}
SHOWN_INPUTS = (
    "text",
    "email",
    "tel",
    "url",
    "number",
    "date",
    "time",
    "search",
    "month",
    "week",
    "datetime-local",
    "",
)
SUPERSCRIPTS = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
RAISED = frozenset("0123456789+-=()n")
BEFORE = {"mfrac": "", "msqrt": "√", "q": "“", "del": "~~", "s": "~~", "strike": "~~", "rt": "("}
AFTER = {"mfrac": " ", "q": "”", "del": "~~", "s": "~~", "strike": "~~", "rt": ")"}
BETWEEN = {"mfrac": "/", "msup": "^", "msub": "_", "munder": "_", "mover": "^", "msubsup": " "}  # of two children
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
MAX_LEVEL = 6
LAYOUT_CELL_CHARS = 600  # a cell with more is a part of the page, not of a table
MAX_NESTED_CHARS = 400  # of a table in a cell that is told there; a longer one follows its table
MAX_ICON_PX = 24
MAX_FORM_ROWS = 40  # of names beside their values


def parse_html(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    root = html_tree(data)
    title = _SPACES.sub(" ", root.findtext(".//title") or "").strip()
    blocks, missing = read_html(root)
    return ParsedDocument(blocks=tuple(blocks), title=title or first_title(blocks), unread=missing)


def html_tree(data: bytes) -> lxml_html.HtmlElement:
    """In whatever encoding. Raises DocumentUnreadableError."""
    return tree_of(readable_text(data, markup=True))


def tree_of(text: str) -> lxml_html.HtmlElement:
    """An empty one of a text without any element or word. Raises DocumentUnreadableError."""
    parser = lxml_html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(_XML_DECLARATION.sub("", text), parser=parser)
    except etree.ParserError:
        return lxml_html.document_fromstring("<body></body>")
    if any("depth" in entry.message for entry in parser.error_log):
        raise DocumentUnreadableError(worded("This HTML file nests its elements too deeply to be read."))
    return root


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


# ------------------------------------------------------------------------------------------------ what is open
@dataclass(slots=True)
class _List:
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


@dataclass(slots=True)
class _OpenRow:
    cells: list[SpannedCell] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    is_in_head: bool = False

    @property
    def is_head(self) -> bool:
        return self.is_in_head or set(self.tags) == {"th"}


@dataclass(slots=True)
class _OpenTable:
    """outside: the blocks around it, while a cell's are gathered. nested: a name, and the large table in its cell."""

    outside: list[Block]
    rows: list[_OpenRow] = field(default_factory=list)
    caption: str = ""
    is_in_head: bool = False
    nested: list[tuple[str, Table]] = field(default_factory=list)


class _Reader:
    """Walks the tree without recursion (files nest deeply) and gathers inline text up to the next break."""

    def __init__(
        self, root: lxml_html.HtmlElement, marks: Mapping[etree._Element, Mark], *, has_layout_tables: bool
    ) -> None:
        self.blocks: list[Block] = []
        self.missing: Counter[str] = Counter()
        self._root = root
        self._marks = marks
        self._has_layout_tables = has_layout_tables
        self._visibility = Visibility(root)
        self._looks: list[Look] = [self._visibility.first]
        self._opened = _opened(root)
        self._words: list[str] = []
        self._level = 0  # of the last heading that is one
        self._lists: list[_List] = []
        self._label = ""  # of a list item that has no text yet
        self._depth = 1
        self._terms: list[str] = []  # that are defined next, or were last
        self._defines = False  # the next text explains them
        self._is_defined = False
        self._tables: list[_OpenTable | None] = []  # None: of one for layout
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
                Block(text=opener, kind="heading", level=min(MAX_LEVEL, max(2, self._level + 1)), label=opener)
            )
        return False

    def _replaced(self, element: etree._Element, tag: str) -> bool:
        """Elements that show something else than their text."""
        match tag:
            case "img" | "canvas":
                self.missing["picture"] += _is_large(element)
            case "iframe" | "object" | "embed":
                self.missing["drawing"] += 1
            case "input":
                self._words.append(_input_text(element))
            case "select":
                chosen = next((option for option in element.iter("option") if option.get("selected") is not None), None)
                self._words.append("" if chosen is None else f" {chosen.text_content()} ")
            case "svg":
                self._add_drawing(element)
            case _:
                is_button = tag == "button" and element.getparent().tag not in HEADINGS
                return is_button or element in self._opened.openers
        return True

    def _add_drawing(self, element: etree._Element) -> None:
        """Of a drawing in the page, what is written in it."""
        texts = [_SPACES.sub(" ", text.text_content()).strip() for text in element.iter("text")]
        if any(texts):
            self._flush()
            self._append(Block(text="\n".join(filter(None, texts))))
        else:
            self.missing["drawing"] += _is_large(element)

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
                is_layout = self._has_layout_tables and _is_layout(element)
                self._tables.append(None if is_layout else _OpenTable(self.blocks))
            case "thead" if table := self._table:
                table.is_in_head = True
            case "tr" if table := self._table:
                table.rows.append(_OpenRow(is_in_head=table.is_in_head))
            case "td" | "th" | "caption" if self._table:
                self.blocks = []
            case "ul" | "menu" | "dir":
                self._lists.append(_List(""))
            case "ol":
                self._lists.append(_list_of(element, self._visibility.styles(element)))
            case "li":
                self._label = self._lists[-1].label(element.get("value")) if self._lists else BULLET
                self._depth = max(1, len(self._lists))
            case "dt":
                if not _is_after(element, "dt"):
                    self._end_terms()
            case "dd":
                self._defines = True
            case "pre":
                self._preformatted += 1
            case "sup":
                self._raised.append(len(self._words))
            case "aside":
                self._notes += _is_note(element)
            case "br":
                self._words.append("\n")
            case "kbd" if _is_after(element, "kbd"):
                self._words.append(" ")
        self._words.append(BEFORE.get(tag, ""))

    def _end(self, element: etree._Element) -> None:
        tag = element.tag
        self._words.append(AFTER.get(tag, ""))
        if tag in HEADINGS:
            self._level = HEADINGS[tag]
            self._flush("heading", HEADINGS[tag])
        elif tag == "dt":
            if term := self._take():
                self._terms.append(term)
            self._defines = False
        elif tag in BREAKS:
            mark = self._marks.get(element)
            is_note = self._notes > 0 or (mark is not None and mark.kind == "note")
            self._flush("code" if tag == "pre" else "note" if is_note else "paragraph")
        match tag:
            case "table":
                table = self._tables.pop() if self._tables else None
                if table is not None:
                    self.blocks = table.outside
                    self._add_tables(table)
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
                self._notes -= _is_note(element)
        parent = element.getparent()
        if parent is not None and parent.tag in BETWEEN and element.getnext() is not None:
            self._words.append(BETWEEN[parent.tag])
        self._looks.pop()

    @property
    def _table(self) -> _OpenTable | None:
        return self._tables[-1] if self._tables else None

    def _end_cell(self, element: etree._Element, table: _OpenTable) -> None:
        blocks = self.blocks
        self.blocks = table.outside
        if element.tag == "caption":
            table.caption = _cell_text(blocks)
            return
        if not table.rows:
            table.rows.append(_OpenRow())
        row = table.rows[-1]
        name = row.cells[0].text if row.cells else ""
        large = [block for block in blocks if block.table is not None and len(block.text) > MAX_NESTED_CHARS]
        table.nested += [(name, block.table) for block in large if block.table is not None]
        text = _cell_text([block for block in blocks if block not in large])
        row.cells.append(SpannedCell(text, _span(element, "rowspan"), _span(element, "colspan")))
        row.tags.append(element.tag)

    def _add_tables(self, table: _OpenTable) -> None:
        rows = [row for row in table.rows if row.cells]
        grid = grid_of([row.cells for row in rows])
        if all(row.is_head for row in rows):
            heads = [False] * len(rows)
        else:
            heads = [row.is_head for row in rows]
        grid = [
            line._replace(is_head=is_head and not line.is_section) for line, is_head in zip(grid, heads, strict=True)
        ]
        if len(grid) <= MAX_FORM_ROWS and rows and all(row.tags == ["th", "td"] for row in rows):
            names, values = zip(*(line.cells for line in grid), strict=True)
            grid = [Row(names, is_head=True), Row(values)]
        tables = tables_of(grid, caption=table.caption, expects_head=False)
        for name, nested in table.nested:
            caption = CAPTION_JOIN.join(filter(None, [name, nested.caption]))
            tables.append(replace(nested, caption=caption))
        for part in tables:
            self._append(table_block(part))

    def _raise_words(self) -> None:
        """Figures in superscript: 10⁶ is not 106."""
        start = self._raised.pop()
        raised = "".join(self._words[start:]).strip()
        if raised and all(character in RAISED for character in raised):
            self._words[start:] = [raised.translate(SUPERSCRIPTS)]

    # -------------------------------------------------------------------------------------------- text
    def _add(self, text: str | None) -> None:
        if text and self._looks[-1].is_seen:
            self._words.append(text if self._preformatted else _SPACES.sub(" ", text))

    def _take(self) -> str:
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            return text.strip("\n")
        lines = (_SPACES.sub(" ", part).strip() for part in text.split("\n"))
        return "\n".join(filter(None, lines))

    def _flush(self, kind: BlockKind = "paragraph", level: int = 0) -> None:
        text = self._take()
        if not text.strip():
            return
        if kind == "heading":
            label = _SPACES.sub(" ", text)
            self._append(Block(text=label, kind=kind, level=level, label=label))
            return
        if self._defines and any(self._terms):
            text = f"{' / '.join(filter(None, self._terms))}{NAME_END}{text}"
            self._is_defined = True
        self._defines = False
        if self._label and kind == "paragraph":
            label = self._label
            self._label = ""
            self._append(Block(text=f"{label} {text}", kind="list_item", level=self._depth, label=label))
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


# ------------------------------------------------------------------------------------------------ cells
def _cell_text(blocks: Sequence[Block]) -> str:
    """On one line; a table in the cell as its rows, parted by " / "."""
    return " ".join(_inner_table(block.table) if block.table else " ".join(block.text.split()) for block in blocks)


def _inner_table(table: Table) -> str:
    columns = table.columns or ("",) * len(table.rows[0])
    rows = []
    for row in table.rows[table.head_rows :]:
        cells = [f"{name}{NAME_END}{cell}" if name else cell for name, cell in zip(columns, row, strict=True) if cell]
        rows.append(", ".join(cells))
    return " / ".join(filter(None, [table.caption, *rows]))


def _span(element: etree._Element, name: str) -> int:
    value = element.get(name) or "1"
    return max(1, int(value)) if value.isascii() and value.isdigit() and len(value) < 8 else 1


def _is_layout(table: etree._Element) -> bool:
    """Whether it only places what stands in its cells."""
    if table.get("role") in ("presentation", "none"):
        return True
    rows = [row for part in table for row in (part if part.tag in ("tbody", "thead", "tfoot") else [part])]
    if any(part.tag in ("caption", "thead") for part in table):
        return False
    cells = [cell for row in rows if row.tag == "tr" for cell in row if cell.tag in ("td", "th")]
    if any(cell.tag == "th" for cell in cells):
        return False
    if len(cells) < 2:
        return True
    return any(
        next(cell.iter("table", *HEADINGS), None) is not None or len(cell.text_content()) > LAYOUT_CELL_CHARS
        for cell in cells
    )


# ------------------------------------------------------------------------------------------------ what opens
@dataclass(slots=True)
class _Opened:
    """headings: what is opened, by the text of its button, "" where that stands in a heading itself. openers: what is
    shown as such a heading instead of where it stands."""

    headings: dict[etree._Element, str] = field(default_factory=dict)
    openers: set[etree._Element] = field(default_factory=set)


def _opened(root: etree._Element) -> _Opened:
    """What buttons, tabs and summaries open."""
    opened = _Opened()
    by_id = {element.get("id"): element for element in root.iter(etree.Element) if element.get("id")}
    for element in root.iter(etree.Element):
        is_summary = element.tag == "summary" and element.getparent().tag == "details"
        is_button = element.tag == "button" or element.get("role") in ("button", "tab")
        if not is_summary and not is_button and not any(element.get(name) for name in OPENS):
            continue
        target = element.getparent() if is_summary else _target(element, by_id)
        if target is None or target in opened.headings or target is element:
            continue
        is_in_heading = any(parent.tag in HEADINGS for parent in itertools.islice(element.iterancestors(), 3))
        text = _SPACES.sub(" ", element.text_content()).strip()
        opened.headings[target] = "" if is_in_heading and not is_summary else text
        if not is_in_heading or is_summary:
            opened.openers.add(element)
    return opened


def _target(element: etree._Element, by_id: dict[str, etree._Element]) -> etree._Element | None:
    for name in ("aria-controls", "data-bs-target", "data-target", "href"):
        reference = (element.get(name) or "").removeprefix("#")
        if reference in by_id:
            return by_id[reference]
    here = element
    for _ in range(3):  # it may be wrapped up, in a heading for one
        following = here.getnext()
        if following is not None:
            is_text = following.tag in OPENED and bool(following.text_content().strip())
            return following if is_text else None
        parent = here.getparent()
        if parent is None or parent.tag in ("form", "body") or len(parent) > 1 or (parent.text or "").strip():
            return None
        here = parent
    return None


# ------------------------------------------------------------------------------------------------ elements
def _list_of(element: etree._Element, styles: Mapping[str, str]) -> _List:
    """styles: its own, which say more than its attributes."""
    styled = [LIST_STYLES[word] for word in _list_style(styles).split() if word in LIST_STYLES]
    if "" in styled:  # its items are written with their labels, or have none
        return _List("")
    start = element.get("start") or ""
    is_reversed = element.get("reversed") is not None
    items = sum(child.tag == "li" for child in element)
    number = int(start) if start.lstrip("-").isdigit() and len(start) < 10 else items if is_reversed else 1
    label_type = next(iter(styled), element.get("type") or "1")
    return _List(label_type if label_type in LIST_TYPES else "1", number, -1 if is_reversed else 1)


def _list_style(styles: Mapping[str, str]) -> str:
    return styles.get("list-style-type") or styles.get("list-style") or ""


def _input_text(element: etree._Element) -> str:
    """What a field of a form shows."""
    kind = (element.get("type") or "").lower()
    if kind in ("checkbox", "radio"):
        return TICKS[element.get("checked") is not None]
    return f" {element.get('value') or ''} " if kind in SHOWN_INPUTS else ""


def _is_note(element: etree._Element) -> bool:
    roles = f"{element.get('role') or ''} {element.get('epub:type') or ''}"
    return "footnote" in roles or "endnote" in roles


def _is_after(element: etree._Element, tag: str) -> bool:
    previous = element.getprevious()
    return previous is not None and previous.tag == tag and not (previous.tail or "").strip()


def _is_large(element: etree._Element) -> bool:
    """Whether a picture is no spacer or icon that says nothing."""
    sizes = [element.get(name) or "" for name in ("width", "height")]
    is_icon = any(size.isdigit() and int(size) <= MAX_ICON_PX for size in sizes)
    return not is_icon and element.get("aria-hidden") != "true" and element.get("role") != "presentation"
