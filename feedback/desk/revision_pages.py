"""What ratings do to ranking, as pages of the review desk: rounds, revisions, and the decisions that people take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from chat.review.desk_page import desk_page
from chat.review.roles import DeskAccess
from feedback.desk.acting import A_PAGE, problem_sentence, tell
from feedback.models import Boost, FeedbackState, GoldenQuestion, Revision
from feedback.rounds.live import feedback_state
from feedback.rounds.revisions import revision_go_live, revision_roll_back
from feedback.rounds.round import LEASE, round_queue
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.leases import lock_is_held

MAX_WHY = 500
Status = Revision.Status


class Difference(NamedTuple):
    """A boost beside the same one of the revision that was live before; 1: there was or is none."""

    boost: Boost
    before: float
    after: float


@desk_page("curate", query=("page", "after"))
def revisions_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """after: the end of the round before the one that was just asked for, whose result the page waits for."""
    state = feedback_state()
    revisions = Revision.objects.select_related("made_by", "live_by")
    last = state.last_round_report
    made = revisions.filter(number=last.get("number") or 0).first()
    context = {
        "section": "review",
        "access": access,
        "last": last,
        "last_at": state.last_round_at,
        # It may have been undone or replaced since.
        "since_then": made
        if made is not None and made.status != state.last_round["status"]
        else None,
        "waiting": lock_is_held(LEASE) or request.GET.get("after") == _round_mark(state),
        "test_questions": _test_questions(),
        "page": Paginator(revisions, A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "review/revisions.html", context)


@desk_page("curate", query=("page",))
def revision_page(request: HttpRequest, *, access: DeskAccess, number: int) -> HttpResponse:
    """What it changes, what was measured, and what may be decided."""
    revisions = Revision.objects.select_related("made_by", "live_by")
    revision = get_object_or_404(revisions, number=number)
    context = {
        "section": "review",
        "access": access,
        "revision": revision,
        "page": Paginator(differences(revision), A_PAGE).get_page(request.GET.get("page")),
        "waits": revision.status in (Status.PROPOSED, Status.HELD),
    }
    return render(request, "review/revision.html", context)


@desk_page("curate", methods=("POST",))
def revision_decide(request: HttpRequest, *, access: DeskAccess, number: int) -> HttpResponse:
    """decision: release, roll_back. why: kept with the revision."""
    revision = get_object_or_404(Revision, number=number)
    why = request.POST.get("why", "").strip()[:MAX_WHY]
    decisions: dict[str, tuple[Callable[[], Any], str]] = {
        "release": (
            lambda: revision_go_live(revision=revision, by=access.user, why=why),
            _("The ranking change is live."),
        ),
        "roll_back": (
            lambda: revision_roll_back(revision=revision, by=access.user, why=why),
            _("Undone. The ranking before it is live again."),
        ),
    }
    if (decision := request.POST.get("decision", "")) not in decisions:
        raise NotFoundError
    tell(request, *decisions[decision])
    return redirect("review_revision", number=number)


@desk_page("curate", methods=("POST",))
def round_decide(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Leads to the list, which shows the result as soon as there is one."""
    mark = _round_mark(feedback_state())
    try:
        round_queue(by=access.user)
    except AppError as error:
        messages.error(request, problem_sentence(error))
        return redirect("review_revisions")
    return redirect(f"{reverse('review_revisions')}?{urlencode({'after': mark})}")


def _round_mark(state: FeedbackState) -> str:
    """Another one after each round."""
    return str(state.last_round.get("at", "none"))


def _test_questions() -> dict[str, int]:
    """measured: those with documents, whose ranking each change is measured on; others: no answer or a question back
    is right for them, or their documents are gone."""
    measured = GoldenQuestion.objects.filter(documents__isnull=False).distinct().count()
    return {"measured": measured, "others": GoldenQuestion.objects.count() - measured}


def differences(revision: Revision) -> Sequence[Difference]:
    """From its parent, the largest first."""
    own, before = (
        {
            (boost.question_id, boost.passage_id, boost.document_id): boost
            for boost in Boost.objects.filter(revision=key).select_related("question", "document")
        }
        for key in (revision.pk, revision.parent_id)
    )
    pairs = [(before.get(key), own.get(key)) for key in own | before]
    found = [
        Difference(new or old, old.multiplier if old else 1.0, new.multiplier if new else 1.0)  # type: ignore[arg-type]
        for old, new in pairs
    ]
    changed = [one for one in found if round(one.before, 2) != round(one.after, 2)]
    return sorted(changed, key=lambda one: -abs(one.after - one.before))
