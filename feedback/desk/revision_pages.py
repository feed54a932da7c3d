"""What ratings do to ranking, as pages of the review desk: rounds, revisions, and the decisions that people take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from chat.review.pages import desk_page
from chat.review.roles import DeskAccess
from feedback.desk.acting import tell
from feedback.models import Boost, Revision
from feedback.rounds.live import feedback_state
from feedback.rounds.revisions import revision_go_live, revision_roll_back
from feedback.rounds.round import round_queue
from ragsite.core.errors import NotFoundError

A_PAGE = 50
MAX_WHY = 500
Status = Revision.Status


@dataclass(frozen=True, slots=True)
class Difference:
    """A boost beside the same one of the revision that was live before; 1: there was or is none."""

    boost: Boost
    before: float
    after: float


@desk_page("curate", query=("page",))
def revisions_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    state = feedback_state()
    revisions = Revision.objects.select_related("made_by", "live_by")
    context = {
        "section": "review",
        "access": access,
        "state": state,
        "page": Paginator(revisions, A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "review/revisions.html", context)


@desk_page("curate", query=("page",))
def revision_page(request: HttpRequest, *, access: DeskAccess, number: int) -> HttpResponse:
    """What it changes, what was measured, and what may be decided."""
    revision = _revision(number)
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
    revision = _revision(number)
    why = request.POST.get("why", "").strip()[:MAX_WHY]
    decisions: dict[str, tuple[Callable[[], Any], str]] = {
        "release": (lambda: revision_go_live(revision=revision, by=access.user, why=why), _("It is live.")),
        "roll_back": (
            lambda: revision_roll_back(revision=revision, by=access.user, why=why),
            _("It is rolled back: the one before it is live again."),
        ),
    }
    if (decision := request.POST.get("decision", "")) not in decisions:
        raise NotFoundError
    tell(request, *decisions[decision])
    return redirect("review_revision", number=number)


@desk_page("curate", methods=("POST",))
def round_decide(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """decision: run."""
    if request.POST.get("decision") != "run":
        raise NotFoundError
    tell(request, partial(round_queue, by=access.user), _("A round was started; its outcome will stand here."))
    return redirect("review_revisions")


def differences(revision: Revision) -> Sequence[Difference]:
    """From its parent, the largest first."""
    columns = ("question_id", "passage_id", "document_id")
    rows = revision.boosts.select_related("question", "document")
    own = {tuple(getattr(boost, name) for name in columns): boost for boost in rows}
    before: dict[Any, Boost] = {}
    if revision.parent_id:
        of_parent = Boost.objects.filter(revision=revision.parent_id).select_related("question", "document")
        before = {tuple(getattr(boost, name) for name in columns): boost for boost in of_parent}
    found = [
        Difference(boost, before[key].multiplier if key in before else 1.0, boost.multiplier)
        for key, boost in own.items()
    ]
    found += [Difference(boost, boost.multiplier, 1.0) for key, boost in before.items() if key not in own]
    changed = [one for one in found if round(one.before, 2) != round(one.after, 2)]
    return sorted(changed, key=lambda one: -abs(one.after - one.before))


def _revision(number: int) -> Revision:
    revision = Revision.objects.select_related("made_by", "live_by", "parent").filter(number=number).first()
    if revision is None:
        raise NotFoundError
    return revision
