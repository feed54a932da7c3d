"""What conversations and answers can be filtered by. None looks with a join, so that no row comes twice."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Session
from chat.ratings import get_ratings
from chat.review import labels


class ConversationFilter(admin.SimpleListFilter):
    """Works on sessions (any of their answers) and on messages alike."""

    choices_of_answers: tuple[tuple[str, Any], ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> tuple[tuple[str, str], ...]:
        return self.choices_of_answers

    def condition(self, value: Any) -> Q:
        """Of the messages that match."""
        return Q(**{str(self.parameter_name): value})

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        own = {"session": OuterRef("pk")} if queryset.model is Session else {"pk": OuterRef("pk")}
        return queryset.filter(Exists(Message.objects.filter(self.condition(value), **own)))


class DecisionFilter(ConversationFilter):
    """ANSWER, CLARIFY or NO_ANSWER."""

    title, parameter_name = _("decision"), "decision"
    choices_of_answers = tuple((value, labels.DECISIONS.get(value, value)) for value in Message.Decision.values)


class StatusFilter(ConversationFilter):
    """Of answers alone: a question is always complete."""

    title, parameter_name = _("status"), "status"
    choices_of_answers = tuple((value, labels.STATUSES.get(value, value)) for value in Message.Status.values)

    def condition(self, value: str) -> Q:
        return Q(status=value, role=Message.Role.ASSISTANT)


class WorkflowFilter(ConversationFilter):
    """By the workflow that answered."""

    title, parameter_name = _("workflow"), "workflow"

    def lookups(self, request: HttpRequest, model_admin: Any) -> tuple[tuple[str, str], ...]:
        from retrieval.workflows import available_workflows  # takes seconds, and every command loads the admin

        return tuple((name, name) for name in available_workflows())


class DegradedFilter(ConversationFilter):
    """By whether a step of the answer fell back."""

    title = _("fallbacks")
    parameter_name = "degraded"
    choices_of_answers = (("yes", _("A fallback served")), ("no", _("Nothing fell back")))

    def condition(self, value: str) -> Q:
        answers = Q(role=Message.Role.ASSISTANT)
        return answers & ~Q(degraded=[]) if value == "yes" else answers & Q(degraded=[])


class RatingFilter(ConversationFilter):
    """With it the list is ordered by the worst rating first."""

    title, parameter_name = _("rating"), "rating"
    choices_of_answers = (("bad", _("Badly rated (1–2)")), ("good", _("Well rated (4–5)")), ("any", _("Rated")))

    def condition(self, value: str) -> Q:
        return get_ratings().rated_as("bad" if value == "bad" else "good" if value == "good" else "any")

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        # Of few answers: SQLite reads these once, where it would look into EXISTS for every row of the list.
        rated = Message.objects.filter(self.condition(value))
        return queryset.filter(pk__in=rated.values("session" if queryset.model is Session else "pk"))
