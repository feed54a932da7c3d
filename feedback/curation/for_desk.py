"""Revisions as `chat.review.feedback_port` needs them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from chat.review.feedback_port import RevisionChoice
from feedback.models import Revision
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import SnapshotBoosts, content_of, manual_rules
from ragsite.core.errors import NotFoundError
from ragsite.core.wording import worded
from retrieval.ports import BoostSource, Models


class DeskFeedback:
    """`chat.review.feedback_port.Feedback` over the tables of feedback."""

    def revisions(self, *, limit: int) -> Sequence[RevisionChoice]:
        rows = Revision.objects.defer("guard").order_by("-number")[:limit]
        return [RevisionChoice(row.pk, row.number, str(row.get_status_display())) for row in rows]

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        if revision is None:
            return SnapshotBoosts(snapshot=Snapshot(Content()), models=models)
        row = Revision.objects.filter(pk=revision).first()
        if row is None:
            raise NotFoundError(worded("There is no such revision; choose another one."))
        snapshot = Snapshot(content_of(row), revision=str(row.pk), manual=manual_rules())
        return SnapshotBoosts(snapshot=snapshot, models=models)
