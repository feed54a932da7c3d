"""Revisions: what each changes, what was measured before it, who decided; and the switches of the whole loop."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from feedback.admin.links import page_url, revision_link, row_url
from feedback.admin.log import counts_told, round_summary
from feedback.admin.pages import Page, Tool, ToolsAdmin, WhyForm, column
from feedback.curation.sentences import guard_sentences, paragraph
from feedback.models import Revision
from feedback.rounds.live import feedback_state
from feedback.rounds.queueing import round_queue
from feedback.rounds.resets import reset_document, reset_rater
from feedback.rounds.revisions import feedback_freeze, revision_hold, revision_release, revision_roll_back
from feedback.rounds.round import RoundOutcome
from ragsite.core.api.user import asking_user
from ragsite.core.errors import ConflictError, NotFoundError
from ragsite.core.localized import said
from ragsite.core.read_only_admin import PartOfHistoryAdmin, excerpt
from ragsite.core.wording import worded
from retrieval.models import Document

CHANGE = "feedback.change_revision"
BOOSTS_PER_PAGE = 100
WAITING = (Revision.Status.PROPOSED, Revision.Status.HELD)
LIST = "feedback_revision_changelist"


class RollBackForm(WhyForm):
    freeze = forms.BooleanField(
        label=_("Freeze rounds"), required=False, initial=True,
        help_text=_("Otherwise the next round may draw the same from the same ratings."),
    )  # fmt: skip


class RaterForm(WhyForm):
    rater = forms.CharField(label=_("User name"), max_length=150)
    field_order = ["rater", "why"]


class QueueForm(forms.Form):
    """Nothing to fill in."""


@admin.register(Revision)
class RevisionAdmin(ToolsAdmin, PartOfHistoryAdmin):
    list_display = ["name", "status", "why", "changes", "created_at", "live_at"]
    list_filter = ["status"]
    list_select_related = ["made_by", "live_by"]
    list_per_page = 50
    search_fields = ["=number", "reason"]
    date_hierarchy = "created_at"
    change_list_template = "admin/feedback/revision_list.html"
    change_form_template = "admin/feedback/revision.html"
    fields = [
        "status", "because", "parent_link", "counts", "maker", "created_at", "live_at", "released_by", "ended_at",
    ]  # fmt: skip
    readonly_fields = ["because", "parent_link", "counts", "maker", "released_by"]
    nothing_yet = _("No revisions yet: a round makes the first one as soon as ratings lift or lower something.")
    pages = [
        Page("<uuid:revision_id>/release/", "release_view", "feedback_revision_release", CHANGE),
        Page("<uuid:revision_id>/hold/", "hold_view", "feedback_revision_hold", CHANGE),
        Page("<uuid:revision_id>/roll-back/", "roll_back_view", "feedback_revision_roll_back", CHANGE),
        Page("freeze/", "freeze_view", "feedback_freeze", CHANGE),
        Page("round/", "round_view", "feedback_round", CHANGE),
        Page("reset-document/<uuid:document_id>/", "reset_document_view", "feedback_reset_document", CHANGE),
        Page("reset-rater/", "reset_rater_view", "feedback_reset_rater", CHANGE),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        return Revision.objects.defer("content")

    # -------------------------------------------------------------------------------------------- the list
    def list_tools(self, request: HttpRequest) -> list[Tool]:
        tools = [Tool(said("Boosts in force"), page_url("feedback_in_force"))]
        if not request.user.has_perm(CHANGE):
            return tools
        state = feedback_state()
        if state.live:
            tools.append(Tool(said("Roll back"), page_url("feedback_revision_roll_back", state.live.pk)))
        tools.append(
            Tool(said("Lift the freeze") if state.frozen else said("Freeze rounds"), page_url("feedback_freeze"))
        )
        tools.append(Tool(said("Reset a rater"), page_url("feedback_reset_rater")))
        return [*tools, Tool(said("Run a round now"), page_url("feedback_round"))]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"state": feedback_state(), **(extra_context or {})})

    name = column(_("Revision"), lambda revision: said("Revision {number}", number=revision.number), ordering="number")
    why = column(_("Why"), lambda revision: excerpt(revision.reason_said) or "–")

    @admin.display(description=_("Boosts"))
    def changes(self, revision: Revision) -> str:
        counts = revision.summary
        return f"+{counts.get('added', 0)} ±{counts.get('changed', 0)} −{counts.get('removed', 0)}"

    # -------------------------------------------------------------------------------------------- one revision
    def row_tools(self, request: HttpRequest, row: Revision) -> list[Tool]:
        if not request.user.has_perm(CHANGE):
            return []
        tools = []
        if row.status in WAITING:
            tools.append(Tool(said("Make it live"), page_url("feedback_revision_release", row.pk)))
        if row.status == Revision.Status.PROPOSED:
            tools.append(Tool(said("Hold it"), page_url("feedback_revision_hold", row.pk)))
        if row.status == Revision.Status.LIVE:
            tools.append(Tool(said("Roll back"), page_url("feedback_revision_roll_back", row.pk)))
        return tools

    def row_context(self, request: HttpRequest, row: Revision) -> dict[str, Any]:
        boosts = row.boosts.select_related("document", "question", "passage")
        page = Paginator(boosts, BOOSTS_PER_PAGE).get_page(request.GET.get("boosts_page"))
        return {
            **super().row_context(request, row),
            "boosts": page,
            "events": row.events.select_related("by"),
            "measured": guard_sentences(row.measured),
        }

    because = column(_("Why"), lambda revision: revision.reason_said or "–")
    maker = column(
        _("Made by"),
        lambda revision: revision.made_by.get_username() if revision.made_by else said("the periodic round"),
    )

    @admin.display(description=_("Made live by"))
    def released_by(self, revision: Revision) -> str:
        if revision.live_by:
            return revision.live_by.get_username()
        return said("the guard let it pass") if revision.live_at else "–"

    parent_link = column(_("Compared with"), lambda revision: revision_link(revision.parent))
    counts = column(_("Counts"), lambda revision: gettext("; ").join(counts_told(revision.summary)) or "–")

    # -------------------------------------------------------------------------------------------- decisions
    def release_view(self, request: HttpRequest, revision_id: UUID) -> HttpResponse:
        revision = get_object_or_404(Revision, pk=revision_id)
        return self.form_page(
            request,
            title=said("Make revision {number} live", number=revision.number),
            explanation=said("Searches use it from now on, in spite of what the guard found. It can be rolled back."),
            button=said("Make it live"),
            back=row_url(revision),
            act=partial(revision_release, revision=revision, by=asking_user(request)),
            done=said("Revision {number} is live.", number=revision.number),
            facts=[
                (said("Status"), revision.get_status_display()), (said("Because"), revision.reason_said or "–"),
                *_measured(revision),
            ],
        )  # fmt: skip

    def hold_view(self, request: HttpRequest, revision_id: UUID) -> HttpResponse:
        revision = get_object_or_404(Revision, pk=revision_id)
        return self.form_page(
            request,
            title=said("Hold revision {number}", number=revision.number),
            explanation=said("It does not go live unless somebody releases it."),
            button=said("Hold it"),
            back=row_url(revision),
            act=partial(revision_hold, revision=revision, by=asking_user(request)),
            done=said("Revision {number} is held.", number=revision.number),
            facts=_measured(revision),
        )

    def roll_back_view(self, request: HttpRequest, revision_id: UUID) -> HttpResponse:
        """Of the live revision. The address names it, so that nobody rolls back another that went live meanwhile."""
        revision = get_object_or_404(Revision, pk=revision_id)

        def done(target: Revision | None) -> str:
            if target is None:
                return said("Revision {number} is rolled back: no boosts are live.", number=revision.number)
            return said(
                "Revision {number} is rolled back: revision {target} is live again.",
                number=revision.number, target=target.number,
            )  # fmt: skip

        return self.form_page(
            request,
            title=said("Roll back revision {number}", number=revision.number),
            explanation=said(
                "Searches use the revision that was live before it, at once; without one, no boosts at all."
            ),
            button=said("Roll back"),
            back=page_url(LIST),
            act=partial(revision_roll_back, revision=revision, by=asking_user(request)),
            done=done,
            form=RollBackForm,
            facts=[(said("Live since"), revision.live_at), (said("Boosts"), self.counts(revision))],
        )

    def freeze_view(self, request: HttpRequest) -> HttpResponse:
        frozen = feedback_state().frozen

        def act(why: str) -> None:
            if not feedback_freeze(by=asking_user(request), why=why, frozen=not frozen):
                raise ConflictError(worded("Somebody has done that just now."))

        texts = (
            (said("Lift the freeze"), said("Rounds propose revisions again, from all that was rated meanwhile."),
             said("Lift the freeze"), said("Rounds propose again.")),
            (said("Freeze rounds"),
             said("Ratings are still gathered, but no new revision is proposed. What is live stays live."),
             said("Freeze"), said("Rounds are frozen.")),
        )  # fmt: skip
        title, explanation, button, done = texts[0 if frozen else 1]
        return self.form_page(
            request, title=title, explanation=explanation, button=button, back=page_url(LIST), act=act, done=done
        )

    def round_view(self, request: HttpRequest) -> HttpResponse:
        return self.form_page(
            request,
            title=said("Run a round now"),
            explanation=said(
                "The same that runs every night: new ratings become a revision, which the guard measures."
            ),
            button=said("Run it"),
            back=page_url(LIST),
            act=partial(round_queue, by=asking_user(request)),
            done=said("The worker has been told to run a round; its outcome will stand above the list."),
            form=QueueForm,
        )

    def reset_document_view(self, request: HttpRequest, document_id: UUID) -> HttpResponse:
        document = get_object_or_404(Document, pk=document_id)
        return self.form_page(
            request,
            title=said("Reset what was said of “{excerpt}”", excerpt=excerpt(document.title, 60)),
            explanation=said(
                "All votes on this document up to now count no more; a round then takes its boosts back. The "
                "ratings stay, and new ones count. It can be taken back from the log."
            ),
            button=said("Reset"),
            back=page_url("feedback_document_evidence", document.pk),
            act=partial(reset_document, document=document, by=asking_user(request)),
            done=lambda outcome: said("The votes are discarded. {round_summary}", round_summary=round_summary(outcome)),
        )

    def reset_rater_view(self, request: HttpRequest) -> HttpResponse:
        def act(rater: str, why: str) -> RoundOutcome:
            user = User.objects.filter(username=rater).first()
            if user is None:
                raise NotFoundError(
                    worded("There is no such user."), fields={"rater": [worded("There is no such user.")]}
                )
            return reset_rater(rater=user, by=asking_user(request), why=why)

        return self.form_page(
            request,
            title=said("Reset a rater"),
            explanation=said(
                "All that this user has said up to now counts no more; a round then takes the boosts back that "
                "it made. The ratings stay, and new ones count. It can be taken back from the log."
            ),
            button=said("Reset"),
            back=page_url(LIST),
            act=act,
            done=lambda outcome: said("The votes are discarded. {round_summary}", round_summary=round_summary(outcome)),
            form=RaterForm,
            initial={"rater": request.GET.get("rater", "")},
        )


def _measured(revision: Revision) -> list[tuple[str, Any]]:
    guard = revision.measured
    facts: list[tuple[str, Any]] = []
    if guard:
        facts.append((said("Measured"), paragraph(guard_sentences(guard, verdict=False))))
    if guard.get("ndcg_before") is not None:
        facts.append((said("nDCG@10 of golden questions"), f"{guard['ndcg_before']:.4f} → {guard['ndcg_after']:.4f}"))
    if guard.get("worse"):
        facts.append((said("Questions that get worse"), len(guard["worse"])))
    if guard.get("churn") is not None:
        facts.append((said("Changed top results"), f"{guard['churn']:.0%}"))
    return facts
