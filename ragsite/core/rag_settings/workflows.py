"""The workflows: thresholds, attempts, time limits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from ragsite.core.rag_settings.fields import Count, Group, Seconds, Share, WholeNumber


class AnswerSettings(Group):
    model_config = SettingsConfigDict(env_prefix="RAG_ANSWER_")

    workflow: Literal["corrective", "self_corrective", "dual_loop", "planned", "react"] = Field(
        "corrective", validation_alias="RAG_DEFAULT_WORKFLOW"
    )
    """The workflow of questions that name none."""


class CorrectiveSettings(Group):
    """The default workflow (seed 003). Thresholds are probabilities, 0-1."""

    model_config = SettingsConfigDict(env_prefix="RAG_CORRECTIVE_")

    good_score: Share = 0.4
    """Without a model: the estimated probability from which what is quoted counts as an answer."""
    weak_score: Share = 0.35
    """Below it better words are looked for beside the first writing."""
    max_refine_rounds: WholeNumber = 3
    """Times that it searches again before it gives up."""
    context_passages: Count = 12
    """Passages given to the answering model at most, as far as half of its context holds them."""
    timeout_s: Seconds = 180.0
    """A whole answer."""


class SelfCorrectiveSettings(Group):
    """Every document graded by itself, and searched again in other words (seed 000)."""

    model_config = SettingsConfigDict(env_prefix="RAG_SELF_CORRECTIVE_")

    pass_rate: Share = 0.6
    """Share of relevant documents from which it is answered."""
    max_rewrites: int = Field(3, ge=0, le=10)
    """Searches in other words; then it answers from what passed."""
    allowed_addresses: str = ""
    """Addresses that `milvusConfig.address` may name, with commas: all of them mean this site's own index, and none
    is ever connected to."""


class PlannedSettings(Group):
    """The workflow that plans (seed 002 §8). Scores are 0-1."""

    model_config = SettingsConfigDict(env_prefix="RAG_PLANNED_")

    max_retries: WholeNumber = 2
    """Times that the plan is mended after a reflection."""
    planner_model: str = ""
    """The model that makes the plan; empty: the fast model."""


class MemorySettings(Group):
    """What is remembered of earlier answers, per user (seed 001). Each user may switch it off for themselves."""

    model_config = SettingsConfigDict(env_prefix="RAG_MEMORY_")

    enabled: bool = True
    """For users who have not said otherwise."""
