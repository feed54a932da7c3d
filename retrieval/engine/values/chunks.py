"""A chunk is the unit that is indexed and cited; a candidate is a chunk that was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any, Literal

Level = Literal["chunks", "documents"]  # which rows of the index are searched
HEADING_JOIN = " › "  # between the headings that a chunk stands under
SUMMARY_SEQ = -1  # of a document's summary among its chunks' rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Every score a chunk got on its way; None where a stage didn't see it.

    dense: cosine, -1..1. bm25: >= 0. fused: unit of the fusion. standing: the fused score as 0..1 between the lowest
    and the highest found. rerank: 0..1, P(relevant). boost: multiplier. final: what it was ordered by at last.
    """

    dense: float | None = None
    bm25: float | None = None
    fused: float | None = None
    standing: float | None = None
    rerank: float | None = None
    boost: float | None = None
    final: float | None = None

    def as_dict(self) -> dict[str, float]:
        values = {name: getattr(self, name) for name in SCORE_NAMES}
        return {name: round(value, 6) for name, value in values.items() if value is not None}


SCORE_NAMES = tuple(column.name for column in fields(Scores))
SourceKind = Literal["document", "web"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A chunk as the database holds it. text: characters char_start … char_end of the document's extracted text.
    created_at, version, review_due: of its document.

    A result of a web search has the kind "web": its text is the search engine's snippet, its `document_id` the page's
    address, and it belongs to no collection.
    """

    chunk_id: str
    document_id: str
    collection_id: str
    seq: int
    title: str
    text: str
    page: int | None = None
    heading: str = ""
    file_name: str = ""
    language: str = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    tags: tuple[str, ...] = ()
    created_at: datetime | None = None
    version: int = 1
    review_due: date | None = None
    char_start: int = 0
    char_end: int = 0  # 0: unknown
    table_rows: tuple[int, int, int] | None = (
        None  # first, last, of how many: it holds a part of a table
    )
    kind: SourceKind = "document"
    seqs: tuple[int, int] | None = (
        None  # first and last of the chunks that it was joined of; None: it is one
    )
    url: str = ""  # http(s), of a web result; never fetched
    published: str = ""  # of a web result: YYYY-MM-DD, where the search engine says so

    @property
    def places(self) -> tuple[int, int]:
        """The first and the last `seq` that it holds."""
        return self.seqs or (self.seq, self.seq)

    def covers(self, other: StoredChunk) -> bool:
        """Whether `other` is a part of this one, which was merged of several chunks."""
        return (
            self.document_id == other.document_id
            and other.char_end > other.char_start
            and self.char_start <= other.char_start
            and other.char_end <= self.char_end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    """A candidate. `ranks`: its rank, from 1, in every leg that found it, e.g. {"original:dense": 3}."""

    chunk: StoredChunk
    scores: Scores = field(default_factory=Scores)
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def chunk_id(self) -> str:
        return self.chunk.chunk_id

    @property
    def document_id(self) -> str:
        return self.chunk.document_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TailHit:
    """A hit below the candidates, whose text has not been read: ratings may lift it among them."""

    chunk_id: str
    document_id: str
    scores: Scores
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """What the index keeps of a chunk.

    terms: space-separated, made by `retrieval.engine.text.analysis`. vector: float32, shape (dim,), unit length.
    """

    chunk_id: str
    collection_id: str
    document_id: str
    seq: int
    terms: str
    vector: Any
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    tags: tuple[str, ...] = ()
