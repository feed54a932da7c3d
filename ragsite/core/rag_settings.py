"""Every variable of the engine, in one typed place: servers, reading files, searching, workflows, limits.

`RagSettings.from_env(environ)` reads them once, at start. Each field of each group has a default and can be set by an
environment variable. Numbers that nobody would change are constants beside their use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ragsite.core.settings_group import (
    CONSTANT,
    LIVE,
    MODEL_SERVER,
    Address,
    Count,
    Group,
    PromptFile,
    Seconds,
    Share,
    WholeNumber,
    origin_of,
    word_or_server,
)

ServerAddress = tuple[Literal["ollama", "openai"], str]  # kind and URL


# ------------------------------------------------------------------------------------------------ servers
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


# ------------------------------------------------------------------------------------------------ documents and search
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


# ------------------------------------------------------------------------------------------------ workflows
class AnswerSettings(Group):
    workflow: Annotated[
        Literal["corrective", "self_corrective", "dual_loop", "planned", "react"], LIVE
    ] = Field("corrective", validation_alias="RAG_DEFAULT_WORKFLOW")
    """Default thoroughness: `corrective` is Careful, `dual_loop` Thorough."""
    position_strategy: PositionStrategy = Field(
        "top_first", validation_alias="RAG_POSITION_STRATEGY"
    )
    """The order of the passages in a prompt: the best first, or with `sandwich` the best at both ends and the weakest
    in the middle (seed 002; Liu et al., 2024)."""
    follow_ups: Annotated[bool, LIVE] = Field(True, validation_alias="RAG_FOLLOW_UPS")
    """Have the model look for questions that the documents answer, while it has nothing else to do: they are offered
    below answers and in a new conversation."""


class CorrectiveSettings(Group):
    """The default workflow (seed 003)."""

    env_prefix = "RAG_CORRECTIVE_"

    max_refine_rounds: Annotated[WholeNumber, CONSTANT] = (
        3  # that it searches again before it gives up
    )
    first_passages: Annotated[Count, CONSTANT] = (
        8  # given to the model at first: more are read before the first word
    )
    context_passages: Annotated[Count, CONSTANT] = (
        12  # given to it once it refused, and where it is asked for several
    )
    timeout_s: Annotated[Seconds, CONSTANT] = 180.0  # of a whole answer


class SelfCorrectiveSettings(Group):
    """Every document graded by itself, and searched again in other words (seed 000)."""

    env_prefix = "RAG_SELF_CORRECTIVE_"

    allowed_addresses: str = ""
    """Addresses that `milvusConfig.address` may name beside the site's own Milvus and `localhost:19530`, with commas:
    all of them mean this site's own index, and none is ever connected to."""
    pass_rate: Annotated[Share, CONSTANT] = (
        0.6  # share of relevant documents from which it is answered
    )
    max_rewrites: Annotated[int, Field(ge=0, le=10), CONSTANT] = (
        3  # then it answers from what passed
    )
    force_generate: bool = False
    """Answer at the last rewrite from the best documents, although none has passed; a request may say otherwise."""


class PlannedSettings(Group):
    """The search planned as a graph of tasks (seed 002 §8)."""

    env_prefix = "RAG_PLANNED_"

    enabled: bool = True
    """Offer `planned`; 0: a question that names it is refused."""
    max_retries: int = Field(2, ge=0, le=5)
    """Times that the search is mended after a reflection on what it found."""
    timeout_s: float = Field(180.0, gt=0, le=270)
    """A whole answer."""
    planner_model: str = Field("", validation_alias="RAG_PLANNED_MODEL")
    """The model that makes the plan; empty: the fast model."""


class MemorySettings(Group):
    """What is remembered of earlier answers, per user (seed 001). Each user may switch it off for themselves."""

    env_prefix = "RAG_MEMORY_"

    enabled: Annotated[bool, LIVE] = True
    """For users who have not chosen."""


class FeedbackSettings(Group):
    """The feedback loop."""

    env_prefix = "RAG_FEEDBACK_"

    auto_live: Annotated[bool, LIVE] = True
    """A ranking change that passes its checks goes live automatically."""


# ------------------------------------------------------------------------------------------------ users
Days = Annotated[int, Field(ge=0, le=36_500), LIVE]


