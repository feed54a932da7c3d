"""Conversations in the administration: tables to search, never edited. People read them at the review desk."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from chat.models import AnswerReview, Assistant, Message, Session
from chat.review.marks import readings_log
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["__str__", "user", "workflow", "updated_at"]
    list_select_related = ["user"]
    search_fields = ["title__icontains_han", "user__username"]
    date_hierarchy = "created_at"
    ordering = ["-updated_at"]
    show_full_result_count = False
    fields = ["title", "user", "workflow", "collections", "created_at", "updated_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        """Without those that are not kept, which are their owners' alone."""
        return super().get_queryset(request).filter(kept=True)


@admin.register(Assistant)
class AssistantAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["__str__", "owner", "visibility", "is_default", "version", "updated_at"]
    list_filter = ["visibility", "is_default"]
    list_select_related = ["owner"]
    search_fields = ["name__icontains_han", "owner__username"]
    fields = [
        "name",
        "owner",
        "description",
        "instructions",
        "collections",
        "workflow",
        "model",
        "visibility",
        "is_default",
        "version",
        "created_at",
        "updated_at",
    ]


@admin.register(Message)
class MessageAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = [
        "__str__",
        "session",
        "role",
        "decision",
        "status",
        "workflow",
        "model",
        "created_at",
    ]
    list_filter = ["role", "decision", "status", "workflow"]
    list_select_related = ["session"]
    search_fields = ["text__icontains_han", "session__user__username"]
    date_hierarchy = "created_at"
    show_full_result_count = False
    fields = [
        "session",
        "role",
        "text",
        "decision",
        "status",
        "workflow",
        "model",
        "superseded",
        "created_at",
        "finished_at",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        return super().get_queryset(request).filter(session__kept=True)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Opening an answer or its question counts as reading it, which the desk's log records like readings at the
        desk."""
        response = super().change_view(request, object_id, form_url, extra_context)
        row = self.get_object(request, object_id) if request.method == "GET" else None
        if row is not None and isinstance(request.user, User):
            shown = AnswerReview.objects.filter(Q(message=row) | Q(message__reply_to=row))
            readings_log(user=request.user, rows=shown)
        return response
