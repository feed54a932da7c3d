"""Markdown, kept as it is written: only the blocks are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.headings import heading_level
from retrieval.ingest.text import readable_text

# Only the block structure is wanted: inline parsing is most of the work, and is left out.
_parser = MarkdownIt("commonmark").enable("table").disable("inline")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.S)
_FIELD = re.compile(r"^(title|summary|description)[ \t]*:[ \t]*(.+)$", re.M)
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.S)
_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}|\s*\{#[^}]*\}\s*$")
KINDS = {"fence": "code", "code_block": "code", "table_open": "table"}


def parse_markdown(data: bytes) -> ParsedDocument:
    text = readable_text(data, markup=False)
    fields: dict[str, str] = {}
    if match := _FRONT_MATTER.match(text):
        fields = {name: value.strip().strip("\"'") for name, value in _FIELD.findall(match[1])}
        text = text[match.end() :]
    about = [Block(text=fields[name]) for name in ("summary", "description") if name in fields]
    blocks = tuple(about + list(_blocks(text)))
    return ParsedDocument(blocks=blocks, title=fields.get("title") or first_title(blocks))


def _blocks(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    tokens = _parser.parse(text)
    for position, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        start, end = token.map
        source = "\n".join(lines[start:end]).strip("\n")
        if token.type == "heading_open":
            label = _MARKS.sub(r"\1", _inline(tokens, position)).strip()
            yield Block(text=source.strip(), kind="heading", level=int(token.tag[1:]), label=label)
        elif token.type == "html_block":
            if words := _TAG.sub("", source).strip():
                yield Block(text=words)
        elif token.type in KINDS:
            yield Block(text=source, kind="code" if KINDS[token.type] == "code" else "table")
        elif token.type == "paragraph_open" and "\n" not in source and (level := heading_level(source)):
            yield Block(text=source.strip(), kind="heading", level=level, label=source.strip())
        elif source.strip() and token.type != "hr":
            yield Block(text=source.rstrip())


def _inline(tokens: Sequence[Token], position: int) -> str:
    following = tokens[position + 1] if position + 1 < len(tokens) else None
    return following.content if following is not None and following.type == "inline" else ""
