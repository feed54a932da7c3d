"""One file in, its chunks, language and summary out. Plain Python: it runs in the reader process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.chunk_size import ChunkSize
from retrieval.ingest.chunking import Chunker, TextChunk
from retrieval.ingest.limits import ParseLimits
from retrieval.ingest.parsing import parse_file
from retrieval.ingest.sniff import FileKind
from retrieval.ingest.summary import summarize
from retrieval.text.language import detect_language


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """title: what the document calls itself, "" where it doesn't. summary: "" for a document of one chunk."""

    title: str
    page_count: int | None
    language: str
    summary: str
    chunk_tokens: int
    chunks: tuple[TextChunk, ...]


def read_document(
    path: Path, *, kind: FileKind, limits: ParseLimits, size: ChunkSize, max_chunks: int, summary_tokens: int
) -> ReadDocument:
    """Raises DocumentUnreadableError."""
    parsed = parse_file(path, kind=kind, limits=limits)
    text = parsed.text
    chunker = Chunker(chunk_tokens=size.tokens, overlap_tokens=size.overlap, count_tokens=size.count_tokens)
    chunks = chunker.split(parsed)
    if len(chunks) > max_chunks:
        raise DocumentUnreadableError(f"The document makes more than {max_chunks:,} chunks; split it.")
    summary = ""
    if len(chunks) > 1:  # a single one stands for its document
        headings = (block.label for block in parsed.blocks if block.kind == "heading")
        summary = summarize(text, headings=headings, tokens=summary_tokens)
    return ReadDocument(
        title=parsed.title,
        page_count=parsed.page_count,
        language=detect_language(text),
        summary=summary,
        chunk_tokens=size.tokens,
        chunks=tuple(chunks),
    )
