"""Errors of the knowledge side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragsite.core.errors import (
    AppError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from ragsite.core.messages import joined, worded


class ModelError(Exception):
    """A model call did not give a usable result. Steps catch it and fall back; `reason` goes into the decision path."""

    code = "model_failed"
    is_server_failure = (
        False  # whether it speaks against the server; several such in a row open its circuit
    )

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ModelUnavailableError(ModelError):
    """No model server, no such model, or the circuit is open."""

    code = "model_unavailable"
    is_server_failure = True


class ModelMissingError(ModelUnavailableError):
    """The server is well, but does not have this model, or the model can't do this."""

    code = "model_missing"
    is_server_failure = False


class ModelTimeoutError(ModelError):
    """The model server did not answer in time."""

    code = "model_timeout"
    is_server_failure = True


class ModelOutputError(ModelError):
    """The model answered, but not in the asked form."""

    code = "model_output"


class ModelInterruptedError(ModelError):
    """The stream broke after it had begun; the caller keeps the partial text."""

    code = "model_interrupted"
    is_server_failure = True


class ModelCutError(ModelInterruptedError):
    """The answer reached its length limit (`done_reason: length`); the text is whole up to there."""

    code = "model_cut"
    is_server_failure = False


class WebSearchError(Exception):
    """The web could not be searched; never the same as having found nothing. `reason` is for the decision path."""

    code = "web_search_failed"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class EmbeddingUnavailableError(UnavailableError, ModelError):
    """The embedding model of a collection is not available right now; search goes on with text alone."""

    code = "embedding_unavailable"
    message = worded("The embedding model is not reachable; start Ollama or try again shortly.")

    def __init__(self, reason: str = "") -> None:
        UnavailableError.__init__(self, reason or None)
        self.reason = reason or self.message


class IndexUnavailableError(UnavailableError):
    """Milvus can't be asked. Never the same as an empty result."""

    code = "index_unavailable"
    message = worded("The search index is not reachable; try again shortly.")


class SpaceMissingError(IndexUnavailableError):
    """Milvus answers, and has nothing of an embedding space: either nothing was written yet, or it was lost."""

    message = worded("A part of the search index is missing; it is rebuilt from the database.")


class EmbeddingMismatchError(ConflictError):
    """A collection was embedded by another model than the one now configured."""

    code = "embedding_mismatch"
    message = worded(
        "This collection was embedded by another model; re-embed it, or configure the model that it was made with."
    )


class CollectionNotFoundError(NotFoundError):
    """An address that means nothing that the user may see."""

    message = worded("There is no such collection, or you may not see it.")


class DocumentUnreadableError(AppError):
    """A file that can't be turned into text; the message says why, for a person."""

    code = "document_unreadable"
    status = 422
    message = worded("This file could not be read.")


class InvalidQueryError(InvalidInputError):
    """No query says anything to search for."""

    code = "invalid_query"
    message = worded("The query is empty; write a few words.")


class UnknownValueError(InvalidInputError):
    """400: a filter names what no document has. The message says what, and which values there are.

    problems: sentences by filter."""

    code = "unknown_value"

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        said = [sentence for sentences in problems.values() for sentence in sentences]
        super().__init__(joined(" ", said), fields={"filters": dict(problems)})
