"""Every variable of the site and of its engine, in one typed place.

`SiteSettings.from_env(environ)` and `RagSettings.from_env(environ)` read them once, at start. Each field of each group
has a default and can be set by an environment variable: the group's prefix and the field's name, e.g.
`RAG_SEARCH_TOP_K`, or the name that the field itself gives. A wrong value is refused with the variable's name. Numbers
that nobody would change are constants beside their use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from ragsite.core.rag_settings.engine import (
    AnswerSettings,
    CompressSettings,
    CorrectiveSettings,
    FeedbackSettings,
    IngestSettings,
    MemorySettings,
    MilvusSettings,
    OllamaSettings,
    RerankSettings,
    RewriteSettings,
    SearchSettings,
    SelfCorrectiveSettings,
    ServerAddress,
    VerifySettings,
    WebSearchSettings,
)
from ragsite.core.rag_settings.fields import Group, SettingsError
from ragsite.core.rag_settings.site import (
    LimitSettings,
    Oidc,
    QuotaSettings,
    RetentionSettings,
    SiteSettings,
    email_settings,
)

__all__ = [
    "GROUPS",
    "AnswerSettings",
    "CompressSettings",
    "CorrectiveSettings",
    "FeedbackSettings",
    "IngestSettings",
    "LimitSettings",
    "MemorySettings",
    "MilvusSettings",
    "Oidc",
    "OllamaSettings",
    "QuotaSettings",
    "RagSettings",
    "RerankSettings",
    "RetentionSettings",
    "RewriteSettings",
    "SearchSettings",
    "SelfCorrectiveSettings",
    "ServerAddress",
    "SettingsError",
    "SiteSettings",
    "VerifySettings",
    "WebSearchSettings",
    "email_settings",
]


class RagSettings(BaseModel):
    """The settings of retrieval and answering: all groups but the site's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    memory: MemorySettings = MemorySettings()
    feedback: FeedbackSettings = FeedbackSettings()
    limits: LimitSettings = LimitSettings()
    quotas: QuotaSettings = QuotaSettings()
    retention: RetentionSettings = RetentionSettings()
    web_search: WebSearchSettings = WebSearchSettings()
    data_dir: str = "var"
    prompts_dir: str = ""

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, data_dir: str = "var", prompts_dir: str = "") -> Self:
        """Read every group. Raises SettingsError with the name of the first wrong variable."""
        groups: dict[str, Any] = {name: group.from_env(environ) for name, group in GROUPS.items()}
        return cls(**groups, data_dir=data_dir, prompts_dir=prompts_dir)

    def replace(self, **changes: Any) -> Self:
        """A copy with other groups or folders. Raises pydantic.ValidationError."""
        return type(self)(**{**dict(self), **changes})


GROUPS: dict[str, type[Group]] = {
    name: field.annotation
    for name, field in RagSettings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Group)
}
