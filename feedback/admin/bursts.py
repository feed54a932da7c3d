"""Bursts: votes that look as if few people had many, left out until a person decides."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import document_link, page_url, row_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, column
from feedback.curation.evidence_selectors import RELATED, vote_shown
from feedback.models import Burst
from feedback.rounds.bursts import burst_decide, burst_reopen
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized, said
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt

CHANGE = "feedback.change_burst"
VOTES = 200


@admin.register(Burst)
class BurstAdmin(ToolsAdmin, PartOfHistoryAdmin):
    list_display = ["headline", "kind", "day", "votes", "accounts", "status", "decided_by", "decided_at"]
    list_filter = ["status", "kind"]
    list_select_related = ["document", "question", "decided_by"]
    search_fields = ["document__title", "why"]
    date_hierarchy = "day"
    change_form_template = "admin/feedback/burst.html"
    fields = [
        "evidence",
        "kind",
        "asked",
        "explained",
        "day",
        "votes",
        "accounts",
        "status",
        "decided_by",
        "decided_at",
        "why",
    ]
    readonly_fields = ["evidence", "asked", "explained"]
    nothing_yet = _(
        "No bursts: neither have few accounts put many votes on one document, nor new ones all voted alike. What "
        "a round finds waits here for a decision."
    )
    pages = [
        Page("<uuid:burst_id>/accept/", "accept_view", "feedback_burst_accept", CHANGE),
        Page("<uuid:burst_id>/reject/", "reject_view", "feedback_burst_reject", CHANGE),
        Page("<uuid:burst_id>/reopen/", "reopen_view", "feedback_burst_reopen", CHANGE),
    ]

    def row_tools(self, request: HttpRequest, row: Burst) -> list[Tool]:
        if not request.user.has_perm(CHANGE):
            return []
        if row.status != Burst.Status.OPEN:
            return [Tool(said("Decide anew"), page_url("feedback_burst_reopen", row.pk))]
        return [
            Tool(said("Count its votes"), page_url("feedback_burst_accept", row.pk)),
            Tool(said("Leave them out"), page_url("feedback_burst_reject", row.pk)),
        ]

    def row_context(self, request: HttpRequest, row: Burst) -> dict[str, Any]:
        votes = [vote_shown(vote) for vote in row.evidence.select_related(*RELATED)[:VOTES]]
        return {**super().row_context(request, row), "burst_votes": votes}

    def accept_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        texts = (
            said("Count these votes"),
            said("They count from the next round on."),
            said("These votes count from the next round on."),
        )
        return self._decide(request, burst_id, True, *texts)

    def reject_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        texts = (
            said("Leave these votes out"),
            said("They do not count. To discard all votes of an account, reset the rater."),
            said("These votes are left out."),
        )
        return self._decide(request, burst_id, False, *texts)

    def _decide(
        self, request: HttpRequest, burst_id: UUID, accept: bool, title: str, explanation: str, done: str
    ) -> HttpResponse:
        burst = get_object_or_404(Burst.objects.select_related("document"), pk=burst_id)
        return self.form_page(
            request,
            title=title,
            explanation=explanation,
            button=title,
            back=row_url(burst),
            act=partial(burst_decide, burst=burst, accept=accept, by=asking_user(request)),
            done=done,
            facts=_facts(burst),
        )

    def reopen_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        burst = get_object_or_404(Burst.objects.select_related("document", "decided_by"), pk=burst_id)
        return self.form_page(
            request,
            title=said("Take the decision back"),
            explanation=said("The votes are left out until somebody decides on them again."),
            button=said("Take it back"),
            back=row_url(burst),
            act=partial(burst_reopen, burst=burst, by=asking_user(request)),
            done=said("The burst waits for a decision again."),
            facts=[
                *_facts(burst), (said("Decision"), burst.get_status_display()), (said("By"), burst.decided_by or "–"),
                (said("Because"), burst.why or "–"),
            ],
        )  # fmt: skip

    headline = column(_("Document"), lambda burst: excerpt(burst.document.title, 60), ordering="document__title")
    evidence = column(_("Document"), lambda burst: document_link(burst.document))
    asked = column(_("Question"), lambda burst: burst.question.text if burst.question else said("any"))
    explained = column(_("Why it waits"), lambda burst: localized(burst.explanation()))


def _facts(burst: Burst) -> list[tuple[str, Any]]:
    return [
        (said("Document"), burst.document.title), (said("Why it waits"), localized(burst.explanation())),
        (said("Date"), burst.day), (said("Votes"), burst.votes), (said("Accounts"), burst.accounts),
    ]  # fmt: skip
