"""The values that travel through the engine: frozen, typed, no ORM.

A query is text that is searched for; a question is what the user asked. A chunk is the unit that is indexed and cited.
"""

from retrieval.engine.values.answers import (
    Answer,
    AnswerSource,
    Clarification,
    CuratedBy,
    CuratedMatch,
    Decision,
    GroundedSentence,
    SentenceEvidence,
    SupportLevel,
)
from retrieval.engine.values.boosts import Boosts, ChunkBoost
from retrieval.engine.values.chunks import (
    HEADING_JOIN,
    SCORE_NAMES,
    SUMMARY_SEQ,
    IndexRow,
    Level,
    ScoredChunk,
    Scores,
    SourceKind,
    StoredChunk,
    TailHit,
)
from retrieval.engine.values.filters import (
    FILTERS_MODES,
    VOCABULARY_FIELDS,
    FiltersMode,
    SearchFilters,
    Vocabulary,
)
from retrieval.engine.values.memories import Exchange, Recall, RememberedFact
from retrieval.engine.values.questions import (
    TASK_NAMES,
    AnswerOptions,
    AskedBy,
    DocumentRef,
    DocumentTask,
    HistoryMessage,
    OpenClarification,
    Query,
    QueryKind,
    Question,
    TaskName,
)
from retrieval.engine.values.scope import (
    FRESH_FOR,
    CollectionRef,
    EmbeddingSpace,
    SearchScope,
)

__all__ = [
    "FILTERS_MODES",
    "FRESH_FOR",
    "HEADING_JOIN",
    "SCORE_NAMES",
    "SUMMARY_SEQ",
    "TASK_NAMES",
    "VOCABULARY_FIELDS",
    "Answer",
    "AnswerOptions",
    "AnswerSource",
    "AskedBy",
    "Boosts",
    "ChunkBoost",
    "Clarification",
    "CollectionRef",
    "CuratedBy",
    "CuratedMatch",
    "Decision",
    "DocumentRef",
    "DocumentTask",
    "EmbeddingSpace",
    "Exchange",
    "FiltersMode",
    "GroundedSentence",
    "HistoryMessage",
    "IndexRow",
    "Level",
    "OpenClarification",
    "Query",
    "QueryKind",
    "Question",
    "Recall",
    "RememberedFact",
    "ScoredChunk",
    "Scores",
    "SearchFilters",
    "SearchScope",
    "SentenceEvidence",
    "SourceKind",
    "StoredChunk",
    "SupportLevel",
    "TailHit",
    "TaskName",
    "Vocabulary",
]
