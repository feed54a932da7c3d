"""Reading files, searching, and what is done before and after a search."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from ragsite.core.rag_settings.fields import Address, Count, Group, Number, Share, WholeNumber


class IngestSettings(Group):
    """Reading files and cutting them into chunks. Tokens are estimated by script (`retrieval.text.tokens`)."""

    model_config = SettingsConfigDict(env_prefix="RAG_INGEST_")

    max_file_mib: Count = 50
    """The largest file that can be uploaded, in MiB."""
    max_files_per_upload: Count = 100
    """Files in one upload."""
    chunk_tokens: int = Field(128, ge=16)
    """The longest chunk, in tokens; shorter where the collection's embedding model reads less of a text."""
    chunk_overlap_tokens: WholeNumber = 16
    """Tokens that a chunk repeats from the one before."""
    workers: Count = 2
    """Celery processes that read documents: `make run` starts so many, elsewhere say how many there are."""

    @model_validator(mode="after")
    def _overlap_is_shorter(self) -> Self:
        if self.chunk_overlap_tokens >= self.chunk_tokens:
            raise ValueError("chunk_overlap_tokens must be below chunk_tokens")
        return self


class SearchSettings(Group):
    """Hybrid search (seed 003 §2.1) and fusion (§2.4)."""

    model_config = SettingsConfigDict(env_prefix="RAG_SEARCH_")

    top_k: Count = 5
    """Passages that a search gives back."""
    max_top_k: Count = 50
    """The most that a request may ask for."""
    formula: Literal["zscore", "seed"] = "zscore"
    """How the vector and the BM25 scores are put together: both standardised over the window and added, or seed
    003's 0.2·dense + 1.0·BM25."""
    zscore_dense_weight: Number = 1.0
    """With formula `zscore`: weight of the standardised vector scores; that of BM25 is 1."""
    cache_ttl_s: WholeNumber = 3600
    """How long the results of a search are kept, in seconds; 0: not at all."""

    @model_validator(mode="after")
    def _top_k_is_allowed(self) -> Self:
        if self.top_k > self.max_top_k:
            raise ValueError(f"top_k must be at most max_top_k, {self.max_top_k}")
        return self


class RouteSettings(Group):
    """Filters that the question names (seed 003)."""

    model_config = SettingsConfigDict(env_prefix="RAG_ROUTE_")

    by_model: bool = True
    """The fast model reads filters, beside the rewrites: a call more, no round more."""


class RewriteSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_REWRITE_")

    enabled: bool = True
    """Search with other wordings, too."""


class HydeSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_HYDE_")

    enabled: bool = True
    """Search with an imagined answer, too."""


class RerankSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_RERANK_")

    enabled: bool = True
    """Order the candidates anew."""
    max_candidates: int = Field(10, ge=1, le=50)
    """Candidates that are reranked."""
    evaluator: Literal["overall", "eight_criteria"] = "overall"
    """How the model judges: by naming those of all passages that answer, or by seed 002's eight criteria."""
    url: Address = Field("", repr=False, validation_alias="RAG_RERANK_URL")
    """A cross-encoder server; empty: the model reranks."""
    model: str = ""
    """Name of the model, for a rerank server that asks for one."""


class GradeSettings(Group):
    """A verdict for each document by itself (seed 000, the Grader)."""

    model_config = SettingsConfigDict(env_prefix="RAG_GRADE_")

    enabled: bool = True
    """By the model; off: by the estimate."""


class CompressSettings(Group):
    """Sentences that have nothing to do with the question are left out of the prompt (seed 002, after retrieval)."""

    model_config = SettingsConfigDict(env_prefix="RAG_COMPRESS_")

    enabled: bool = False
    """Off: passages are given whole."""


class VerifySettings(Group):
    """Each sentence of an answer is held against the passages that it cites (docs/decisions/0005-grounding.md)."""

    model_config = SettingsConfigDict(env_prefix="RAG_VERIFY_")

    enabled: bool = True
    """Off: nothing is checked or marked."""
    by_model: bool = False
    """The fast model checks, after the last token; else, and where it fails, words are compared."""
    supported_score: Share = 0.45
    """A sentence below it is marked as weakly supported."""
