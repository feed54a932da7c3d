"""Revisions, golden questions and gaps as `chat.review.feedback_port` needs them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext

from chat.review.feedback_port import DeskNotice, GapShown, GoldenAsked, RevisionChoice
from feedback.curation.curated import curated_withdrawn
from feedback.curation.gaps import gap_list, gaps_refresh_if_due
from feedback.curation.golden import golden_list, golden_sets
from feedback.models import GoldenRelevance, Revision
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.live import SnapshotBoosts, content_of, manual_rules
from ragsite.core.errors import NotFoundError
from ragsite.core.wording import worded
from retrieval.ports import BoostSource, Models

GAPS_LOOKED_AT = 500  # the largest


class DeskFeedback:
    """`chat.review.feedback_port.Feedback` over the tables of feedback."""

    def revisions(self, *, limit: int) -> Sequence[RevisionChoice]:
        rows = Revision.objects.defer("guard").order_by("-number")[:limit]
        return [
            RevisionChoice(
                id=row.pk, number=row.number, status=row.status, status_text=str(row.get_status_display()),
                made_at=row.created_at, live_at=row.live_at, summary=row.summary,
            )
            for row in rows
        ][:limit]  # fmt: skip

    def boosts_of(self, revision: UUID | None, *, models: Models) -> BoostSource:
        if revision is None:
            return SnapshotBoosts(snapshot=Snapshot(Content()), models=models)
        row = Revision.objects.filter(pk=revision).first()
        if row is None:
            raise NotFoundError(worded("There is no such revision; choose another one."))
        snapshot = Snapshot(content_of(row), revision=str(row.pk), manual=manual_rules())
        return SnapshotBoosts(snapshot=snapshot, models=models)

    def golden_questions(self, *, user: User, set_name: str | None, limit: int) -> Sequence[GoldenAsked]:
        rows = golden_list(user=user).filter(enabled=True).order_by("created_at", "pk")
        if set_name is not None:
            rows = rows.filter(set_name=set_name)
        relevant = Prefetch("relevant", queryset=GoldenRelevance.objects.order_by("-grade", "pk"))
        return [
            GoldenAsked(
                id=row.pk,
                text=row.text,
                collection=str(row.collection_id),
                expects=row.expects,
                documents=tuple(dict.fromkeys(str(one.document_id) for one in row.relevant.all())),
            )
            for row in rows.prefetch_related(relevant)[:limit]
        ]

    def golden_sets(self, *, user: User) -> Sequence[tuple[str, int]]:
        return [(row["set_name"], row["measured"]) for row in golden_sets(user=user) if row["measured"]]

    def notices(self, user: User, *, curates: bool) -> Sequence[DeskNotice]:
        withdrawn = curated_withdrawn(user).count() if curates else 0
        told = ngettext(
            "{count} checked answer of yours was withdrawn, because what it cites has changed.",
            "{count} checked answers of yours were withdrawn, because what they cite has changed.",
            withdrawn,
        ).format(count=withdrawn)
        return [DeskNotice(text=told, url=f"{reverse('review_curated')}?state=ended")] if withdrawn else []

    def gaps(self, *, days: int, limit: int) -> Sequence[GapShown]:
        gaps_refresh_if_due()
        since = timezone.now() - timedelta(days=days)
        return [
            GapShown(
                question=gap.called or "", collection=str(gap.collection_id or ""), count=gap.count, people=gap.people,
                last_seen=gap.newest_at, id=gap.pk, state=gap.state, address=reverse("review_gap", args=[gap.pk]),
                wordings=gap.wordings, asked_again=gap.asked_again, answered=gap.answered,
            )
            for gap in cast("Any", gap_list())[:GAPS_LOOKED_AT]
            if gap.newest_at and gap.newest_at >= since
        ][:limit]  # fmt: skip
