"""A conversation as a reviewer reads it: every answer with its way, its sources, its ratings, in few queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator

from chat.models import DecisionStep, Message, Session, Source
from chat.ratings import Rating, get_ratings
from chat.review.labels import SCORES, answer_status, decision_label, score_label, step_label, step_status
from ragsite.core.localized import localized
from ragsite.core.read_only_admin import pretty_json
from retrieval.models import Document

MESSAGES_PER_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedSource:
    """`scores`: one column each, in the order of `SCORES`; None where a stage did not see it."""

    source: Source
    scores: tuple[float | None, ...]
    document_exists: bool
    ratings: tuple[Rating, ...]

    @property
    def named_scores(self) -> list[tuple[str, float | None]]:
        return list(zip(map(score_label, SCORES), self.scores, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedStep:
    """`detail`: its inputs and outputs as JSON text, empty where there are none."""

    step: DecisionStep
    summary: str
    detail: str

    @property
    def name(self) -> str:
        """web search"""
        return step_label(self.step.name)

    @property
    def status_text(self) -> str:
        return step_status(self.step.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedMessage:
    """A question, which has neither sources nor steps, or an answer."""

    message: Message
    sources: tuple[ReviewedSource, ...]
    steps: tuple[ReviewedStep, ...]
    ratings: tuple[Rating, ...]  # of the answer as a whole

    @property
    def usage(self) -> dict[str, Any]:
        return self.message.usage if isinstance(self.message.usage, dict) else {}

    @property
    def decision(self) -> str:
        return decision_label(self.message.decision)

    @property
    def status(self) -> str:
        return answer_status(self.message.status)

    @property
    def reason(self) -> str:
        return str(localized(self.message.reason, self.message.wordings))

    @property
    def error_text(self) -> str:
        return str(localized(self.message.error["content"], self.message.wordings)) if self.message.error else ""

    @property
    def fallbacks(self) -> list[dict[str, str]]:
        return [
            {"step": step_label(fallback["step"]), "reason": localized(fallback["reason"], self.message.wordings)}
            for fallback in self.message.degraded
        ]


def conversation_page(*, session: Session, page: str | int | None = 1) -> Page[Message]:
    """Messages in the order in which they were written, `MESSAGES_PER_PAGE` to a page; a wrong page is the nearest."""
    messages = session.messages.order_by("created_at", "id").prefetch_related("sources", "decision_steps")
    return Paginator(get_ratings().with_ratings(messages), MESSAGES_PER_PAGE).get_page(page)


def reviewed_messages(messages: Iterable[Message]) -> list[ReviewedMessage]:
    """The messages with everything that belongs to them; which documents still exist is asked once."""
    messages = list(messages)
    wanted = {source.document_id for message in messages for source in message.sources.all() if source.document_id}
    existing: set[UUID] = set(Document.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    return [_reviewed(message, existing) for message in messages]


def _reviewed(message: Message, existing: set[UUID]) -> ReviewedMessage:
    ratings: list[Rating] = message.shown_ratings  # type: ignore[attr-defined]
    return ReviewedMessage(
        message=message,
        steps=tuple(
            ReviewedStep(
                step=step,
                summary=localized(step.summary, message.wordings),
                detail=pretty_json(localized(step.detail, message.wordings)) if step.detail else "",
            )
            for step in message.decision_steps.all()
        ),
        ratings=tuple(rating for rating in ratings if rating.source_id is None),
        sources=tuple(
            ReviewedSource(
                source=source,
                scores=tuple(source.scores.get(name) for name in SCORES),
                document_exists=source.document_id in existing,
                ratings=tuple(rating for rating in ratings if rating.source_id == source.pk),
            )
            for source in message.sources.all()
        ),
    )
