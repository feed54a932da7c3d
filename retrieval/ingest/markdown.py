"""Markdown, kept as it is written: only the blocks are told apart."""

from __future__ import annotations

from collections.abc import Iterator

from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.headings import heading_level
from retrieval.ingest.text import readable_text
from retrieval.text.markdown import document_blocks, without_tags

FENCE = "---"  # before and after the front matter
TITLE, ABSTRACTS = "title", ("summary", "description")


def parse_markdown(data: bytes) -> ParsedDocument:
    """Front matter gives title and summary. Raises DocumentUnreadableError."""
    fields, text = front_matter(readable_text(data, markup=False))
    about = [Block(text=fields[name]) for name in ABSTRACTS if name in fields]
    blocks = tuple(about + list(_blocks(text)))
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
