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

from ragsite.core.rag_settings.feedback import FeedbackSettings
from ragsite.core.rag_settings.fields import SettingsError
from ragsite.core.rag_settings.retrieval import (
    CompressSettings,
    DecomposeSettings,
    DedupeSettings,
    GradeSettings,
    HydeSettings,
    IngestSettings,
    RerankSettings,
    RewriteSettings,
    RouteSettings,
    SearchSettings,
    StepBackSettings,
    VerifySettings,
)
from ragsite.core.rag_settings.services import MilvusSettings, OllamaSettings, WebSearchSettings
from ragsite.core.rag_settings.site import LimitSettings, QuotaSettings, StorageSettings
from ragsite.core.rag_settings.workflows import (
    CorrectiveSettings,
    DualLoopSettings,
    MemorySettings,
    PlannedSettings,
    ReactSettings,
    SelfCorrectiveSettings,
)

__all__ = [
    "SECTIONS",
    "CompressSettings",
    "CorrectiveSettings",
    "DecomposeSettings",
    "DedupeSettings",
    "DualLoopSettings",
    "FeedbackSettings",
    "GradeSettings",
    "HydeSettings",
    "IngestSettings",
    "LimitSettings",
    "MemorySettings",
    "MilvusSettings",
    "OllamaSettings",
    "PlannedSettings",
    "QuotaSettings",
    "RagSettings",
    "ReactSettings",
    "RerankSettings",
    "RewriteSettings",
    "RouteSettings",
    "SearchSettings",
    "SelfCorrectiveSettings",
    "SettingsError",
    "StepBackSettings",
    "StorageSettings",
    "VerifySettings",
    "WebSearchSettings",
    "variable_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RagSettings:
    """All sections. The prefix of a section's variables is in `PREFIXES`."""

    ollama: OllamaSettings = field(default_factory=OllamaSettings)
    milvus: MilvusSettings = field(default_factory=MilvusSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    route: RouteSettings = field(default_factory=RouteSettings)
    rewrite: RewriteSettings = field(default_factory=RewriteSettings)
    hyde: HydeSettings = field(default_factory=HydeSettings)
    step_back: StepBackSettings = field(default_factory=StepBackSettings)
    decompose: DecomposeSettings = field(default_factory=DecomposeSettings)
    dedupe: DedupeSettings = field(default_factory=DedupeSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    compress: CompressSettings = field(default_factory=CompressSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    grade: GradeSettings = field(default_factory=GradeSettings)
    corrective: CorrectiveSettings = field(default_factory=CorrectiveSettings)
    self_corrective: SelfCorrectiveSettings = field(default_factory=SelfCorrectiveSettings)
    dual_loop: DualLoopSettings = field(default_factory=DualLoopSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    planned: PlannedSettings = field(default_factory=PlannedSettings)
    react: ReactSettings = field(default_factory=ReactSettings)
    feedback: FeedbackSettings = field(default_factory=FeedbackSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    quotas: QuotaSettings = field(default_factory=QuotaSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
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
    "route": (RouteSettings, "RAG_ROUTE_"),
    "rewrite": (RewriteSettings, "RAG_REWRITE_"),
    "hyde": (HydeSettings, "RAG_HYDE_"),
    "step_back": (StepBackSettings, "RAG_STEP_BACK_"),
    "decompose": (DecomposeSettings, "RAG_DECOMPOSE_"),
    "dedupe": (DedupeSettings, "RAG_DEDUPE_"),
    "rerank": (RerankSettings, "RAG_RERANK_"),
    "compress": (CompressSettings, "RAG_COMPRESS_"),
    "verify": (VerifySettings, "RAG_VERIFY_"),
    "grade": (GradeSettings, "RAG_GRADE_"),
    "corrective": (CorrectiveSettings, "RAG_CORRECTIVE_"),
    "self_corrective": (SelfCorrectiveSettings, "RAG_SELF_CORRECTIVE_"),
    "dual_loop": (DualLoopSettings, "RAG_DUAL_LOOP_"),
    "memory": (MemorySettings, "RAG_MEMORY_"),
    "planned": (PlannedSettings, "RAG_PLANNED_"),
    "react": (ReactSettings, "RAG_REACT_"),
    "feedback": (FeedbackSettings, "RAG_FEEDBACK_"),
    "limits": (LimitSettings, "RAG_LIMIT_"),
    "quotas": (QuotaSettings, "RAG_QUOTA_"),
    "storage": (StorageSettings, "RAG_STORAGE_"),
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
