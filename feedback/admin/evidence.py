"""Why a document is up or down: the boosts that are in force, and the votes behind them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import answer_link, document_link, page_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, column
from feedback.curation.evidence_selectors import (
    RELATED,
    boosts_explained,
    events_on,
    live_boosts,
    manual_boosts_in_force,
    vote_shown,
    votes_on,
)
from feedback.models import Burst, Evidence
from feedback.rounds.live import feedback_state
from ragsite.core.localized import said
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt
from retrieval.models import Document

VIEW = "feedback.view_evidence"
PER_PAGE = 50
EVENTS = 30


class CountsFilter(admin.SimpleListFilter):
    """What stands in the way, by its rows: a vote may also be left out because its text is gone."""

    title = _("whether it counts")
    parameter_name = "left_out"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("none", said("It counts")), ("burst", said("Left out with a burst")),
            ("reset", said("Discarded by a reset")), ("text", said("Its text is gone")),
        ]  # fmt: skip

    def queryset(self, request: HttpRequest, queryset: QuerySet[Evidence]) -> QuerySet[Evidence]:
        by_burst = Q(burst__status__in=(Burst.Status.OPEN, Burst.Status.REJECTED))
        left_out = {"burst": by_burst, "reset": Q(discarded_by__isnull=False), "text": Q(passage__chunk_id=None)}
        if self.value() == "none":
            return queryset.exclude(by_burst | left_out["reset"] | left_out["text"])
        chosen = left_out.get(self.value() or "")
        return queryset.filter(chosen) if chosen else queryset


@admin.register(Evidence)
class EvidenceAdmin(ToolsAdmin, PartOfHistoryAdmin):
    """Every vote; from here to the documents."""

    list_display = ["document", "asked", "voter", "score", "for_question", "state"]
    list_filter = [CountsFilter]
    list_select_related = [*RELATED, "passage__document"]
    list_per_page = 50
    search_fields = ["question__text__icontains_han", "voter__username", "passage__document__title__icontains_han"]
    show_full_result_count = False
    fields = ["document", "asked", "answer", "voter", "score", "for_question", "for_document", "of_voter", "state"]
    readonly_fields = ["document", "asked", "answer", "score", "for_question", "for_document", "of_voter", "state"]
    nothing_yet = _("No votes yet: a round draws them from what users rate.")
    pages = [
        Page("document/<uuid:document_id>/", "document_view", "feedback_document_evidence", VIEW),
        Page("in-force/", "in_force_view", "feedback_in_force", VIEW),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Evidence]:
        return Evidence.objects.order_by("-pk")

    def list_tools(self, request: HttpRequest) -> list[Tool]:
        return [Tool(said("Boosts in force"), page_url("feedback_in_force"))]

    def in_force_view(self, request: HttpRequest) -> HttpResponse:
        """All boosts that are live, the strongest first, and those by hand."""
        page = Paginator(live_boosts(), PER_PAGE).get_page(request.GET.get("page"))
        context = {
            "title": said("Boosts in force"),
            "state": feedback_state(),
            "boosts_page": page,
            "boosts": boosts_explained(page.object_list),
            "manual": manual_boosts_in_force()[:200],
        }
        return self.own_page(request, "admin/feedback/in_force.html", context)

    def document_view(self, request: HttpRequest, document_id: UUID) -> HttpResponse:
        """Why this document is up or down."""
        document = get_object_or_404(Document.objects.select_related("collection"), pk=document_id)
        page = Paginator(votes_on(document=document), PER_PAGE).get_page(request.GET.get("page"))
        context = {
            "title": said("Why is “{title}” up or down?", title=excerpt(document.title, 80)),
            "document": document,
            "state": feedback_state(),
            "boosts": boosts_explained(live_boosts(document_id=document.pk)[:200]),
            "manual": manual_boosts_in_force().filter(document=document),
            "votes_page": page,
            "votes": [vote_shown(row) for row in page.object_list],
            "events": events_on(document)[:EVENTS],
            "may_decide": request.user.has_perm("feedback.change_revision"),
            "may_set": request.user.has_perm("feedback.add_manualboost"),
        }
        return self.own_page(request, "admin/feedback/document_evidence.html", context)

    document = column(
        _("Document"), lambda row: document_link(row.passage.document), ordering="passage__document__title"
    )
    asked = column(_("Question"), lambda row: excerpt(row.question.text))
    answer = column(_("Answer"), lambda row: answer_link(row.message))
    score = column(_("Rating"), lambda row: vote_shown(row).given())
    for_question = column(_("For this question"), lambda row: f"{row.weight:.2f}", ordering="weight")
    for_document = column(_("For the document"), lambda row: f"{row.document_weight:.2f}", ordering="document_weight")

    @admin.display(description=_("Voter's weight"))
    def of_voter(self, row: Evidence) -> str:
        vote = vote_shown(row)
        weight = "–" if vote.voter_weight is None else f"{vote.voter_weight:.2f}"
        return f"{weight} ({vote.why})" if vote.why else weight

    @admin.display(description=_("Counts"))
    def state(self, row: Evidence) -> str:
        vote = vote_shown(row)
        if vote.left_out or not row.weight:
            return vote.left_out or said("not for this question")
        return said("{weight} today", weight=f"{vote.counts_now:+.2f}")
