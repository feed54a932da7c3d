"""Markdown's structure, read in one place for all who need it: ingest, strips, statements and claims.

markdown-it-py finds the blocks; places are offsets into the text as it was given. Inline markup is read in headings
alone, so long texts are read in the time of their lines.

Two readings. A *document* is a whole Markdown file. A *passage* may be a piece of any file, or an answer: a page's
lines are indented, a table lacks its head, a dash stands below a sentence. What only a whole Markdown file can tell is
not looked for there: indented code, underlined headings, raw HTML, link definitions, quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, table
from markdown_it.token import Token

from retrieval.text.emphasis import cjk_emphasis

Kind = Literal["heading", "text", "table", "code", "html"]
KINDS: dict[str, Kind] = {
    "heading_open": "heading", "paragraph_open": "text", "bullet_list_open": "text", "ordered_list_open": "text",
    "blockquote_open": "text", "table": "table", "fence": "code", "code_block": "code", "html_block": "html",
}  # fmt: skip
CONTAINERS = frozenset(("bullet_list_open", "ordered_list_open", "blockquote_open"))
MAX_LABEL_CHARS = 300  # characters of a heading that are read for inline markup: links in links take quadratic time

_LINE_END = re.compile(r"\r\n?")
_ANCHOR = re.compile(r"\{:? ?#[^{}\s]* ?\}\Z")
_CELL_END = re.compile(r"(?<!\\)\|")
# Wider than Markdown's own: "•" and "3、" are what people and models write.
_LIST_SIGN = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])\s+")
_SIGNS = re.compile(r"\s*(?:(?:[-*•+]|\d{1,3}[.)、]|>|#{1,6})\s+)+")
_MARKUP = frozenset("\\`*_[]<>&!{}")
_EMPHASIS = re.compile(r"\*\*|__|`")


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """`text[start:end]`: whole lines, without blank ones around.

    content: without the signs of a heading or a list item, without a code block's fences.
    level: 1–6, of a heading. headed: a table whose first two lines are its head.
    """

    kind: Kind
    start: int
    end: int
    content: str
    level: int = 0
    headed: bool = False

    @property
    def label(self) -> str:
        """A heading's words without markup."""
        return inline_text(self.content)


def document_blocks(text: str) -> list[MarkdownBlock]:
    """Those of the outermost level, in order: a list is one block, with all that stands in it.

    Rules (`---`) and link definitions are left out.
    """
    source = _unix(text)
    lines = _Lines(source)
    tokens = _documents.parse(source)
    blocks = [
        lines.block(KINDS[token.type], *token.map, content=_content(tokens, at), level=_level(token), headed=True)
        for at, token in enumerate(tokens)
        if token.level == 0 and token.map is not None and token.type in KINDS
    ]
    return [block for block in blocks if block.start < block.end]


def passage_blocks(text: str) -> list[MarkdownBlock]:
    """The innermost ones, in order: each item of a list by itself. Together they hold every line that is not blank.

    Lines that begin with `|` are a table also where its head is missing.
    """
    source = _unix(text)
    lines = _Lines(source)
    blocks: list[MarkdownBlock] = []
    done = 0
    tokens = _passages.parse(source)
    for at, token in enumerate(tokens):
        if token.map is None or token.type not in KINDS or token.type in CONTAINERS:
            continue
        first, last = token.map
        blocks.extend(lines.text_blocks(done, first))
        kind, content = KINDS[token.type], _content(tokens, at)
        if kind == "text":
            blocks.extend(lines.text_blocks(first, last, content.split("\n")))
        else:
            blocks.append(lines.block(kind, first, last, content=content, level=_level(token), headed=True))
        done = last
    blocks.extend(lines.text_blocks(done, len(lines)))
    return blocks


# ------------------------------------------------------------------------------------------------ tables
def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table."""
    return line.lstrip().startswith("|")


def is_delimiter_row(line: str) -> bool:
    """`|---|:--:|`: what stands between a table's head and its rows."""
    return "--" in line and not line.strip().strip("|:- \t")


