"""HTML: the words that a reader sees, with headings, tables and preformatted text told apart."""

from __future__ import annotations

import re

from lxml import etree
from lxml import html as lxml_html

from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, BlockKind, ParsedDocument, first_title
from retrieval.ingest.text import readable_text

_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_SPACES = re.compile(r"[ \t\n\u00a0]+")
HIDDEN = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "button", "nav", "head")
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BREAKS = HEADINGS.keys() | frozenset(
    (
        "p", "div", "section", "article", "main", "header", "footer", "aside", "ul", "ol", "dl", "dt", "dd", "li",
        "blockquote", "figure", "figcaption", "form", "fieldset", "address", "hr", "body", "details", "summary",
        "center", "pre", "table",
    )
)  # fmt: skip


def parse_html(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    root = html_tree(data)
    title = _SPACES.sub(" ", root.findtext(".//title") or "").strip()
    reader = _Reader()
    reader.read(root)
    return ParsedDocument(blocks=tuple(reader.blocks), title=title or first_title(reader.blocks))


def html_tree(data: bytes) -> lxml_html.HtmlElement:
    """In whatever encoding. Raises DocumentUnreadableError."""
    text = _XML_DECLARATION.sub("", readable_text(data, markup=True))
    parser = lxml_html.HTMLParser(huge_tree=True, remove_comments=True)
    try:
        root = lxml_html.document_fromstring(text, parser=parser)
    except (etree.ParserError, ValueError) as error:
        raise DocumentUnreadableError(worded("This HTML file holds no text.")) from error
    if any("depth" in entry.message for entry in parser.error_log):
        raise DocumentUnreadableError(worded("This HTML file nests its elements too deeply to be read."))
    return root


class _Reader:
    """Walks the tree without recursion (files nest deeply) and gathers inline text up to the next break."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._words: list[str] = []
        self._rows: list[str] = []
        self._cells: list[str] = []
        self._tables = self._preformatted = self._hidden = 0  # elements that are open

    def read(self, root: lxml_html.HtmlElement) -> None:
        for event, element in etree.iterwalk(root, events=("start", "end")):
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                self._start(tag)
                self._add(element.text)
            else:
                self._end(tag)
                self._add(element.tail)
        self._flush()

    def _start(self, tag: str) -> None:
        if tag in BREAKS:
            self._flush()
        self._hidden += tag in HIDDEN or not tag
        self._tables += tag == "table"
        self._preformatted += tag == "pre"
        if tag == "br":
            self._words.append("\n")

    def _end(self, tag: str) -> None:
        if tag in ("td", "th", "caption"):
            self._cells.append(self._take())
        elif tag in ("tr", "table"):
            self._end_row()
        elif tag in BREAKS:
            self._flush("heading" if tag in HEADINGS else "code" if tag == "pre" else "paragraph", HEADINGS.get(tag, 0))
        self._hidden -= tag in HIDDEN or not tag
        self._preformatted -= tag == "pre"
        self._tables -= tag == "table"
        if tag == "table" and not self._tables and self._rows:
            self.blocks.append(Block(text="\n".join(self._rows), kind="table"))
            self._rows.clear()

    def _add(self, text: str | None) -> None:
        if text and not self._hidden:
            self._words.append(text if self._preformatted else _SPACES.sub(" ", text))

    def _take(self) -> str:
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            return text.strip("\n")
        return "\n".join(line for part in text.split("\n") if (line := part.strip()))

    def _flush(self, kind: BlockKind = "paragraph", level: int = 0) -> None:
        if self._tables:  # blocks inside a cell stay one cell; its words are parted
            self._words.append(" ")
        elif text := self._take():
            label = _SPACES.sub(" ", text) if kind == "heading" else ""
            self.blocks.append(Block(text=label or text, kind=kind, level=level, label=label))

    def _end_row(self) -> None:
        self._cells.append(self._take())
        if row := " | ".join(_SPACES.sub(" ", cell).strip() for cell in self._cells if cell.strip()):
            self._rows.append(row)
        self._cells.clear()
