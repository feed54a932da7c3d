"""Conversations in the administration: tables to search, never edited. People read them at the review desk."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model, Q
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from chat.models import AnswerReview, DecisionStep, Message, Session, Source
from chat.review.marks import readings_log
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin, excerpt


class LogsReading(admin.ModelAdmin):
    """Mixin: who opens a row has read its answers, which the desk's log tells as of who reads at the desk."""

    show_full_result_count = False

    def answers_read(self, row: Any) -> Q:
        """The answers that the page of this row shows, of `AnswerReview`."""
        return Q(message=row.message_id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().change_view(request, object_id, form_url, extra_context)
        row: Model | None = self.get_object(request, object_id) if request.method == "GET" else None
        if row is not None and isinstance(request.user, User):
            readings_log(user=request.user, rows=AnswerReview.objects.filter(self.answers_read(row)))
        return response


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["__str__", "user", "workflow", "updated_at"]
    list_select_related = ["user"]
    search_fields = ["title__icontains_han", "user__username"]
    date_hierarchy = "created_at"
    ordering = ["-updated_at"]
    show_full_result_count = False
    fields = ["title", "user", "workflow", "collections", "created_at", "updated_at"]


@admin.register(Message)
class MessageAdmin(PartOfHistoryAdmin, LogsReading):
    list_display = ["__str__", "session", "role", "decision", "status", "workflow", "model", "created_at"]
    list_filter = ["role", "decision", "status", "workflow"]
    list_select_related = ["session"]
    search_fields = ["text__icontains_han", "session__user__username"]
    date_hierarchy = "created_at"
    fields = [
        "session", "role", "text", "decision", "status", "workflow", "model", "superseded", "created_at", "finished_at",
    ]  # fmt: skip

    def answers_read(self, row: Message) -> Q:
        return Q(message=row) | Q(message__reply_to=row)


@admin.register(Source)
class SourceAdmin(PartOfHistoryAdmin, LogsReading):
    """Passages that were given to the model, over all answers."""

    list_display = ["title", "marker", "page", "cited", "passage", "message"]
    list_filter = ["cited"]
    list_select_related = ["message"]
    search_fields = ["title__icontains_han", "text__icontains_han", "chunk_id"]
    fields = ["message", "marker", "title", "page", "heading", "text", "cited"]

    @admin.display(description=_("Text"))
    def passage(self, source: Source) -> str:
        return excerpt(source.text)


@admin.register(DecisionStep)
class DecisionStepAdmin(PartOfHistoryAdmin, LogsReading):
    """Steps of all answers, to look for slow or failing ones."""

    list_display = ["name", "status", "duration_ms", "message"]
    list_filter = ["status", "name"]
    list_select_related = ["message"]
    fields = ["message", "seq", "name", "status", "started_ms", "duration_ms"]
