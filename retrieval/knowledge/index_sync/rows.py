"""What the index keeps of a document: a row for each chunk, and one for its summary, by which the document is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from retrieval.engine.ports import Vectors
from retrieval.engine.text.analysis import terms_text
from retrieval.engine.values import HEADING_JOIN, SUMMARY_SEQ, IndexRow
from retrieval.knowledge.services.metadata import FILTERED
from retrieval.models import Chunk, Document


def embedding_text(document: Document, chunk: Chunk) -> str:
    """What is embedded and analysed: a chunk says more with the title and headings that it stands under."""
    headings = [
        part for part in chunk.heading.split(HEADING_JOIN) if part and part != document.title
    ]
    return "\n".join(filter(None, (document.title, HEADING_JOIN.join(headings), chunk.text)))


def summary_chunk(document: Document, *, embedded: bool = False) -> Chunk:
    """The summary as a row of the index, under the document's own id; never saved, so that nothing can cite it."""
    return Chunk(
        id=document.pk, document=document, seq=SUMMARY_SEQ, text=document.summary, embedded=embedded
    )


def with_summary(documents: QuerySet[Document]) -> QuerySet[Document]:
    """Those that have a row of their own."""
    return documents.exclude(summary="").filter(superseded_at=None)


def index_rows(chunks: Sequence[Chunk], vectors: Vectors) -> list[IndexRow]:
    """Their rows; `chunk.document` must be loaded. It analyses their text: CPU work, for a thread."""
    return [
        IndexRow(
            chunk_id=str(chunk.pk),
            collection_id=str(chunk.document.collection_id),
            document_id=str(chunk.document_id),
            seq=chunk.seq,
            terms=terms_text(embedding_text(chunk.document, chunk)),
            vector=vector,
            **row_metadata(chunk.document),
        )
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]


def row_metadata(document: Document) -> dict[str, Any]:
    """What filters work on, as `IndexRow`'s fields."""
    return {name: getattr(document, name) for name in FILTERED} | {"tags": tuple(document.tags)}
