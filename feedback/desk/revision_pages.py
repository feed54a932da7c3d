"""What ratings do to ranking, as pages of the review desk: rounds, revisions, and the decisions that people take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from chat.review.pages import desk_page
from chat.review.roles import DeskAccess
from feedback.desk.acting import A_PAGE, tell
from feedback.models import Boost, Revision
from feedback.rounds.live import feedback_state
from feedback.rounds.revisions import revision_go_live, revision_roll_back
from feedback.rounds.round import round_queue
from ragsite.core.errors import NotFoundError

MAX_WHY = 500
Status = Revision.Status


class Difference(NamedTuple):
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
    tell(
        request, partial(round_queue, by=access.user), _("New ratings are being applied. The result will appear here.")
    )
    return redirect("review_revisions")


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
