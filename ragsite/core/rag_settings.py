"""Every variable of the engine, in one typed place: with those of servers and of search, workflows and limits.

`RagSettings.from_env(environ)` reads them once, at start. Each field of each group has a default and can be set by an
environment variable. Numbers that nobody would change are constants beside their use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ragsite.core.search_settings import (
    CompressSettings,
    IngestSettings,
    PositionStrategy,
    RerankSettings,
    RewriteSettings,
    SearchSettings,
    VerifySettings,
)
from ragsite.core.server_settings import MilvusSettings, OllamaSettings, WebSearchSettings
from ragsite.core.settings_group import (
    CONSTANT,
    LIVE,
    Count,
    Group,
    Seconds,
    Share,
    WholeNumber,
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
