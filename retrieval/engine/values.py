"""The values that travel through the engine: frozen, typed, no ORM.

A query is text that is searched for; a question is what the user asked. A chunk is the unit that is indexed and cited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from ragsite.core.rag_settings import PositionStrategy

Decision = Literal["ANSWER", "CLARIFY", "NO_ANSWER"]
Level = Literal["chunks", "documents"]  # which rows of the index are searched
HEADING_JOIN = " › "  # between the headings that a chunk stands under
SUMMARY_SEQ = -1  # of a document's summary among its chunks' rows
FRESH_FOR = timedelta(seconds=10)  # longer than a server's view of its data may lag, and clocks differ
QueryKind = Literal["original", "condensed", "rewrite", "step_back", "sub_query", "hyde"]


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Vectors that may be compared with each other: one model, one dimension. One Milvus collection holds one space."""

    model: str
    dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRef:
    """A collection that the asking user may read."""

    id: str
    name: str
    space: EmbeddingSpace | None  # None: nothing has been ingested yet
    version: int = 0  # grows with every change of its documents: the index state in cache keys
    documents: int = 0  # that a search looks into
    being_read: int = 0  # that it does not look into yet
    attached: bool = False  # to the conversation: "this document" means one of it
    own: bool = False  # the asking user's: of passages that fit alike, these come first
    changed_at: datetime | None = field(default=None, repr=False, compare=False)  # None: perhaps just now

    @property
    def is_fresh(self) -> bool:
        """Its documents may have changed within the last seconds."""
        return self.changed_at is None or datetime.now(UTC) < self.changed_at + FRESH_FOR


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What a search may see: made by `retrieval.knowledge.selectors.scope_for`, the only place that decides
    permission."""

    collections: tuple[CollectionRef, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(ref.id for ref in self.collections)

    @property
    def documents(self) -> int:
        """How many a search looks into."""
        return sum(ref.documents for ref in self.collections)

    @property
    def being_read(self) -> int:
        """How many it does not look into yet. Files of a conversation do not count: its questions wait for them."""
        return sum(ref.being_read for ref in self.collections if not ref.attached)

    def beside(self, other: SearchScope) -> SearchScope:
        """Both of them; of a collection that is in both, the state that `other` knows."""
        known = {ref.id for ref in other.collections}
        return SearchScope((*(ref for ref in self.collections if ref.id not in known), *other.collections))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Metadata values: those that the documents in a scope hold, or some of them that are preferred. Values of one
    field are alternatives."""

    departments: tuple[str, ...] = ()
    doc_types: tuple[str, ...] = ()
    policy_years: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the filters that have a value here, as `SearchFilters` calls them."""
        return tuple(self.as_dict())

    def as_dict(self) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {
            "department": list(self.departments),
            "doc_type": list(self.doc_types),
            "policy_year": list(self.policy_years),
            "tags": list(self.tags),
        }
        return {name: field for name, field in values.items() if field}

    def without(self, fields: Iterable[str]) -> Vocabulary:
        """Without the values of these fields."""
        left: dict[str, Any] = {VOCABULARY_FIELDS[name]: () for name in fields}
        return replace(self, **left)

    def beside(self, other: Vocabulary) -> Vocabulary:
        """And of the other those fields that have no value here."""
        added = other.without(self.fields)
        return Vocabulary(
            departments=self.departments or added.departments,
            doc_types=self.doc_types or added.doc_types,
            policy_years=self.policy_years or added.policy_years,
            tags=self.tags or added.tags,
        )


VOCABULARY_FIELDS = {
    "department": "departments",
    "doc_type": "doc_types",
    "policy_year": "policy_years",
    "tags": "tags",
}
FiltersMode = Literal["strict", "prefer"]
FILTERS_MODES: tuple[FiltersMode, ...] = ("strict", "prefer")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Metadata filters; an unset one is None or empty. Tags: any of them is enough.

    preferred: what is named here, by any field, comes first (`retrieval.engine.search.preferring`); the others are
    strict.
    spared: ids of collections that they do not apply to: what is attached to the conversation is searched all the same.
    documents: ids; nothing outside these, if any are named.
    """

    department: str | None = None
    doc_type: str | None = None
    policy_year: int | None = None
    tags: tuple[str, ...] = ()
    preferred: Vocabulary = Vocabulary()
    spared: frozenset[str] = frozenset()
    documents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.as_dict() or self.preferred or self.documents)

    def as_dict(self) -> dict[str, Any]:
        """The strict ones."""
        values = {
            "department": self.department,
            "doc_type": self.doc_type,
            "policy_year": self.policy_year,
            "tags": list(self.tags) or None,
        }
        return {key: value for key, value in values.items() if value is not None}

    def in_mode(self, mode: FiltersMode) -> SearchFilters:
        """strict: as they are; prefer: what they name comes first, and nothing is left out."""
        if mode == "strict":
            return self
        preferred = Vocabulary(
            departments=(self.department,) if self.department else (),
            doc_types=(self.doc_type,) if self.doc_type else (),
            policy_years=() if self.policy_year is None else (self.policy_year,),
            tags=self.tags,
        )
        return SearchFilters(preferred=preferred, spared=self.spared, documents=self.documents)

    def preferring(self, preferred: Vocabulary) -> SearchFilters:
        """And these come first, where neither a strict filter nor a preference says something of their field."""
        added = preferred.without(self.as_dict())
        return replace(self, preferred=self.preferred.beside(added))


