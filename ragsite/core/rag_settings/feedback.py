"""What ratings may do to ranking, and what they must not."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from ragsite.core.rag_settings.fields import Group


class FeedbackSettings(Group):
    """The feedback loop: evidence, boosts, the guard, abuse. A vote is a rating of full weight."""

    model_config = SettingsConfigDict(env_prefix="RAG_FEEDBACK_")

    auto_live: bool = True
    """A revision that passes the guard goes live by itself."""
