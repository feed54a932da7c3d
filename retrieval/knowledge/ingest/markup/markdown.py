"""Markdown: markdown-it-py distinguishes its blocks, and stay as they are written but for HTML and tables.

HTML in it goes through the reader of HTML, a table is a grid. Inline markup is read in headings alone, so that long
texts are read in the time of their lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import accumulate
from typing import Literal

from lxml.html import defs
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, table

from ragsite.core.text import strip_for_reading
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.statements import inline_text, row_cells
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title, table_block
from retrieval.knowledge.ingest.markup.front_matter import front_matter
from retrieval.knowledge.ingest.markup.html import BREAKS, SUPERSCRIPTS, read_html
from retrieval.knowledge.ingest.markup.trees import tree_of
from retrieval.knowledge.ingest.tables import TableRow, tables_of
from retrieval.knowledge.ingest.text import heading_level, readable_text

ELEMENTS = defs.tags | {"kbd", "mark", "picture", "source", "figure", "details", "summary"}
TITLE = "title"
ABSTRACTS = ("summary", "description")
Kind = Literal["heading", "text", "table", "code", "html"]
KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "text",
    "bullet_list_open": "text",
    "ordered_list_open": "text",
    "blockquote_open": "text",
    "table": "table",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
}
MAX_BRACKETS = 400  # of a block that is rendered: links in links take quadratic time
_TICKS = re.compile(r"`+")
_ENTITY = re.compile(r"&#?\w{1,20};")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]{0,20})(?=[\s/>])[^<>]{0,2000}>")
_RAISED = re.compile(r"<sup>([0-9+=()n-]{1,12})</sup>")
_STYLED = re.compile(r"<[A-Za-z][A-Za-z0-9-]{0,20}\s[^<>]{0,2000}?\b(?:hidden|style)\b")
_MARKUP = frozenset("*_`[]\\#|~")  # what an entity keeps from being markup
HARD_BREAK = "  \n"


def parse_markdown(data: bytes) -> ParsedDocument:
    """The fields of its front matter come first; a title among them is the document's.

    Raises DocumentUnreadableError.
    """
    fields, text = front_matter(readable_text(data, markup=False))
    title = fields.pop(TITLE, "")
    about = [Block(text=fields.pop(name)) for name in ABSTRACTS if name in fields]
    if fields:
        about.append(Block(text="\n".join(f"- {name}: {value}" for name, value in fields.items())))
    blocks = tuple(about + list(_blocks(text)))
    return ParsedDocument(blocks=blocks, title=title or first_title(blocks))


def _blocks(text: str) -> Iterator[Block]:
    for block in document_blocks(text):
        source = text[block.start : block.end]
        if block.kind == "code":
            yield Block(text=source, kind="code")
            continue
        if block.kind == "html" or (_STYLED.search(source) and source.count("[") <= MAX_BRACKETS):
            yield from _html_blocks(source if block.kind == "html" else _renderer.render(source))
            continue
        if block.kind == "table":
            yield from map(table_block, tables_of(_rows(source)))
            continue
        source = as_seen(source).rstrip()
        plain = source.strip()
        if block.kind == "heading":
            yield Block(text=plain, kind="heading", level=block.level, label=as_seen(block.label))
        elif "\n" not in source and (level := heading_level(source)):
            yield Block(text=plain, kind="heading", level=level, label=plain)
        elif plain:
            yield Block(text=source)


def _html_blocks(html: str) -> list[Block]:
    try:
        blocks, _ = read_html(tree_of(f"<body>{html}</body>"))
    except DocumentUnreadableError:  # comments, or nothing
        return []
    return blocks


def _rows(source: str) -> list[TableRow]:
    """Of a Markdown table: a head, the line below it, and rows as long as the head."""
    lines = source.split("\n")
    head = row_cells(lines[0])
    rows: list[TableRow] = []
    for line in (lines[0], *lines[2:]):
        cells = [" ".join(as_seen(cell).split()) for cell in row_cells(line)][: len(head)]
        if any(cells):
            rows.append(TableRow((*cells, *[""] * (len(head) - len(cells))), is_head=not rows))
    return rows


# ------------------------------------------------------------------------------------------------ as it is seen
def as_seen(source: str) -> str:
    """Markdown without the HTML in it, and with entities as their characters; code as it is written."""
    if "<" not in source and "&" not in source:
        return source
    return "".join(piece if is_code else _plain(piece) for piece, is_code in _by_code(source))


def _by_code(source: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and which of them are code between backticks."""
    runs = list(_TICKS.finditer(source))
    last = {len(run[0]): at for at, run in enumerate(runs)}  # length → the last run that has it
    start = at = 0
    while at < len(runs):
        run = runs[at]
        length = len(run[0])
        if last[length] == at:
            at += 1
            continue
        closing = next(
            other for other in range(at + 1, last[length] + 1) if len(runs[other][0]) == length
        )
        yield source[start : run.start()], False
        yield source[run.start() : runs[closing].end()], True
        start = runs[closing].end()
        at = closing + 1
    yield source[start:], False


