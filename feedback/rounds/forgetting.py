"""What goes with a user's account, and old revisions."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from feedback.models import Evidence, FeedbackState, RatedQuestion, Revision

KEEP_REVISIONS = 60  # older ones that are not live are forgotten


def questions_of(*, user_id: int) -> list[int]:
    """The rated questions that this user has evidence on."""
    return list(Evidence.objects.filter(voter=user_id).order_by().values_list("question", flat=True).distinct())


def questions_forget(question_ids: Sequence[int]) -> int:
    """Delete those of the questions that no evidence is left of, with every boost made of them. Returns how many."""
    left = Evidence.objects.filter(question=OuterRef("pk"))
    lonely = RatedQuestion.objects.filter(~Exists(left), pk__in=question_ids)
    return lonely.delete()[1].get("feedback.RatedQuestion", 0)


def revisions_forget() -> int:
    """Delete revisions beyond the newest `keep_revisions`, never the live one. Returns how many."""
    kept = list(Revision.objects.values_list("pk", flat=True)[:KEEP_REVISIONS])
    old = Revision.objects.exclude(pk__in=kept).exclude(status=Revision.Status.LIVE)
    old = old.exclude(pk__in=FeedbackState.objects.exclude(live=None).values("live"))
    return old.delete()[1].get("feedback.Revision", 0)
