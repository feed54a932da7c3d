"""Boosts by hand: set, and ended, never edited, so that what was in force when stays known."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import document_link, page_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, WhyForm, column
from feedback.curation.evidence_selectors import manual_boosts_in_force
from feedback.curation.manual import MAX_MULTIPLIER, MIN_MULTIPLIER, manual_boost_end, manual_boost_set
from feedback.models import ManualBoost
from ragsite.core.api.user import asking_user
from ragsite.core.localized import said
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt
from retrieval.models import Chunk, Document

LIST = "feedback_manualboost_changelist"
CHANGE = "feedback.change_manualboost"


class ManualBoostForm(WhyForm):
    document = forms.ModelChoiceField(
        Document.objects.all(), label=_("Document"),
        widget=AutocompleteSelect(ManualBoost._meta.get_field("document"), admin.site),
    )  # fmt: skip
    chunk_id = forms.UUIDField(label=_("Chunk"), required=False, help_text=_("The id of one chunk; empty: all of it."))
    multiplier = forms.FloatField(
        label=_("Multiplier"),
        min_value=MIN_MULTIPLIER,
        max_value=MAX_MULTIPLIER,
        initial=1.0,
        help_text=_("0.5 lowers it, 2 lifts it; times what ratings say."),
    )
    hide = forms.BooleanField(label=_("Hide"), required=False, help_text=_("Never shown as a source."))
    expires_at = forms.DateTimeField(
        label=_("Until"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        help_text=_("Empty: until somebody ends it."),
    )  # fmt: skip
    field_order = ["document", "chunk_id", "multiplier", "hide", "expires_at", "why"]


class InForceFilter(admin.SimpleListFilter):
    title = _("in force")
    parameter_name = "in_force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", said("Yes")), ("no", said("Ended or expired"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ManualBoost]) -> QuerySet[ManualBoost]:
        in_force = manual_boosts_in_force().values("pk")
        if self.value() == "yes":
            return queryset.filter(pk__in=in_force)
        return queryset.exclude(pk__in=in_force) if self.value() == "no" else queryset


@admin.register(ManualBoost)
class ManualBoostAdmin(ToolsAdmin, PartOfHistoryAdmin):
    list_display = ["about", "effect", "in_force", "reason", "created_by", "until"]
    list_filter = [InForceFilter, "hide"]
    list_select_related = ["document", "created_by"]
    search_fields = ["document__title", "why", "created_by__username"]
    date_hierarchy = "created_at"
    fields = [
        "evidence", "chunk_id", "question", "effect", "in_force", "why", "created_by", "created_at", "expires_at",
        "ended_at", "ended_by",
    ]  # fmt: skip
    readonly_fields = ["evidence", "effect", "in_force"]
    nothing_yet = _(
        "Nothing is set by hand. “Add” lifts, lowers or hides a document, until a day or until somebody ends it."
    )
    pages = [Page("<uuid:boost_id>/end/", "end_view", "feedback_manualboost_end", CHANGE)]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("feedback.add_manualboost")

    def row_tools(self, request: HttpRequest, row: ManualBoost) -> list[Tool]:
        if row.ended_at is not None or not request.user.has_perm(CHANGE):
            return []
        return [Tool(said("End it"), page_url("feedback_manualboost_end", row.pk))]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied

        def done(boost: ManualBoost) -> str:
            title = excerpt(boost.document.title, 60)
            return said("“{title}”: {effect}. Searches see it in a moment.", title=title, effect=self.effect(boost))

        return self.form_page(
            request,
            title=said("Lift, lower or hide a document"),
            explanation=said(
                "Whatever ratings say, at once, in place of an earlier one on the same document or chunk."
            ),
            button=said("Set it"),
            back=page_url(LIST),
            act=partial(manual_boost_set, by=asking_user(request)),
            done=done,
            form=ManualBoostForm,
            initial={name: request.GET[name] for name in ("document", "chunk_id") if name in request.GET},
            facts=_passage(request.GET.get("chunk_id", "")),
        )

    def end_view(self, request: HttpRequest, boost_id: UUID) -> HttpResponse:
        boost = get_object_or_404(ManualBoost.objects.select_related("document"), pk=boost_id)
        return self.form_page(
            request,
            title=said("End a boost by hand"),
            explanation=said("The document is ranked as ratings say again, at once."),
            button=said("End it"),
            back=page_url(LIST),
            act=partial(manual_boost_end, boost=boost, by=asking_user(request)),
            done=said("The boost has ended."),
            facts=[
                (said("Document"), boost.document.title),
                (said("Effect"), self.effect(boost)),
                (said("Set because"), boost.why),
            ],
        )

    @admin.display(description=_("Document"), ordering="document__title")
    def about(self, boost: ManualBoost) -> str:
        title = excerpt(boost.document.title, 60)
        if boost.chunk_id and boost.question:
            return said("{title}, one chunk, for one question", title=title)
        if boost.chunk_id:
            return said("{title}, one chunk", title=title)
        return said("{title}, for one question", title=title) if boost.question else title

    evidence = column(_("Document"), lambda boost: document_link(boost.document))
    effect = column(_("Effect"), lambda boost: said("hidden") if boost.hide else f"× {boost.multiplier:g}")
    in_force = column(
        _("In force"),
        lambda boost: boost.ended_at is None and (boost.expires_at is None or boost.expires_at > timezone.now()),
        boolean=True,
    )

    @admin.display(description=_("Until"), ordering="expires_at")
    def until(self, boost: ManualBoost) -> str:
        if boost.ended_at:
            return said("ended on {time}", time=f"{timezone.localtime(boost.ended_at):%Y-%m-%d %H:%M}")
        if boost.expires_at:
            return f"{timezone.localtime(boost.expires_at):%Y-%m-%d %H:%M}"
        return said("until somebody ends it")

    reason = column(_("Why"), lambda boost: excerpt(boost.why))


def _passage(chunk_id: str) -> list[tuple[str, Any]]:
    """The text that a chunk's id stands for."""
    try:
        chunk = Chunk.objects.filter(pk=UUID(chunk_id)).first()
    except ValueError:
        return []
    return [(said("Passage"), excerpt(chunk.text, 300))] if chunk else []