@dataclass(frozen=True, slots=True)
class Query:
    """One query variant. `vector_only` (HyDE) keeps it out of the BM25 leg."""

    text: str
    kind: QueryKind = "original"
    vector_only: bool = False


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
    char_start: int = 0
    char_end: int = 0  # 0: unknown
    table_rows: tuple[int, int, int] | None = None  # first, last, of how many: it holds a part of a table
    kind: SourceKind = "document"
    seqs: tuple[int, int] | None = None  # first and last of the chunks that it was joined of; None: it is one
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


TaskName = Literal["summarise", "list", "compare"]
TASK_NAMES: tuple[TaskName, ...] = ("summarise", "list", "compare")


@dataclass(frozen=True, slots=True)
class DocumentTask:
    """What is asked of whole documents. documents: their ids; of a comparison the older one first."""

    name: TaskName
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRef:
    """A document that the asking user may read whole. chunk_count: how many chunks it was cut into."""

    id: str
    title: str
    policy_year: int | None = None
    chunk_count: int = 0


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
class Boost:
    """What ratings, or staff, make of a chunk. multiplier: 0.2 … 5. origin: why, for people. hide: not shown."""

    multiplier: float = 1.0
    origin: str = ""
    hide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosts:
    """by_chunk: what is not there is not boosted. revision: of the boosts. degraded: the reason why only a part of
    them could be used."""

    by_chunk: Mapping[str, Boost] = field(default_factory=dict)
    revision: str = ""
    degraded: str = ""


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


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """An earlier message of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Per-request switches of the contract. None: the setting's default. The last four belong to `self_corrective`.

    route: whether values of the documents that the question names (department, type, year, tags) are preferred.
    rerank, top_n, min_score: as the settings of that name. judge: whether a model judges passages and answers; True:
    before the first writing, too. force_generate: answer at the limit from the best passages, although a model calls
    them insufficient; `react` does so unless it is False, and then may still refuse unless it is True.
    """

    top_k: int | None = None
    route: bool | None = None
    rewrite: bool | None = None
    hyde: bool | None = None
    rerank: bool | None = None
    top_n: int | None = None
    min_score: float | None = None
    judge: bool | None = None
    position_strategy: PositionStrategy | None = None
    web_search: bool | None = None
    min_similarity: float | None = None  # cosine, 0..1
    max_rewrites: int | None = None
    pass_rate: float | None = None  # share of relevant documents, 0..1
    force_generate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """A question back to the user, with answers to choose from. documents: the id of each option's document, by which
    the choice binds; empty where options stand for none."""

    question: str
    options: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"question": self.question, "options": list(self.options)}

    def as_stored(self) -> dict[str, Any]:
        return {**self.as_dict(), "documents": list(self.documents)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClarification:
    """The last answer asked back: the question it was about, and what it asked."""

    question: str
    clarification: Clarification


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a workflow is given. `text` is the user's words: never rewritten, this is what is answered. task: it
    is asked of whole documents."""

    text: str
    scope: SearchScope
    task: DocumentTask | None = None
    history: tuple[HistoryMessage, ...] = ()
    filters: SearchFilters = field(default_factory=SearchFilters)
    options: AnswerOptions = field(default_factory=AnswerOptions)
    model: str = ""  # writes the answer in place of the site's
    open_clarification: OpenClarification | None = None
    user_id: str = ""
    asker_id: str = ""  # whose searches may be found again; empty: nobody's
    conversation_id: str = ""
    answer_id: str = ""
    again: bool = False  # it has been answered, and is to be answered anew
    language: str = ""  # of the asker's pages; the question's own comes first (`answer_language`)
    condensed: str = ""  # as one that needs no conversation; empty: it needs none

    @property
    def standalone(self) -> str:
        """What is searched for and judged by: the question without what was said before."""
        return self.condensed or self.text

    @property
    def leans_on(self) -> str:
        """The question before, whose words count a little for what is found and quoted without a model; empty where a
        model has said what is meant, or nothing came before."""
        before = [] if self.condensed else self.earlier_questions()
        return before[0] if before else ""

    def earlier_questions(self) -> list[str]:
        """The conversation's earlier questions, the newest first."""
        return [message.text for message in reversed(self.history) if message.role == "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A chunk that was given to the generator, under its marker [1], [2] …"""

    marker: int
    chunk: StoredChunk
    scores: Scores
    cited: bool = False


@dataclass(frozen=True, slots=True)
class SentenceEvidence:
    """`text[start:end]` of the chunk under that marker: the sentence or two of it that are nearest to a statement."""

    marker: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedSentence:
    """A sentence of an answer, checked against the passages that it cites. start, end: its characters in the answer.

    markers: what it was checked against; empty: nothing was cited, so all passages. score: 0..1. supported, score None:
    it could not be checked. reason: why it is weak or unchecked. evidence: of each cited passage one place at most.
    """

    sentence: str
    start: int
    end: int
    markers: tuple[int, ...] = ()
    score: float | None = None
    supported: bool | None = None
    reason: str = ""
    evidence: tuple[SentenceEvidence, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


SupportLevel = Literal["full", "partly", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedBy:
    """Who checked an answer that was written beforehand, and when: `on` is YYYY-MM-DD."""

    id: str
    by: str
    on: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedAnswer:
    """An answer that people have written and checked for one question and those nearly identical to it.

    text: Markdown with markers from 1, each of one of the passages. question: the wording that fitted.
    """

    checked: CuratedBy
    question: str
    text: str
    passages: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a workflow gives back. `reason`: why this decision, for the decision path and for people.

    partial: the text is incomplete because the model broke off; the message says so, it never looks complete.
    cut: it is, because it reached its length limit.
    grounding: its sentences, checked; empty where no model wrote them. curated: where people wrote it beforehand.
    support: what a second look says of it, "none" also where it does not state what was asked; None: not looked at.
    """

    decision: Decision
    text: str
    sources: tuple[Source, ...] = ()
    clarification: Clarification | None = None
    reason: str = ""
    model: str = ""
    partial: bool = False
    cut: bool = False
    grounding: tuple[GroundedSentence, ...] = ()
    curated: CuratedBy | None = None
    support: SupportLevel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedFact:
    """What an earlier answer said to this user. score: how near it is to what was asked, unit of the store."""

    id: str
    question: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the memory holds for a question. `enabled`: the user lets answers be remembered. `degraded`: the reason
    why only words, not meaning, were looked for."""

    facts: tuple[RememberedFact, ...] = ()
    enabled: bool = True
    degraded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question, and what to remember of its answer.

    conversation_id, answer_id: UUIDs as text, by which it is withdrawn when either goes; empty: it comes from no
    conversation.
    """

    question: str
    fact: str
    conversation_id: str = ""
    answer_id: str = ""
