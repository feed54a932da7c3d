"""What the tools return: the SDK makes each tool's output schema of its type, and holds every result against it."""

from __future__ import annotations

from typing_extensions import TypedDict


class FoundPassage(TypedDict):
    """uri: the resource that its document is."""

    document_id: str
    title: str
    page: int | None
    heading: str
    text: str
    uri: str


class SearchOutput(TypedDict):
    """degraded: what could not be used, and why."""

    passages: list[FoundPassage]
    degraded: list[str]


class ListedSource(TypedDict):
    marker: int
    title: str
    page: int | None
    heading: str
    text: str
    cited: bool
    url: str


class AnswerClarification(TypedDict):
    question: str
    options: list[str]


class AnswerOutput(TypedDict):
    answer: str
    decision: str | None
    support: str | None
    clarification: AnswerClarification | None
    sources: list[ListedSource]
    conversation: str


class DocumentPassage(TypedDict):
    page: int | None
    heading: str
    text: str


class DocumentOutput(TypedDict):
    """next: the `first` of the next call; null: it has no more."""

    title: str
    collection: str
    status: str
    department: str
    doc_type: str
    policy_year: int | None
    tags: list[str]
    summary: str
    passages: list[DocumentPassage]
    next: int | None


class ListedCollection(TypedDict):
    address: str
    description: str
    documents: int


class CollectionsOutput(TypedDict):
    collections: list[ListedCollection]
