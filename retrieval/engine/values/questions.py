"""A question is what the user asked; a query is text that is searched for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragsite.core.search_settings import PositionStrategy
from retrieval.engine.values.answers import Clarification
from retrieval.engine.values.filters import SearchFilters
from retrieval.engine.values.scope import SearchScope

QueryKind = Literal["original", "condensed", "rewrite", "step_back", "sub_query", "hyde"]


@dataclass(frozen=True, slots=True)
class Query:
    """One query variant. `vector_only` (HyDE) keeps it out of the BM25 leg."""

    text: str
    kind: QueryKind = "original"
    vector_only: bool = False


TaskName = Literal["summarise", "list", "compare", "count"]
TASK_NAMES: tuple[TaskName, ...] = ("summarise", "list", "compare", "count")


@dataclass(frozen=True, slots=True)
class DocumentTask:
    """What is asked of whole documents. documents: their ids; of a comparison the older one first; empty for all of the
    scope, which can be counted, and listed by what is counted."""

    name: TaskName
    documents: tuple[str, ...]

    @property
    def counts(self) -> bool:
        """Over all documents, or all of those named."""
        return self.name == "count" or (self.name == "list" and not self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRef:
    """A document that the asking user may read whole. chunk_count: how many chunks it was cut into."""

    id: str
    title: str
    policy_year: int | None = None
    chunk_count: int = 0


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
class OpenClarification:
    """The last answer asked back: the question it was about, and what it asked."""

    question: str
    clarification: Clarification


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """The assistant that a question is asked by. version: of all that it is. instructions: on how the answer is worded.

    collections: how many it looks into; unreadable: those of them that the asker may not read. lost: what it names and
    the site no longer has. gone: it was deleted, or is no longer shared with the asker, and changes nothing.
    """

    name: str
    version: int = 0
    instructions: str = ""
    collections: int = 0
    unreadable: int = 0
    lost: tuple[str, ...] = ()
    gone: bool = False


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
    asker_id: str = ""  # whose searches may be found again; empty: no one's
    conversation_id: str = ""
    answer_id: str = ""
    again: bool = False  # it has been answered, and is to be answered again
    language: str = ""  # of the asker's pages; the question's own comes first (`answer_language`)
    assistant: AskedBy | None = None
    condensed: str = ""  # as one that needs no conversation; empty: it needs none

    @property
    def standalone(self) -> str:
        """What is searched for and judged by: the question without what was said before."""
        return self.condensed or self.text

    @property
    def instructions(self) -> str:
        """Of its assistant, on how the answer is worded."""
        return self.assistant.instructions if self.assistant else ""

    @property
    def previous_question(self) -> str:
        """The question before, whose words count a little for what is found and quoted without a model; empty where a
        model has said what is meant, or nothing came before."""
        before = [] if self.condensed else self.earlier_questions()
        return before[0] if before else ""

    def earlier_questions(self) -> list[str]:
        """The conversation's earlier questions, the newest first."""
        return [message.text for message in reversed(self.history) if message.role == "user"]
