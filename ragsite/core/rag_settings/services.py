"""Servers that the site calls: the model server, Milvus, web search."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from ragsite.core.rag_settings.fields import Address, Count, Group, Seconds, is_address

ServerAddress = tuple[Literal["ollama", "openai"], str]  # kind and URL


class OllamaSettings(Group):
    """The model server. Timeouts in seconds."""

    model_config = SettingsConfigDict(env_prefix="RAG_OLLAMA_")

    server: Literal["ollama", "openai"] = Field("ollama", validation_alias="RAG_MODEL_SERVER")
    """The kind of the model server: Ollama, or any that speaks OpenAI's protocol (vLLM, llama.cpp, LM Studio …)."""
    url: Address = Field("", repr=False, validation_alias="RAG_MODEL_URL")
    """With `openai`: the server's base address, e.g. http://127.0.0.1:8000/v1."""
    key: str = Field("", repr=False, validation_alias="RAG_MODEL_KEY")
    """With `openai`: its key, where it asks for one."""
    fast_server: str = Field("", repr=False, validation_alias="RAG_FAST_SERVER")
    """Another server for the fast model: `ollama`, or `openai=URL`; empty: the same."""
    embed_server: str = Field("", repr=False, validation_alias="RAG_EMBED_SERVER")
    """Another server for the embedding model, likewise."""
    base_url: Address = Field("http://127.0.0.1:11434", min_length=1, repr=False, validation_alias="OLLAMA_BASE_URL")
    """Where Ollama listens."""
    chat_model: str = Field("", validation_alias="RAG_CHAT_MODEL")
    """The answering model; several, parted by commas: those that a question may choose from; empty: all chat models
    listed, the first by default."""
    fast_model: str = Field("", validation_alias="RAG_FAST_MODEL")
    """The model for rewrites, grades and reranking; empty: the chat model."""
    embed_model: str = Field("", validation_alias="RAG_EMBED_MODEL")
    """The model that embeds documents and queries; empty: the first one listed."""
    num_ctx: int = Field(8192, ge=1024, validation_alias="RAG_NUM_CTX")
    """Context length in tokens; prompts are budgeted to it."""
    offline: Literal["auto", "0", "1"] = Field("auto", validation_alias="RAG_OFFLINE")
    """1: Ollama is never called; 0: the site is not ready without it; auto: it is used when it is there."""
    first_token_timeout_s: Seconds = 60.0
    """Until the first token of an answer: loading the model, waiting in the queue and reading the prompt."""
    structured_timeout_s: Seconds = 20.0
    """One call for a rewrite, an imagined answer, a grade or a reranking."""
    embed_timeout_s: Seconds = 30.0
    """Embedding one batch of texts."""
    max_concurrency: Count = 4
    """Calls at once from this process; the server queues without limit."""
    max_answer_tokens: Count = 4096
    """The longest answer, in tokens, where `RAG_NUM_CTX` leaves so many beside the prompt; it ends there and can be
    continued."""
    keep_alive_s: int = 600
    """Seconds that Ollama keeps a model loaded after a call; -1: for ever."""

    @field_validator("fast_server", "embed_server")
    @classmethod
    def _is_server(cls, server: str) -> str:
        kind, _, address = server.partition("=")
        if server not in ("", "ollama") and not (kind == "openai" and is_address(address)):
            raise ValueError("is neither ollama nor openai=URL")
        return server

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.server == "openai" and not self.url:
            raise ValueError("RAG_MODEL_URL must be set where RAG_MODEL_SERVER is openai")
        return self

    def server_of(self, role: Literal["answer", "fast", "embed"]) -> ServerAddress:
        """Where the model of a role is served."""
        named = {"answer": "", "fast": self.fast_server, "embed": self.embed_server}[role]
        if named.startswith("openai="):
            return "openai", named.removeprefix("openai=")
        if named == "ollama" or self.server == "ollama":
            return "ollama", self.base_url
        return "openai", self.url

    @property
    def chat_models(self) -> tuple[str, ...]:
        """The models that RAG_CHAT_MODEL names; none: all that the server lists."""
        return tuple(name for part in self.chat_model.split(",") if (name := part.strip()))

    @property
    def answer_model(self) -> str:
        """The first of them; empty: the first chat model listed."""
        return next(iter(self.chat_models), "")


class MilvusSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_MILVUS_")

    uri: Address = Field("", repr=False, validation_alias="MILVUS_URI")
    """A Milvus server; empty: the Milvus Lite server of this data folder."""
    token: str = Field("", repr=False, validation_alias="MILVUS_TOKEN")
    """Token of a server that asks for one."""
    lite_port: int = Field(0, ge=0, lt=65536, validation_alias="MILVUS_LITE_PORT")
    """Port of the Milvus Lite server; 0: the first free port from 19530."""
    prefix: str = "ragsite"
    """Begins the name of every collection in Milvus; sites that share one server need different ones."""


class WebSearchSettings(Group):
    """Off unless `RAG_WEB_SEARCH` is `searxng=URL` or `google`; then a request may ask for it. Only that server is
    called, with words of the user's question; the pages that it finds are never fetched."""

    model_config = SettingsConfigDict(env_prefix="RAG_WEB_SEARCH_")

    provider: str = Field("", repr=False, validation_alias="RAG_WEB_SEARCH")
    """`searxng=URL` or `google`; empty: off."""
    google_api_key: str = Field("", repr=False, validation_alias="GOOGLE_API_KEY")
    """Key, with `google`."""
    google_cse_id: str = Field("", validation_alias="GOOGLE_CSE_ID")
    """Id of the search engine, with `google`."""
    by_default: bool = False
    """Search the web also for requests that do not say whether they want it."""

    @field_validator("provider")
    @classmethod
    def _is_known(cls, provider: str) -> str:
        kind, _, address = provider.partition("=")
        if provider not in ("", "google") and not (kind == "searxng" and is_address(address)):
            raise ValueError("is neither searxng=URL nor google")
        return provider

    @model_validator(mode="after")
    def _google_is_whole(self) -> Self:
        if self.provider == "google" and not (self.google_api_key and self.google_cse_id):
            raise ValueError("google_api_key and google_cse_id must be set where provider is google")
        return self
