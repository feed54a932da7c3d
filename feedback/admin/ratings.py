"""Ratings, with the answer and the source that they are about; and the knowledge gaps."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import answer_link, page_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, column
from feedback.curation import gap_selectors
from feedback.curation.downloads import gaps_file
from feedback.curation.gap_selectors import MAX_DAYS, knowledge_gaps
from feedback.models import Rating
from ragsite.core.localized import said
from ragsite.core.read_only_admin import ReadOnlyAdmin, excerpt
from retrieval.collection_addresses import MAX_ADDRESS_CHARS

VIEW = "feedback.view_rating"
GAPS_PER_PAGE = 50


class TagFilter(admin.SimpleListFilter):
    title = _("tag")
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(label)) for value, label in Rating.Tag.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rating]) -> QuerySet[Rating]:
        # As text: SQLite has no containment for JSON. The quotes keep one tag from matching inside another.
        return queryset.filter(tags__icontains=f'"{self.value()}"') if self.value() else queryset


class TargetFilter(admin.SimpleListFilter):
    title = _("what was rated")
    parameter_name = "target"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("answer", said("A whole answer")), ("source", said("A source"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rating]) -> QuerySet[Rating]:
        return queryset.filter(source__isnull=self.value() == "answer") if self.value() else queryset


class GapForm(forms.Form):
    collection = forms.CharField(
        label=_("Collection"),
        required=False,
        max_length=MAX_ADDRESS_CHARS,
        help_text=_("A name, or owner/name; empty: all."),
    )
    days = forms.IntegerField(label=_("Days back"), required=False, min_value=1, max_value=MAX_DAYS)

    def chosen(self) -> dict[str, Any]:
        """Only what was filled in."""
        return {name: value for name, value in self.cleaned_data.items() if value}


@admin.register(Rating)
class RatingAdmin(ToolsAdmin, ReadOnlyAdmin):
    list_display = ["stars", "user", "question", "rated_source", "tag_list", "remark", "decision", "updated_at"]
    list_filter = ["score", TagFilter, TargetFilter, "message__decision", "message__workflow"]
    list_select_related = ["user", "message__reply_to", "source"]
    list_per_page = 50
    search_fields = [
        "comment__icontains_han", "user__username", "message__reply_to__text__icontains_han",
        "message__text__icontains_han", "source__title__icontains_han",
    ]  # fmt: skip
    date_hierarchy = "updated_at"
    fields = ["user", "question", "answer", "rated_source", "stars", "tag_list", "comment", "created_at", "updated_at"]
    readonly_fields = ["question", "answer", "rated_source", "stars", "tag_list"]
    nothing_yet = _("Nobody has rated anything yet: the thumbs stand below each answer and each source.")
    pages = [
        Page("gaps/", "gaps_view", "feedback_gaps", VIEW),
        Page("gaps/export/", "gaps_export_view", "feedback_gaps_export", VIEW),
    ]

    def list_tools(self, request: HttpRequest) -> list[Tool]:
        return [Tool(said("Knowledge gaps"), page_url("feedback_gaps"))]

    def gaps_view(self, request: HttpRequest) -> HttpResponse:
        """Questions that were not answered well, by what they are about."""
        form = GapForm(request.GET)
        gaps = knowledge_gaps(**form.chosen()) if form.is_valid() else []
        page = Paginator(gaps, GAPS_PER_PAGE).get_page(request.GET.get("page"))
        context = {
            "title": said("Knowledge gaps"),
            "form": form,
            "gaps": page,
            "days": form.chosen().get("days", gap_selectors.GAP_DAYS) if form.is_valid() else None,
            "filters": urlencode(form.chosen()) if form.is_valid() else "",
        }
        return self.own_page(request, "admin/feedback/gaps.html", context)

    def gaps_export_view(self, request: HttpRequest) -> HttpResponse:
        form = GapForm(request.GET)
        chosen = form.chosen() if form.is_valid() else {}
        return gaps_file(partial(knowledge_gaps, **chosen), "json" if request.GET.get("format") == "json" else "csv")

    stars = column(_("Rating"), lambda rating: f"{rating.score}/5", ordering="score")

    @admin.display(description=_("Question"))
    def question(self, rating: Rating) -> SafeString:
        asked = rating.message.reply_to
        return answer_link(rating.message, text=asked.text if asked else "")

    answer = column(_("Answer"), lambda rating: answer_link(rating.message))
    rated_source = column(_("Source"), lambda rating: str(rating.source) if rating.source else "–")
    tag_list = column(_("Tags"), lambda rating: rating.tags_text() or "–")
    remark = column(_("Comment"), lambda rating: excerpt(rating.comment) or "–")
    decision = column(
        _("Decision"), lambda rating: rating.message.get_decision_display() or "–", ordering="message__decision"
    )
