"""Variables of reading files, searching, and what is made of what is found."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ragsite.core.settings_group import (
    CONSTANT,
    LIVE,
    Address,
    Count,
    Group,
    PromptFile,
    Share,
    WholeNumber,
)


class IngestSettings(Group):
    """Reading files and cutting them into chunks. Tokens are estimated by script (`retrieval.engine.text.quoting`)."""

    env_prefix = "RAG_INGEST_"

    max_file_mib: Count = 50
    """The largest file that can be uploaded, in MiB."""
    workers: Count = 2
    """Celery processes that read documents: `make run` starts so many, elsewhere say how many there are."""
    max_files_per_upload: Annotated[Count, CONSTANT] = 100
    chunk_tokens: Annotated[int, CONSTANT] = (
        128  # at most; less where the embedding model reads less of a text
    )
    chunk_overlap_tokens: Annotated[WholeNumber, CONSTANT] = (
        16  # that a chunk repeats from the one before
    )


Legs = Literal["joined", "rrf"]
PositionStrategy = Literal["top_first", "sandwich"]
POSITION_STRATEGIES: tuple[PositionStrategy, ...] = ("top_first", "sandwich")


class SearchSettings(Group):
    """Hybrid search (seed 003 §2.1) and fusion (§2.4)."""

    env_prefix = "RAG_SEARCH_"

    top_k: Annotated[Count, LIVE] = 5
    """Passages that a search returns."""
    formula: Literal["zscore", "seed"] = "zscore"
    """How the vector and the BM25 scores are put together: both standardised over the window and added, or seed
    003's 0.2·dense + 1.0·BM25."""
    legs: Legs = "joined"
    """What is searched for a question, its rewrites and an imagined answer: all as one vector and one text, or each as
    legs of its own, whose lists are joined by reciprocal ranks (seed 003 §2.4)."""
    cache_s: WholeNumber = 3600
    """Seconds that what a user's search found is kept for the same search again, unless a document changes; 0: not."""
    max_top_k: Annotated[Count, CONSTANT] = 50  # that a request may ask for

    @model_validator(mode="after")
    def _top_k_is_allowed(self) -> Self:
        if self.top_k > self.max_top_k:
            raise ValueError(f"RAG_SEARCH_TOP_K must be at most {self.max_top_k}")
        return self


class RewriteSettings(Group):
    """Other words for a search (seed 003 §2.2)."""

    env_prefix = "RAG_REWRITE_"

    enabled: bool = True
    """Search in other words where the question's own found too little; a request may say otherwise."""
    variants: int = Field(3, ge=1, le=8)
    """Rewrites that the model is asked for."""
    prompt: PromptFile = ""
    """A file in place of the prompt `rewrite`; empty: the one of the administration, else ours."""


class RerankSettings(Group):
    """The first candidates in another order: a cross-encoder's, else that of the scores, 0 to 1, that a model gives
    (seed 003 §2.5)."""

    env_prefix = "RAG_RERANK_"

    enabled: bool | None = None
    """1: in every workflow; 0: in none; empty: by a cross-encoder in every workflow, by a model in Thorough. A request
    may say otherwise."""
    url: Address = Field("", repr=False, validation_alias="RAG_RERANK_URL")
    """A cross-encoder server; empty: the model reranks."""
    max_candidates: int = Field(10, ge=1, le=50)
    """Candidates that are reordered."""
    snippet_length: int = Field(600, ge=50, le=4000)
    """Characters of each candidate that a model is shown for it; a cross-encoder is sent 2000."""
    top_n: WholeNumber = 0
    """Candidates that are left after it; 0: all."""
    min_score: Share = 0.0
    """Candidates below this score are left out, but for the best one; 0: none."""
    prompt: PromptFile = ""
    """A file in place of the prompt `rerank`; empty: the one of the administration, else ours."""
    evaluator: Literal["overall", "eight_criteria"] = "overall"
    """How a model judges passages: by naming those that answer, or by the mean of seed 002's eight criteria, which
    orders them and leaves out what is not good; in Careful then before the first writing (CRAG)."""
    min_docs: Count = 1
    """With `eight_criteria`: good passages from which it is answered; with fewer it is searched again."""


class CompressSettings(Group):
    """Sentences that have nothing to do with the question are left out of the prompt (seed 002, after retrieval)."""

    env_prefix = "RAG_COMPRESS_"

    enabled: bool = False
    """Leave out of the prompt what has nothing to do with the question."""


class VerifySettings(Group):
    """Each sentence of an answer is held against the passages that it cites (docs/decisions/0005-grounding.md)."""

    env_prefix = "RAG_VERIFY_"

    by_model: bool = True
    """The fast model looks at an answer after its last word, unless it was to be quick; what it doubts is marked."""
    enabled: Annotated[bool, CONSTANT] = True
    supported_score: Annotated[Share, CONSTANT] = (
        0.45  # a sentence below it is marked as weakly supported
    )
