"""Servers that the site calls: the model server, Milvus, web search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragsite.core.rag_settings.fields import check, env, is_address


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
    discovery_timeout_s: float = 10.0  # asking for the list of models; questions wait for the first one only
    discovery_believed_s: float = 300.0  # how long a server that is silent goes on being taken for one that serves
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
        check(not self.uri or is_address(self.uri), "uri must be an http:// or https:// address of a Milvus server")
        check(0 <= self.lite_port < 65536, f"lite_port={self.lite_port} is not a port")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchSettings:
    """Off unless `RAG_WEB_SEARCH` is `searxng=URL` or `google`; then a request may ask for it. Only that server is
    called, with words of the user's question; the pages that it finds are never fetched."""

    provider: str = field(default="", metadata=env("RAG_WEB_SEARCH"))  # searxng=URL or google; empty: off
    google_api_key: str = field(default="", metadata=env("GOOGLE_API_KEY"))  # with google
    google_cse_id: str = field(default="", metadata=env("GOOGLE_CSE_ID"))  # with google: the search engine's id
    google_url: str = "https://www.googleapis.com/customsearch/v1"  # with google: another address of the same API
    by_default: bool = False  # also for requests that do not say whether they want it
    max_results: int = 5  # taken from one search
    snippet_chars: int = 600  # of one result's text
    max_answer_kib: int = 1024  # of the search engine; a longer one is refused
    timeout_s: float = 8.0  # one search
    safe_search: bool = True  # leave out explicit results
    prompt: str = "web_query"  # its file in retrieval/prompts

    def __post_init__(self) -> None:
        kind, _, address = self.provider.partition("=")
        known = self.provider in ("", "google") or (kind == "searxng" and is_address(address))
        check(known, f"provider={self.provider!r} is neither searxng=URL nor google")
        if self.provider == "google":
            check(bool(self.google_api_key), "google_api_key must be set where RAG_WEB_SEARCH is google")
            check(bool(self.google_cse_id), "google_cse_id must be set where RAG_WEB_SEARCH is google")
        check(is_address(self.google_url), "google_url must be an http:// or https:// address")
        check(1 <= self.max_results <= 10, f"max_results={self.max_results} is not in 1..10")
        check(50 <= self.snippet_chars <= 4000, f"snippet_chars={self.snippet_chars} is not in 50..4000")
        check(self.max_answer_kib >= 1 and self.timeout_s > 0, "max_answer_kib and timeout_s must be positive")
