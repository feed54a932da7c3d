"""Variables of the servers that the engine calls: models, Milvus, search of the web."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ragsite.core.settings_group import (
    CONSTANT,
    LIVE,
    MODEL_SERVER,
    Address,
    Count,
    Group,
    Seconds,
    origin_of,
    word_or_server,
)

ServerAddress = tuple[Literal["ollama", "openai"], str]  # kind and URL


class OllamaSettings(Group):
    """The model server. Timeouts in seconds."""

    env_prefix = "RAG_OLLAMA_"

    server: Annotated[Literal["ollama", "openai"], MODEL_SERVER] = Field(
        "ollama", validation_alias="RAG_MODEL_SERVER"
    )
    """The kind of the model server: Ollama, or any that speaks OpenAI's protocol (vLLM, llama.cpp, LM Studio …)."""
    url: Annotated[Address, MODEL_SERVER] = Field("", repr=False, validation_alias="RAG_MODEL_URL")
    """With `openai`: the server's base address, e.g. http://127.0.0.1:8000/v1."""
    key: Annotated[str, MODEL_SERVER] = Field("", repr=False, validation_alias="RAG_MODEL_KEY")
    """With `openai`: its key, where it asks for one."""
    embed_server: Annotated[str, word_or_server("ollama", "openai")] = Field(
        "", repr=False, validation_alias="RAG_EMBED_SERVER"
    )
    """Another server for the embedding model: `ollama`, or `openai=URL`; empty: the same."""
    base_url: Annotated[Address, MODEL_SERVER] = Field(
        "http://127.0.0.1:11434", min_length=1, repr=False, validation_alias="OLLAMA_BASE_URL"
    )
    """Where Ollama listens."""
    chat_model: Annotated[str, MODEL_SERVER] = Field("", validation_alias="RAG_CHAT_MODEL")
    """The model that writes answers. Several, separated by commas: a question may choose one of them. Empty: all
    chat models listed, the first by default."""
    fast_model: Annotated[str, MODEL_SERVER] = Field("", validation_alias="RAG_FAST_MODEL")
    """The model for rewrites, grades and reranking; empty: the chat model."""
    embed_model: Annotated[str, MODEL_SERVER] = Field("", validation_alias="RAG_EMBED_MODEL")
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
    max_concurrency: Annotated[Count, CONSTANT] = (
        4  # calls at once from this process; the server queues without limit
    )
    max_answer_tokens: Annotated[Count, CONSTANT] = (
        4096  # where num_ctx leaves so many; it can be continued
    )
    keep_alive_s: Annotated[int, CONSTANT] = 600  # that Ollama keeps a model loaded after a call
    key_origin: Annotated[str, CONSTANT] = (
        ""  # the only server that gets the key; empty: those the operator names
    )

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.server == "openai" and not self.url:
            raise ValueError("RAG_MODEL_URL must be set where RAG_MODEL_SERVER is openai")
        return self

    def server_of(self, role: Literal["answer", "fast", "embed"]) -> ServerAddress:
        """Where the model of a role is served."""
        named = self.embed_server if role == "embed" else ""
        if named.startswith("openai="):
            return "openai", named.removeprefix("openai=")
        if named == "ollama" or self.server == "ollama":
            return "ollama", self.base_url
        return "openai", self.url

    def key_for(self, url: str) -> str:
        """The key, for the server that it was entered for; empty for any other."""
        return self.key if self.key_origin in ("", origin_of(url)) else ""

    @property
    def chat_models(self) -> tuple[str, ...]:
        """The models that RAG_CHAT_MODEL names; none: all that the server lists."""
        return tuple(name for part in self.chat_model.split(",") if (name := part.strip()))

    @property
    def answer_model(self) -> str:
        """The first of them; empty: the first chat model listed."""
        return next(iter(self.chat_models), "")


class MilvusSettings(Group):
    env_prefix = "RAG_MILVUS_"

    uri: Address = Field("", repr=False, validation_alias="MILVUS_URI")
    """A Milvus server; empty: the Milvus Lite server of this data folder."""
    token: str = Field("", repr=False, validation_alias="MILVUS_TOKEN")
    """Token of a server that asks for one."""
    lite_port: int = Field(0, ge=0, lt=65536, validation_alias="MILVUS_LITE_PORT")
    """Port of the Milvus Lite server; 0: the first free port from 19530."""
    prefix: str = "ragsite"
    """Begins the name of every collection in Milvus; sites that share one server need different ones."""
    database: str = ""
    """The server's database that holds them; empty: its default."""
    ca_file: str = ""
    """With an `https://` address: PEM file of the authority that signed the server's certificate; empty: those that the
    system trusts."""
    client_certificate: str = ""
    """PEM file that shows the server who we are, where it asks for one (mutual TLS)."""
    client_key: str = Field("", repr=False)
    """PEM file of its key."""
    replicas: int = Field(1, ge=1, le=16)
    """Copies that a server keeps in memory: with more than one, the loss of a node is not noticed. Needs as many query
    nodes."""
    keep_vectors: bool = False
    """1: vectors are kept in the database, too, so that an index that was lost is filled without embedding again. Takes
    two bytes a dimension and about 100 more for each chunk: 2.1 GB for a million chunks of 1,024 dimensions."""
    index: Literal["hnsw", "auto"] = "hnsw"
    """A server's index of vectors: `hnsw`, or `auto` where the service chooses (Zilliz Cloud). Holds for what is made
    from then on: run `manage.py rebuild_index` afterwards."""

    @model_validator(mode="after")
    def _client_certificate_is_whole(self) -> Self:
        if self.client_certificate and not (self.client_key and self.ca_file):
            raise ValueError(
                "RAG_MILVUS_CLIENT_KEY and RAG_MILVUS_CA_FILE must be set where RAG_MILVUS_CLIENT_CERTIFICATE is"
            )
        return self


class WebSearchSettings(Group):
    """Off unless `RAG_WEB_SEARCH` is `searxng=URL` or `google`; then a request may ask for it. Only that server is
    called, with words of the user's question; the pages that it finds are never fetched."""

    env_prefix = "RAG_WEB_SEARCH_"

    provider: Annotated[str, word_or_server("google", "searxng")] = Field(
        "", repr=False, validation_alias="RAG_WEB_SEARCH"
    )
    """`searxng=URL` or `google`; empty: off."""
    google_api_key: str = Field("", repr=False, validation_alias="GOOGLE_API_KEY")
    """Key, with `google`."""
    google_cse_id: str = Field("", validation_alias="GOOGLE_CSE_ID")
    """Id of the search engine, with `google`."""
    by_default: Annotated[bool, LIVE] = False
    """Search the web also when a request does not say whether to."""

    @model_validator(mode="after")
    def _google_is_whole(self) -> Self:
        if self.provider == "google" and not (self.google_api_key and self.google_cse_id):
            raise ValueError(
                "GOOGLE_API_KEY and GOOGLE_CSE_ID must be set where RAG_WEB_SEARCH is google"
            )
        return self
