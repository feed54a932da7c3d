"""Markdown, kept as it is written: only the blocks are told apart, by markdown-it-py.

Places are offsets into the text as it was given. Inline markup is read in headings alone, so long texts are read in the
time of their lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import accumulate
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, table

from ragsite.core.text import strip_for_reading
from retrieval.engine.text.statements import inline_text
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.knowledge.ingest.text import heading_level, readable_text

FENCE = "---"  # before and after the front matter
TITLE, ABSTRACTS = "title", ("summary", "description")
Kind = Literal["heading", "text", "table", "code", "html"]
KINDS: dict[str, Kind] = {
    "heading_open": "heading", "paragraph_open": "text", "bullet_list_open": "text", "ordered_list_open": "text",
    "blockquote_open": "text", "table": "table", "fence": "code", "code_block": "code", "html_block": "html",
}  # fmt: skip
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_ENTITY = re.compile(r"&#?\w{1,20};")


def parse_markdown(data: bytes) -> ParsedDocument:
    """Front matter gives title and summary. Raises DocumentUnreadableError."""
    fields, text = front_matter(readable_text(data, markup=False))
    about = [Block(text=fields[name]) for name in ABSTRACTS if name in fields]
    blocks = tuple(about + [_without_unseen_entities(block) for block in _blocks(text)])
    return ParsedDocument(blocks=blocks, title=fields.get(TITLE) or first_title(blocks))


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Title and abstracts out of a YAML head, and the text after it; ({}, text) where there is none."""
    head, end, rest = text.removeprefix(FENCE).partition(f"\n{FENCE}\n")
    if not text.startswith(f"{FENCE}\n") or not end:
        return {}, text
    pairs = (line.partition(":")[::2] for line in head.split("\n"))
    fields = {name.strip(): value.strip().strip("\"'") for name, value in pairs}
    return {name: value for name, value in fields.items() if value and name in (TITLE, *ABSTRACTS)}, rest


def _blocks(text: str) -> Iterator[Block]:
    for block in document_blocks(text):
        source = text[block.start : block.end]
        plain = source.strip()
        if block.kind == "heading":
            yield Block(text=plain, kind="heading", level=block.level, label=block.label)
        elif block.kind == "html":
            if words := without_tags(source).strip():
                yield Block(text=words)
        elif block.kind in ("code", "table"):
            yield Block(text=source, kind="code" if block.kind == "code" else "table")
        elif "\n" not in source and (level := heading_level(source)):
            yield Block(text=plain, kind="heading", level=level, label=plain)
        elif plain:
            yield Block(text=source.rstrip())


def _without_unseen_entities(block: Block) -> Block:
    """Without `&shy;` and its kin, which a viewer of Markdown shows nothing of; code is shown as it is written."""
    if block.kind == "code" or "&" not in block.text:
        return block
    return replace(block, text=_ENTITY.sub(_seen, block.text), label=_ENTITY.sub(_seen, block.label))


def _seen(entity: re.Match[str]) -> str:
    return entity[0] if strip_for_reading(unescape(entity[0])) else ""


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
    tokens, blocks = _parser.parse(text), list[MarkdownBlock]()
    for at, token in enumerate(tokens):
        if token.level == 0 and token.map is not None and token.type in KINDS:
            first, last = token.map
            end = starts[first] + len(text[starts[first] : starts[last]].rstrip())
            is_heading = token.type == "heading_open"
            level, label = (int(token.tag[1:]), inline_text(tokens[at + 1].content)) if is_heading else (0, "")
            blocks.append(MarkdownBlock(KINDS[token.type], starts[first], end, level, label))
    return [block for block in blocks if block.start < block.end]


def without_tags(html: str) -> str:
    """The text of an HTML block: without comments and tags."""
    *ended, rest = html.split("-->")
    pieces = (piece.partition("<!--")[0] if "<!--" in piece else piece + "-->" for piece in ended)
    return _TAG.sub("", "".join((*pieces, rest)))


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
    level, at = state.level, len(state.tokens)
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
    parser.block.ruler.at("blockquote", _closed_quotation, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser.enable("table").disable("inline")


_parser = _block_parser()