class LimitSettings(Group):
    env_prefix = "RAG_LIMIT_"

    message_chars: Annotated[Count, CONSTANT] = 8000  # of a question
    questions_per_minute: Annotated[Count, LIVE] = 30
    """Questions that one user may ask in a minute."""
    answers_at_once: Count = 2
    """Answers that are written at once for one user."""
    answer_timeout_s: Annotated[Seconds, CONSTANT] = (
        300.0  # the whole of one answer; beyond it, it has failed
    )


class QuotaSettings(Group):
    """What one user may take up. Staff and the site's own collections are free of it."""

    env_prefix = "RAG_QUOTA_"

    storage_mib: WholeNumber = 2048
    """Uploaded files of one user together, in MiB; 0: no bound."""
    documents: Annotated[WholeNumber, CONSTANT] = 2000  # of one user


class ConversationSettings(Group):
    env_prefix = "RAGSITE_"

    temporary_chat: Annotated[Literal["allowed", "forbidden", "enforced"], LIVE] = "allowed"
    """Temporary conversations, which are deleted after 24 hours and which nobody at the review desk reads: `allowed`,
    `forbidden`, or `enforced` for each new one. Those that have begun stay what they are."""


class RetentionSettings(Group):
    """After how many days what people asked, and what was made of it, is deleted (docs/operations.md); 0: never."""

    env_prefix = "RAGSITE_RETENTION_"

    conversations_days: Days = 0
    """Days after its last use until a conversation is deleted, with everything in it; 0: never."""
    archived_days: Days = 0
    """Days after its last use until an archived conversation is deleted; 0: never."""
    paths_days: Days = 0
    """Days after an answer until its steps and the prompts of its model calls are deleted; prompts are stored
    only when this is set; 0: never."""
    desk_log_days: Days = 0
    """Days that the log is stored: who read, changed and exported what as a reviewer or administrator; 0: for ever."""
    evidence_days: Days = 0
    """Days after a rating until its effect on the ranking is deleted; the rating itself stays; 0: never."""
    notifications_days: Days = 90
    """Days after which a person's notifications are deleted; of each person the newest 200 are stored; 0: never."""
    usage_days: Annotated[int, CONSTANT] = (
        396  # that the tokens used are stored by person, day and model: thirteen months
    )


class RagSettings(Group):
    """The settings of retrieval and answering: all groups but the site's own."""

    ollama: OllamaSettings = OllamaSettings()
    milvus: MilvusSettings = MilvusSettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    rewrite: RewriteSettings = RewriteSettings()
    rerank: RerankSettings = RerankSettings()
    compress: CompressSettings = CompressSettings()
    verify: VerifySettings = VerifySettings()
    answer: AnswerSettings = AnswerSettings()
    corrective: CorrectiveSettings = CorrectiveSettings()
    self_corrective: SelfCorrectiveSettings = SelfCorrectiveSettings()
    planned: PlannedSettings = PlannedSettings()
    memory: MemorySettings = MemorySettings()
    feedback: FeedbackSettings = FeedbackSettings()
    limits: LimitSettings = LimitSettings()
    quotas: QuotaSettings = QuotaSettings()
    conversations: ConversationSettings = ConversationSettings()
    retention: RetentionSettings = RetentionSettings()
    web_search: WebSearchSettings = WebSearchSettings()
    data_dir: str = "var"
    own_prompts: Mapping[
        str, str
    ] = {}  # by name with language, as `rewrite.en`: rows of the database

    @property
    def prompt_files(self) -> dict[str, str]:
        """Prompt → the file that a setting names in its place."""
        named = {"rewrite": self.rewrite.prompt, "rerank": self.rerank.prompt}
        return {prompt: path for prompt, path in named.items() if path}

    @model_validator(mode="after")
    def _default_workflow_is_offered(self) -> Self:
        if self.answer.workflow == "planned" and not self.planned.enabled:
            raise ValueError(
                "RAG_DEFAULT_WORKFLOW must not be planned where RAG_PLANNED_ENABLED is 0"
            )
        return self

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, data_dir: str = "var") -> Self:
        """Read every group. Raises SettingsError with the name of the first wrong variable."""
        groups: dict[str, Any] = {name: group.from_env(environ) for name, group in GROUPS.items()}
        return cls(**groups, data_dir=data_dir)


GROUPS: dict[str, type[Group]] = {
    name: field.annotation
    for name, field in RagSettings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Group)
}
