"""The log: who did what, when and why; and where a reset is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import document_link, page_url, revision_link, row_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, column
from feedback.models import ROUND_STATUSES, Burst, CuratedAnswer, GoldenQuestion, RevisionEvent
from feedback.rounds.resets import reset_undo
from feedback.rounds.round import RoundOutcome
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized, said
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt
from retrieval.models import Document

CHANGE = "feedback.change_revision"
RESETS = (RevisionEvent.Action.RESET_DOCUMENT, RevisionEvent.Action.RESET_RATER)
COUNTS = {  # what a round makes and what a revision has
    "ratings": _("new or changed ratings"), "evidence": _("votes"), "votes": _("votes that count"),
    "bursts": _("bursts"),    "query_boosts": _("boosts for questions"), "document_boosts": _("boosts of documents"),
    "silenced_voters": _("voters who count for nothing"),
    "added": _("added"), "changed": _("changed"), "removed": _("removed"),
}  # fmt: skip
NAMES = {
    **COUNTS, "to": _("back to revision"), "question": _("question"), "collection": _("collection"),
    "enabled": _("measured"), "set": _("set"), "expects": _("expects"), "relevant": _("relevant"),
    "end": _("why it ended"), "multiplier": _("multiplier"), "hide": _("hidden"), "kind": _("kind"),
    "accounts": _("accounts"),
}  # fmt: skip
CHOICES = {  # what values of some facts are called
    "kind": Burst.Kind.choices, "end": CuratedAnswer.End.choices, "expects": GoldenQuestion.Expected.choices,
}  # fmt: skip


@admin.register(RevisionEvent)
class RevisionEventAdmin(ToolsAdmin, PartOfHistoryAdmin):
    list_display = ["at", "what", "who", "because", "about"]
    list_filter = ["action"]
    list_select_related = ["revision", "by", "rater"]
    list_per_page = 100
    search_fields = ["why", "by__username", "rater__username", "=document_id"]
    date_hierarchy = "at"
    fields = ["at", "what", "who", "told", "about", "details"]
    readonly_fields = ["what", "who", "told", "about", "details"]
    nothing_yet = _("Nobody has decided anything yet, and no round has run.")
    pages = [Page("<uuid:event_id>/take-back/", "undo_view", "feedback_reset_undo", CHANGE)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RevisionEvent]:
        return RevisionEvent.objects.defer("revision__content")

    def row_tools(self, request: HttpRequest, row: RevisionEvent) -> list[Tool]:
        possible = row.action in RESETS and request.user.has_perm(CHANGE) and row.discarded.exists()
        return [Tool(said("Take it back"), page_url("feedback_reset_undo", row.pk))] if possible else []

    def undo_view(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        reset = get_object_or_404(RevisionEvent, pk=event_id, action__in=RESETS)
        return self.form_page(
            request,
            title=said("Take a reset back"),
            explanation=said("The votes that it discarded count again; a round then draws the consequence."),
            button=said("Take it back"),
            back=row_url(reset),
            act=partial(reset_undo, reset=reset, by=asking_user(request)),
            done=lambda outcome: said("The votes count again. {round_summary}", round_summary=round_summary(outcome)),
            facts=[
                (said("Reset"), reset.get_action_display()), (said("About"), self.about(reset)),
                (said("When"), reset.at),
                (said("Why"), reset.why_said or "–"), (said("Votes"), reset.discarded.count()),
            ],
        )  # fmt: skip

    what = column(_("What"), lambda event: event.get_action_display(), ordering="action")
    who = column(
        _("Who"), lambda event: event.by.get_username() if event.by else said("the periodic round"), ordering="by"
    )
    because = column(_("Why"), lambda event: excerpt(event.why_said) or "–")
    told = column(_("Why"), lambda event: event.why_said or "–")

    @admin.display(description=_("About"))
    def about(self, event: RevisionEvent) -> SafeString | str:
        if event.revision:
            return revision_link(event.revision)
        if event.rater:
            return said("the rater {name}", name=event.rater.get_username())
        if "golden_question" in event.detail:
            return _golden_link(event.detail)
        if "question" in event.detail:  # of a checked answer
            return f"“{excerpt(str(event.detail['question']), 60)}”"
        if not event.document_id:
            return "–"
        document = Document.objects.filter(pk=event.document_id).first()
        return document_link(document) if document else said("a document that is deleted")

    @admin.display(description=_("Detail"))
    def details(self, event: RevisionEvent) -> SafeString | str:
        lines = [(_told(name, value),) for name, value in _in_words(event.facts)]
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", lines)) if lines else "–"


def counts_told(summary: Mapping[str, Any]) -> list[str]:
    """What a round made, each with its name."""
    return [_told(COUNTS.get(name, name), count) for name, count in summary.items()]


def _told(name: Any, value: Any) -> str:
    return said("{name}: {value}", name=name, value=value)


def round_summary(outcome: RoundOutcome) -> str:
    if outcome.status == "queued":
        return said("A worker has been told to run a round; its outcome will stand above the list of revisions.")
    what = str(ROUND_STATUSES.get(outcome.status, outcome.status))
    if outcome.reason and outcome.status in ("held", "failed"):
        what = f"{what} ({str(localized(outcome.reason, outcome.wordings)).rstrip('.')})"
    return said("The round after it: {what}.", what=what)


def _golden_link(detail: dict[str, Any]) -> SafeString | str:
    text = f"“{excerpt(detail['question'], 60)}”"
    question = GoldenQuestion.objects.filter(pk=str(detail["golden_question"])).first()
    return format_html('<a href="{}">{}</a>', row_url(question), text) if question else text


def _in_words(detail: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Without the keys of rows, which say nothing to people."""
    for name, value in detail.items():
        if name in ("manual_boost", "burst", "golden_question", "curated_answer", "chunk_id"):
            continue
        if isinstance(value, bool):
            value = said("yes") if value else said("no")
        elif name in CHOICES:
            value = dict(CHOICES[name]).get(value, value)
        yield str(NAMES.get(name, name.replace("_", " "))), "–" if value in (None, "") else value
    if detail.get("chunk_id"):
        yield said("part"), said("one chunk of it")