def _plain(text: str) -> str:
    text = _RAISED.sub(lambda match: match[1].translate(SUPERSCRIPTS), _without_comments(text))
    return _ENTITY.sub(_character, _TAG.sub(_by_tag, text))


def _by_tag(tag: re.Match[str]) -> str:
    """What stands in the place of a tag: a line's end for blocks and breaks. What is no element of HTML stays."""
    name = tag[2].lower()
    if name == "br" or name in BREAKS:
        return HARD_BREAK
    if name == "kbd" and tag[1] and tag.string.startswith("<kbd", tag.end()):
        return " "
    return "" if name in ELEMENTS else tag[0]


def _character(entity: re.Match[str]) -> str:
    """Nothing for `&shy;` and its kin, which are not seen."""
    character = unescape(entity[0])
    if not strip_for_reading(character):
        return ""
    return (
        entity[0]
        if character in _MARKUP or len(character) > 2
        else character.replace("\u00a0", " ")
    )


def _without_comments(text: str) -> str:
    first, *others = text.split("<!--")
    return first + "".join(
        other.partition("-->")[2] if "-->" in other else "<!--" + other for other in others
    )


# ------------------------------------------------------------------------------------------------ blocks
@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """`text[start:end]`: whole lines. Of a heading its level, 1–6, and its words without markup."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    label: str = ""


def document_blocks(text: str) -> list[MarkdownBlock]:
    """Those of the outermost level, in order: a list is one block, with all that stands in it. text: with Unix line
    ends.

    Rules (`---`) and link definitions are left out.
    """
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    tokens = _parser.parse(text)
    blocks = list[MarkdownBlock]()
    for at, token in enumerate(tokens):
        if token.level == 0 and token.map is not None and token.type in KINDS:
            first, last = token.map
            end = starts[first] + len(text[starts[first] : starts[last]].rstrip())
            is_heading = token.type == "heading_open"
            level, label = (
                (int(token.tag[1:]), inline_text(tokens[at + 1].content)) if is_heading else (0, "")
            )
            blocks.append(MarkdownBlock(KINDS[token.type], starts[first], end, level, label))
    return [block for block in blocks if block.start < block.end]


# ------------------------------------------------------------------------------------------------ the parser
def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's table, as one token: it makes one of each cell, and of those that short rows lack, up to 65,536
    of 2 kB of text. A row holds a `|`: text that follows at once is no row."""
    if not table(state, start, end, True):
        return False
    if silent:
        return True
    token = state.push("table", "table", 0)
    line = start + 2
    while line < end and not _ends_table(state, line, end):
        line += 1
    token.map = [start, line]
    state.line = line
    return True


def _ends_table(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line):
        return True
    if "|" not in state.src[state.bMarks[line] : state.eMarks[line]]:
        return True
    return any(rule(state, line, end, True) for rule in state.md.block.ruler.getRules("blockquote"))


def _closed_quotation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's quotation without what stands in it: to look for blocks in it takes a pass over all its lines for
    each quotation in a quotation."""
    level = state.level
    at = len(state.tokens)
    state.level = state.md.options.maxNesting
    try:
        is_quotation = blockquote(state, start, end, silent)
    finally:
        state.level = level
    if is_quotation and not silent:
        state.tokens[at].level = level
    return is_quotation


def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at(
        "blockquote", _closed_quotation, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return parser.enable("table").disable("inline")


_parser = _block_parser()
_renderer = MarkdownIt("commonmark")
