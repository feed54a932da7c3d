"""Bursts: many votes on one document on one day from few accounts, left out until a person decides."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from feedback.admin.links import document_link, page_url, row_url
from feedback.admin.pages import FormPage, Tool, ToolsAdmin, require, staff_of
from feedback.curation.evidence_selectors import votes_shown
from feedback.models import Burst
from feedback.rounds.bursts import burst_decide, burst_reopen
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt

CHANGE = "feedback.change_burst"
VOTES = 200


@admin.register(Burst)
class BurstAdmin(ToolsAdmin, PartOfHistoryAdmin):
    list_display = ["headline", "day", "votes", "accounts", "status", "decided_by", "decided_at"]
    list_filter = ["status"]
    list_select_related = ["document", "decided_by"]
    search_fields = ["document__title", "why"]
    date_hierarchy = "day"
    change_form_template = "admin/feedback/burst.html"
    fields = ["evidence", "day", "votes", "accounts", "status", "decided_by", "decided_at", "why"]
    readonly_fields = ["evidence"]
    nothing_yet = (
        "No bursts: nobody has put many votes on one document on one day. What a round finds waits here for a decision."
    )

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("<uuid:burst_id>/accept/", self.admin_site.admin_view(self.accept_view), name="feedback_burst_accept"),
            path("<uuid:burst_id>/reopen/", self.admin_site.admin_view(self.reopen_view), name="feedback_burst_reopen"),
            path("<uuid:burst_id>/reject/", self.admin_site.admin_view(self.reject_view), name="feedback_burst_reject"),
        ]
        return [*own, *super().get_urls()]

    def row_tools(self, request: HttpRequest, row: Burst) -> list[Tool]:
        if not request.user.has_perm(CHANGE):
            return []
        if row.status != Burst.Status.OPEN:
            return [Tool("Decide anew", page_url("feedback_burst_reopen", row.pk))]
        return [
            Tool("Count its votes", page_url("feedback_burst_accept", row.pk)),
            Tool("Leave them out", page_url("feedback_burst_reject", row.pk)),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = dict(extra_context or {})
        if (burst := self.get_object(request, object_id)) is not None:
            related = ("rating__message", "question", "passage", "voter", "burst", "discarded_by")
            context["burst_votes"] = votes_shown(burst.evidence.select_related(*related)[:VOTES])
        return super().change_view(request, object_id, form_url, context)

    def accept_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        return self._decide(
            request, burst_id, accept=True, title="Count these votes", explanation="They count from the next round on."
        )

    def reject_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        explanation = "They do not count. To discard all that an account has said, reset the rater."
        return self._decide(request, burst_id, accept=False, title="Leave these votes out", explanation=explanation)

    def reopen_view(self, request: HttpRequest, burst_id: UUID) -> HttpResponse:
        require(request, CHANGE)
        burst = get_object_or_404(Burst.objects.select_related("document", "decided_by"), pk=burst_id)

        def act(given: dict[str, Any]) -> str:
            burst_reopen(burst=burst, by=staff_of(request), why=given["why"])
            return "The burst waits for a decision again."

        return FormPage(
            title="Take the decision back",
            explanation="The votes are left out until somebody decides on them again.",
            button="Take it back",
            back=row_url(burst),
            act=act,
            facts=[
                *_facts(burst), ("Decision", burst.get_status_display()), ("By", burst.decided_by or "–"),
                ("Because", burst.why or "–"),
            ],
        ).response(self, request)  # fmt: skip

    def _decide(
        self, request: HttpRequest, burst_id: UUID, *, accept: bool, title: str, explanation: str
    ) -> HttpResponse:
        require(request, CHANGE)
        burst = get_object_or_404(Burst.objects.select_related("document"), pk=burst_id)

        def act(given: dict[str, Any]) -> str:
            burst_decide(burst=burst, accept=accept, by=staff_of(request), why=given["why"])
            return f"{burst.votes} votes {'count from the next round on' if accept else 'are left out'}."

        return FormPage(
            title=title,
            explanation=explanation,
            button=title,
            back=row_url(burst),
            act=act,
            facts=_facts(burst),
        ).response(self, request)

    @admin.display(description="Document", ordering="document__title")
    def headline(self, burst: Burst) -> str:
        return excerpt(burst.document.title, 60)

    @admin.display(description="Document")
    def evidence(self, burst: Burst) -> SafeString:
        return document_link(burst.document)


def _facts(burst: Burst) -> list[tuple[str, Any]]:
    return [
        ("Document", burst.document.title), ("Day", burst.day), ("Votes", burst.votes), ("Accounts", burst.accounts),
    ]  # fmt: skip
