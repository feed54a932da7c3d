"""Ratings: worst first, with the answer and the source that they are about."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from feedback.models import Rating
from ragsite.read_only_admin import ReadOnlyAdmin, excerpt


class TagFilter(admin.SimpleListFilter):
    title = "tag"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value.replace("_", " ")) for value in Rating.Tag.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rating]) -> QuerySet[Rating]:
        # As text: SQLite has no containment for JSON. The quotes keep one tag from matching inside another.
        return queryset.filter(tags__icontains=f'"{self.value()}"') if self.value() else queryset


class TargetFilter(admin.SimpleListFilter):
    title = "what was rated"
    parameter_name = "target"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("answer", "A whole answer"), ("source", "A source")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rating]) -> QuerySet[Rating]:
        return queryset.filter(source__isnull=self.value() == "answer") if self.value() else queryset


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["score", "user", "answer", "rated_source", "tag_list", "remark", "decision", "updated_at"]
    list_filter = ["score", TagFilter, TargetFilter, "message__decision", "message__workflow"]
    list_select_related = ["user", "message", "source"]
    list_per_page = 50
    search_fields = ["comment", "user__username", "message__text", "source__title"]
    date_hierarchy = "updated_at"
    fields = ["user", "answer", "rated_source", "score", "tags", "comment", "created_at", "updated_at"]
    readonly_fields = ["answer", "rated_source"]

    @admin.display(description="Answer")
    def answer(self, rating: Rating) -> SafeString:
        url = reverse("admin:chat_session_change", args=[quote(str(rating.message.session_id))])
        text = excerpt(rating.message.text, 60) or "(empty)"
        return format_html('<a href="{}#message-{}">{}</a>', url, rating.message_id, text)

    @admin.display(description="Source")
    def rated_source(self, rating: Rating) -> str:
        return str(rating.source) if rating.source else "–"

    @admin.display(description="Tags")
    def tag_list(self, rating: Rating) -> str:
        return ", ".join(map(str, rating.tags)) or "–"

    @admin.display(description="Comment")
    def remark(self, rating: Rating) -> str:
        return excerpt(rating.comment) or "–"

    @admin.display(description="Decision", ordering="message__decision")
    def decision(self, rating: Rating) -> str:
        return rating.message.decision or "–"
