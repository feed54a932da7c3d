"""Reading files, searching, and what is done before and after a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragsite.core.rag_settings.fields import check, env


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """Reading files and cutting them into chunks. Tokens are estimated by script (`retrieval.text.tokens`)."""

    max_file_mib: int = 50  # a larger upload is refused
    max_files_per_upload: int = 100  # in one request
    chunk_tokens: int = 480  # of a chunk at most; fewer where the collection's embedding model reads less of a text
    chunk_overlap_tokens: int = 64  # repeated from the chunk before
    summary_tokens: int = 160  # of a document's summary, by which hierarchical search finds it
    max_pages: int = 5000  # of one document
    max_chunks: int = 50_000  # of one document
    parse_timeout_s: float = 300.0  # reading one file, chunks and summary included
    parse_memory_mib: int = 2048  # address space of the process that reads a file
    parse_output_mib: int = 256  # what reading one file may give
    max_unpacked_mib: int = 400  # what an Office file may unpack to
    max_text_chars: int = 40_000_000  # of one document
    max_cells: int = 5_000_000  # of one workbook, empty ones between filled ones included
    workers: int = (
        2  # Celery processes that read documents: `make run` starts so many, elsewhere say how many there are
    )
    turn_s: float = 30.0  # a document that is embedded for longer makes room when another user's waits
    lease_s: float = 60.0  # a job whose worker has not reported for this long is taken over
    max_attempts: int = 3  # of a job whose worker died or failed in an unexpected way
    max_waits: int = 150  # times a job stands back while the model server or the index is away
    retry_first_s: float = 5.0  # the first pause of such a job; each next one is twice as long
    retry_last_s: float = 300.0  # the longest pause before a new attempt
    requeue_after_s: float = 120.0  # a job of `manage.py ingest` that it has not begun goes to the workers
    default_collection: str = "documents"  # of an upload that names none
    personal_collection: str = "uploads"  # each user's own, private: where POST /api/rag/upload puts files

    def __post_init__(self) -> None:
        check(self.workers >= 1, "workers must be at least 1")
        check(self.chunk_tokens >= 16, f"chunk_tokens={self.chunk_tokens} is below 16")
        check(0 <= self.chunk_overlap_tokens < self.chunk_tokens, "chunk_overlap_tokens must be below chunk_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Hybrid search (seed 003 §2.1) and fusion (§2.4)."""

    top_k: int = 5  # passages that a search gives back
    max_top_k: int = 50  # the most that a request may ask for
    window_multiplier: int = 30  # candidates per leg: top_k times this
    short_window_multiplier: int = 50  # the same for short queries
    short_query_terms: int = 3  # a query of at most so many terms is short
    formula: Literal["zscore", "seed"] = "zscore"  # how both legs are put together
    dense_weight: float = 0.2  # formula "seed": 0.2·dense + 1.0·BM25
    bm25_weight: float = 1.0  # formula "seed"
    zscore_dense_weight: float = 1.0  # formula "zscore": both legs standardised over the window, then summed
    zscore_bm25_weight: float = 1.0  # formula "zscore"
    least_dense_trust: float = 0.15  # formula "zscore": share of its weight that a dense leg at odds with BM25 keeps
    variant_fusion: Literal["mean", "rrf"] = "mean"  # formula "zscore": a question's wordings by score, or by rank
    rrf_k: int = 60  # rank fusion: 1 / (k + rank)
    bm25_k1: float = 0.9  # saturation of a term's frequency
    bm25_b: float = 0.4  # weight of a chunk's length
    boost_window: int = 100  # the best so many of what was found can be lifted or lowered by ratings
    min_filtered_candidates: int = 3  # a filter that leaves fewer is relaxed
    hierarchical_documents: int = 10  # documents that hierarchical search looks into
    timeout_s: float = 10.0  # one search, all legs
    cache_ttl_s: int = 3600  # how long results are kept; 0: not at all

    def __post_init__(self) -> None:
        check(1 <= self.top_k <= self.max_top_k, f"top_k={self.top_k} is not in 1..{self.max_top_k}")
        check(self.window_multiplier >= 1, "window_multiplier must be at least 1")
        check(self.hierarchical_documents >= 1, "hierarchical_documents must be at least 1")
        check(self.rrf_k >= 1, "rrf_k must be at least 1")
        check(self.dense_weight >= 0 and self.bm25_weight >= 0, "weights must not be negative")
        check(0 <= self.least_dense_trust <= 1, f"least_dense_trust={self.least_dense_trust} is not in 0..1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """Filters that the question names (seed 003). Rules always look; this is about the model."""

    by_model: bool = True  # the fast model reads filters too, beside the rewrites: a call more, no round more
    prompt: str = "question_filters"  # its file in retrieval/prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteSettings:
    enabled: bool = True  # search with other wordings, too
    variants: int = 3  # wordings asked for
    prompt: str = "rewrite"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        check(1 <= self.variants <= 8, f"variants={self.variants} is not in 1..8")


@dataclass(frozen=True, slots=True, kw_only=True)
class HydeSettings:
    enabled: bool = True  # search with an imagined answer, too
    prompt: str = "hyde"  # its file in retrieval/prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBackSettings:
    enabled: bool = True  # search for the broader question behind a very specific one, too
    prompt: str = "step_back"  # its file in retrieval/prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeSettings:
    enabled: bool = True  # search for the parts of a compound question, too
    sub_queries: int = 4  # parts at most
    prompt: str = "decompose"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        check(2 <= self.sub_queries <= 4, f"sub_queries={self.sub_queries} is not in 2..4")


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeSettings:
    """What was found is said once (seed 002, after retrieval)."""

    enabled: bool = True  # drop near-duplicates and join neighbouring chunks
    near_duplicate: float = 0.9  # shared part of both texts' terms, from which they say the same
    merge_tokens: int = 640  # a passage made of neighbouring chunks holds at most so many

    def __post_init__(self) -> None:
        check(0 < self.near_duplicate <= 1, f"near_duplicate={self.near_duplicate} is not in 0..1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    enabled: bool = True  # order the candidates anew
    max_candidates: int = 10  # that are looked at
    snippet_length: int = 500  # characters
    prompt: str = "rerank_assess"  # its file in retrieval/prompts
    # how the model scores a passage: by one number, or by seed 002's eight criteria, whose mean counts
    evaluator: Literal["overall", "eight_criteria"] = "overall"
    criteria_prompt: str = "rerank_criteria"  # its file in retrieval/prompts, with eight_criteria
    url: str = field(default="", metadata=env("RAG_RERANK_URL"))  # a cross-encoder server; empty: the model reranks
    model: str = ""  # named to that server, where it asks for one
    timeout_s: float = 10.0  # one call of that server
    min_score: float = 0.0  # candidates below it are dropped
    boost_share: float = 0.5  # exponent of what ratings gave a candidate: how far it counts on after reranking

    def __post_init__(self) -> None:
        check(1 <= self.max_candidates <= 50, f"max_candidates={self.max_candidates} is not in 1..50")
        check(not self.url or self.url.startswith(("http://", "https://")), "url must start with http:// or https://")
        check(100 <= self.snippet_length <= 4000, f"snippet_length={self.snippet_length} is not in 100..4000")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeSettings:
    """A verdict for each document by itself (seed 000, the Grader)."""

    enabled: bool = True  # by the model; off: by the trained grader
    prompt: str = "grade"  # its file in retrieval/prompts
    snippet_length: int = 2000  # characters of a document that the model reads
    relevant_score: float = 0.4  # without a model: probability from which a document is relevant
    timeout_s: float = 60.0  # all documents of one search together

    def __post_init__(self) -> None:
        check(100 <= self.snippet_length <= 8000, f"snippet_length={self.snippet_length} is not in 100..8000")
        check(0 < self.relevant_score < 1, f"relevant_score={self.relevant_score} is not between 0 and 1")
        check(self.timeout_s > 0, "timeout_s must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressSettings:
    """Sentences that have nothing to do with the question are left out of the prompt (seed 002, after retrieval)."""

    enabled: bool = True  # off: passages are given whole
    threshold: float = 0.3  # strips below this share of the best one of all are left out; 0: none
    min_strips: int = 2  # of a passage that stay where there is room
    neighbours: int = 1  # strips on each side of a related passage's best one that stay as well
    token_target: int = 0  # of all passages together; 0: what the model's context leaves for them

    def __post_init__(self) -> None:
        check(0 <= self.threshold <= 1, f"threshold={self.threshold} is not in 0..1")
        check(self.min_strips >= 1, "min_strips must be at least 1")
        check(0 <= self.neighbours <= 10, f"neighbours={self.neighbours} is not in 0..10")
        check(self.token_target >= 0, "token_target must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """Each sentence of an answer is held against the passages that it cites (docs/decisions/0005-grounding.md)."""

    enabled: bool = True  # off: nothing is checked or marked
    by_model: bool = False  # the fast model checks, after the last token; else, and where it fails, words are compared
    supported_score: float = 0.45  # a sentence below it is marked as weakly supported, 0-1
    max_sentences: int = 40  # of one answer that are checked
    prompt: str = "verify"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        check(0 <= self.supported_score <= 1, f"supported_score={self.supported_score} is not in 0..1")
        check(self.max_sentences >= 1, "max_sentences must be at least 1")
