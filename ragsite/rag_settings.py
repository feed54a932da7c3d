"""Every number and address of retrieval and answering, in one typed place.

`RagSettings.from_env(environ)` reads them once, at start. Each field of each section has a default and can be set by
an environment variable: the section's prefix and the field's name, e.g. `RAG_SEARCH_TOP_K`; fields that the contract
names otherwise say so in `metadata`. A wrong value is refused with the variable's name.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


def env(name: str) -> dict[str, str]:
    """Metadata of a field whose variable does not follow from its section's prefix."""
    return {"env": name}


def check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaSettings:
    """The model server. Timeouts in seconds."""

    base_url: str = field(default="http://127.0.0.1:11434", metadata=env("OLLAMA_BASE_URL"))  # where Ollama listens
    # the answering model; empty: the first chat model listed
    chat_model: str = field(default="", metadata=env("RAG_CHAT_MODEL"))
    # rewrites, grades, reranks; empty: the chat model
    fast_model: str = field(default="", metadata=env("RAG_FAST_MODEL"))
    # embeds documents and queries; empty: the first one listed
    embed_model: str = field(default="", metadata=env("RAG_EMBED_MODEL"))
    # context length in tokens; prompts are budgeted to it
    num_ctx: int = field(default=8192, metadata=env("RAG_NUM_CTX"))
    # 1: never call; 0: not ready without it
    offline: Literal["auto", "0", "1"] = field(default="auto", metadata=env("RAG_OFFLINE"))
    connect_timeout_s: float = 3.0  # until the connection stands
    first_token_timeout_s: float = 60.0  # model load + queue + prefill
    between_tokens_timeout_s: float = 30.0  # a stream silent for longer has broken off
    structured_timeout_s: float = 20.0  # rewrite, HyDE, grade, rerank
    stream_timeout_s: float = 240.0  # the whole of one streamed answer
    embed_timeout_s: float = 30.0  # one batch of texts
    discovery_ttl_s: float = 15.0  # how long the list of models is believed
    discovery_timeout_s: float = 2.0  # asking for the list of models
    max_concurrency: int = 4  # calls at once from this process; the server queues without limit
    embed_batch_size: int = 32  # texts in one call
    max_answer_tokens: int = 1024  # an answer ends here
    breaker_failures: int = 3  # consecutive failures that open the circuit
    breaker_reset_s: float = 20.0  # after which one probe is let through
    keep_alive: str = "10m"  # how long Ollama keeps the model loaded
    temperature: float = 0.1  # of answers; judgements run at 0
    busy_retry_s: float = 0.3  # wait before the one new attempt after "server busy"

    def __post_init__(self) -> None:
        check(self.num_ctx >= 1024, f"num_ctx={self.num_ctx} is below 1024")
        check(0 < self.max_answer_tokens < self.num_ctx, "max_answer_tokens must be positive and below num_ctx")
        check(self.max_concurrency >= 1, "max_concurrency must be at least 1")
        check(self.embed_batch_size >= 1, "embed_batch_size must be at least 1")
        check(self.base_url.startswith(("http://", "https://")), "base_url must start with http:// or https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusSettings:
    uri: str = field(default="", metadata=env("MILVUS_URI"))  # empty: the Milvus Lite server of this data folder
    token: str = field(default="", metadata=env("MILVUS_TOKEN"))  # of a server that asks for one
    lite_port: int = field(default=0, metadata=env("MILVUS_LITE_PORT"))  # 0: the first free port from 19530
    timeout_s: float = 20.0  # one search
    write_timeout_s: float = 120.0  # of one batch, and of reading all ids back
    connect_timeout_s: float = 5.0  # until the connection stands
    prefix: str = "ragsite"  # of every collection's name in Milvus
    hnsw_m: int = 16  # neighbours per node of the graph
    hnsw_ef_construction: int = 200  # candidates while building; more is slower and better
    hnsw_ef: int = 128  # candidates while searching
    write_batch_size: int = 500  # rows in one write

    def __post_init__(self) -> None:
        check(0 <= self.lite_port < 65536, f"lite_port={self.lite_port} is not a port")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """Reading files and cutting them into chunks. Tokens are estimated by script (`retrieval.tokens`)."""

    max_file_mib: int = 50  # a larger upload is refused
    max_files_per_upload: int = 100  # in one request
    chunk_tokens: int = 320  # fits 512-token embedding models with room for title and heading
    chunk_overlap_tokens: int = 48  # repeated from the chunk before
    max_pages: int = 5000  # of one document
    max_chunks: int = 50_000  # of one document
    parse_timeout_s: float = 300.0  # reading one file
    parse_memory_mib: int = 2048  # address space of the process that reads a PDF or Office file
    max_unpacked_mib: int = 400  # what an Office file may unpack to
    max_text_chars: int = 40_000_000  # of one document
    max_cells: int = 5_000_000  # of one workbook, empty ones between filled ones included
    lease_s: float = 60.0  # a job whose worker has not reported for this long is taken over
    max_attempts: int = 3  # of a job whose worker died or failed in an unexpected way
    max_waits: int = 150  # times a job stands back while the model server or the index is away
    retry_first_s: float = 5.0  # the first pause of such a job; each next one is twice as long
    retry_last_s: float = 300.0  # the longest pause before a new attempt
    requeue_after_s: float = 120.0  # a waiting job whose message seems lost is queued again
    default_collection: str = "documents"  # of an upload that names none

    def __post_init__(self) -> None:
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
    rrf_k: int = 60  # rank fusion of the variants: 1 / (k + rank)
    bm25_k1: float = 0.9  # saturation of a term's frequency
    bm25_b: float = 0.4  # weight of a chunk's length
    min_filtered_candidates: int = 3  # a filter that leaves fewer is relaxed
    timeout_s: float = 10.0  # one search, all legs
    cache_ttl_s: int = 3600  # how long results are kept; 0: not at all

    def __post_init__(self) -> None:
        check(1 <= self.top_k <= self.max_top_k, f"top_k={self.top_k} is not in 1..{self.max_top_k}")
        check(self.window_multiplier >= 1, "window_multiplier must be at least 1")
        check(self.rrf_k >= 1, "rrf_k must be at least 1")
        check(self.dense_weight >= 0 and self.bm25_weight >= 0, "weights must not be negative")
        check(0 <= self.least_dense_trust <= 1, f"least_dense_trust={self.least_dense_trust} is not in 0..1")


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
    url: str = field(default="", metadata=env("RAG_RERANK_URL"))  # a cross-encoder server; empty: the model reranks
    model: str = ""  # named to that server, where it asks for one
    timeout_s: float = 10.0  # one call of that server
    min_score: float = 0.0  # candidates below it are dropped

    def __post_init__(self) -> None:
        check(1 <= self.max_candidates <= 50, f"max_candidates={self.max_candidates} is not in 1..50")
        check(not self.url or self.url.startswith(("http://", "https://")), "url must start with http:// or https://")
        check(100 <= self.snippet_length <= 4000, f"snippet_length={self.snippet_length} is not in 100..4000")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectiveSettings:
    """The default workflow (seed 003). Thresholds are probabilities, 0-1."""

    good_score: float = 0.6  # a best passage at or above it: ANSWER
    weak_score: float = 0.3  # below it, after refining: NO_ANSWER
    max_refine_rounds: int = 3  # searches again before it gives up
    history_messages: int = 20  # of the session that are looked back at
    history_tokens: int = 1500  # and their length together
    context_passages: int = 6  # given to the answering model
    position: Literal["top_first", "sandwich"] = "top_first"  # where the best passages stand in the prompt
    clear_score: float = 0.8  # a first search that the model-free grader puts at or above it needs no better queries
    head_start_s: float = 0.15  # given to the first search before calls that would improve on its words begin
    max_rounds: int = 3  # model rounds before the first token
    extractive_sentences: int = 4  # of an answer that no model wrote
    boost_timeout_s: float = 2.0  # waiting for what ratings say
    timeout_s: float = 180.0  # a whole answer

    def __post_init__(self) -> None:
        check(0 <= self.weak_score <= self.good_score <= 1, "need 0 <= weak_score <= good_score <= 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    message_chars: int = 8000  # the longest question
    questions_per_minute: int = 30  # per user
    answers_at_once: int = 2  # per user
    heartbeat_s: float = 15.0  # a silent stream sends a comment at least this often
    save_every_s: float = 1.0  # partial answers are stored at least this often
    stale_after_s: float = 10.0  # an answer without a sign of life for this long was interrupted
    event_log_ttl_s: int = 900  # how long a finished answer's events can be replayed
    event_log_answers: int = 500  # finished answers whose events one process keeps
    answer_timeout_s: float = 300.0  # the whole of one answer; beyond it, it has failed
    login_failures: int = 10  # wrong passwords per address and username within the window
    login_window_s: int = 300  # over which failed logins are counted

    def __post_init__(self) -> None:
        check(self.message_chars >= 1, "message_chars must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchSettings:
    """Off unless `RAG_WEB_SEARCH` is `searxng=URL` or `google`."""

    provider: str = field(default="", metadata=env("RAG_WEB_SEARCH"))  # searxng=URL or google; empty: off
    google_api_key: str = field(default="", metadata=env("GOOGLE_API_KEY"))  # with google
    google_cse_id: str = field(default="", metadata=env("GOOGLE_CSE_ID"))  # with google: the search engine's id

    def __post_init__(self) -> None:
        known = self.provider in ("", "google") or self.provider.startswith(("searxng=http://", "searxng=https://"))
        check(known, f"provider={self.provider!r} is neither searxng=URL nor google")


@dataclass(frozen=True, slots=True, kw_only=True)
class RagSettings:
    """All sections. The prefix of a section's variables is in `PREFIXES`."""

    ollama: OllamaSettings = field(default_factory=OllamaSettings)
    milvus: MilvusSettings = field(default_factory=MilvusSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    rewrite: RewriteSettings = field(default_factory=RewriteSettings)
    hyde: HydeSettings = field(default_factory=HydeSettings)
    step_back: StepBackSettings = field(default_factory=StepBackSettings)
    decompose: DecomposeSettings = field(default_factory=DecomposeSettings)
    dedupe: DedupeSettings = field(default_factory=DedupeSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    corrective: CorrectiveSettings = field(default_factory=CorrectiveSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    web_search: WebSearchSettings = field(default_factory=WebSearchSettings)
    data_dir: str = "var"
    prompts_dir: str = ""  # RAG_PROMPTS_DIR: files here replace the prompts of the same name

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, data_dir: str = "var") -> Self:
        """Read every section. Raises SettingsError with the name of the first wrong variable."""
        sections = {name: _section_from_env(kind, prefix, environ) for name, (kind, prefix) in SECTIONS.items()}
        return cls(**sections, data_dir=data_dir, prompts_dir=environ.get("RAG_PROMPTS_DIR", ""))


SECTIONS: dict[str, tuple[type, str]] = {
    "ollama": (OllamaSettings, "RAG_OLLAMA_"),
    "milvus": (MilvusSettings, "RAG_MILVUS_"),
    "ingest": (IngestSettings, "RAG_INGEST_"),
    "search": (SearchSettings, "RAG_SEARCH_"),
    "rewrite": (RewriteSettings, "RAG_REWRITE_"),
    "hyde": (HydeSettings, "RAG_HYDE_"),
    "step_back": (StepBackSettings, "RAG_STEP_BACK_"),
    "decompose": (DecomposeSettings, "RAG_DECOMPOSE_"),
    "dedupe": (DedupeSettings, "RAG_DEDUPE_"),
    "rerank": (RerankSettings, "RAG_RERANK_"),
    "corrective": (CorrectiveSettings, "RAG_CORRECTIVE_"),
    "limits": (LimitSettings, "RAG_LIMIT_"),
    "web_search": (WebSearchSettings, "RAG_WEB_SEARCH_"),
}


def variable_of(section_field: dataclasses.Field[Any], prefix: str) -> str:
    """The environment variable that sets this field."""
    return str(section_field.metadata.get("env") or prefix + section_field.name.upper())


def _section_from_env(kind: type, prefix: str, environ: Mapping[str, str]) -> Any:
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for section_field in dataclasses.fields(kind):
        variable = variable_of(section_field, prefix)
        variables[section_field.name] = variable
        text = environ.get(variable, "").strip()
        if text:
            values[section_field.name] = _parse(text, hints[section_field.name], variable)
    try:
        return kind(**values)
    except ValueError as error:
        # Messages start with the field's name: replace it by the variable that the reader knows.
        message = str(error)
        for name, variable in variables.items():
            if message.startswith(name):
                raise SettingsError(variable + message.removeprefix(name)) from error
        named = ", ".join(sorted(variables[name] for name in values)) or prefix + "*"
        raise SettingsError(f"{named}: {message}") from error


def _parse(text: str, kind: Any, variable: str) -> Any:
    if typing.get_origin(kind) is Literal:
        allowed = typing.get_args(kind)
        if text not in allowed:
            raise SettingsError(f"{variable}={text!r} is not one of {', '.join(allowed)}")
        return text
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise SettingsError(f"{variable}={text!r} is neither 1 nor 0")
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            noun = "a whole number" if kind is int else "a number"
            raise SettingsError(f"{variable}={text!r} is not {noun}") from error
    return text