def row_cells(line: str) -> list[str]:
    """`| a | b \\| c |` → ["a", "b | c"]."""
    row = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(row)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


# ------------------------------------------------------------------------------------------------ inside a line
def list_sign(line: str) -> int:
    """The length of the sign that begins a list item, with the blanks after it; 0 where there is none."""
    match = _LIST_SIGN.match(line)
    return match.end() if match else 0


def leading_signs(text: str) -> int:
    """The length of all signs in front of a line's words: of lists, quotations and headings, and the blanks between."""
    match = _SIGNS.match(text)
    return match.end() if match else 0


def without_emphasis(text: str) -> str:
    """Without `**`, `__` and backticks."""
    return _EMPHASIS.sub("", text)


def inline_text(markdown: str) -> str:
    """A line's words: links by their text, without emphasis, HTML and a closing `{#anchor}`."""
    line = markdown[:MAX_LABEL_CHARS].rstrip()
    if _MARKUP.isdisjoint(line):  # most headings
        return " ".join(line.split())
    words = "".join(map(_words, _inline.parseInline(_ANCHOR.sub("", line))[0].children or ()))
    return " ".join(words.split())


def _words(token: Token) -> str:
    if token.type == "html_inline":
        return ""
    return " " if token.type in ("softbreak", "hardbreak") else token.content


def without_tags(html: str) -> str:
    """The text of an HTML block: without comments and tags."""
    *ended, rest = html.split("-->")
    kept = (piece.partition("<!--")[0] if "<!--" in piece else piece + "-->" for piece in ended)
    return _TAG.sub("", "".join((*kept, rest)))


_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# ------------------------------------------------------------------------------------------------ blocks
class _Lines:
    """The places of a text's lines."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def __len__(self) -> int:
        return len(self._lines)

    def block(
        self, kind: Kind, first: int, last: int, *, content: str, level: int = 0, headed: bool = False
    ) -> MarkdownBlock:
        first, last = self._without_blank(first, last)
        end = self._starts[last] - 1 if last > first else self._starts[first]
        return MarkdownBlock(kind, self._starts[first], end, content, level, headed and kind == "table")

    def text_blocks(self, first: int, last: int, content: Sequence[str] = ()) -> Iterator[MarkdownBlock]:
        """Running text, and the rows of tables in it. content: its lines without signs."""
        own = self._lines[first:last]
        plain = content if len(content) == len(own) else own
        at = first
        for kind, group in groupby(own, key=_kind_of_line):
            count = len(list(group))
            if kind:
                lines = plain[at - first : at - first + count]
                headed = kind == "table" and count > 1 and is_delimiter_row(lines[1])
                yield self.block(kind, at, at + count, content="\n".join(lines), headed=headed)
            at += count

    def _without_blank(self, first: int, last: int) -> tuple[int, int]:
        last = min(last, len(self._lines))
        while first < last and not self._lines[last - 1].strip():
            last -= 1
        while first < last and not self._lines[first].strip():
            first += 1
        return first, last


def _kind_of_line(line: str) -> Kind | None:
    if not line.strip():
        return None
    return "table" if is_row(line) else "text"


def _unix(text: str) -> str:
    """With Unix line ends, and each character in its place."""
    return _LINE_END.sub(lambda match: " \n" if len(match[0]) == 2 else "\n", text) if "\r" in text else text


def _content(tokens: Sequence[Token], at: int) -> str:
    token = tokens[at]
    if token.type in ("heading_open", "paragraph_open"):
        token = tokens[at + 1]
    return token.content


def _level(token: Token) -> int:
    return int(token.tag[1:]) if token.type == "heading_open" else 0


# ------------------------------------------------------------------------------------------------ the parsers
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
    token.content = state.getLines(start, line, state.blkIndent, False)
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


def _block_parser(*disabled: str) -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("blockquote", _closed_quotation, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser.enable("table").disable(["inline", *disabled])


_documents = _block_parser()
_passages = _block_parser("code", "lheading", "html_block", "reference", "blockquote")
_inline = MarkdownIt("commonmark").use(cjk_emphasis)
