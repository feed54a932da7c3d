"""What people wrote to persons about a gap, for its page at the desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from chat.review.roles import DeskAccess
from feedback.models import GapRequest, KnowledgeGap
from feedback.requests.addressees import requests_to
from feedback.requests.request_data import name_of
from ragsite.core.localized import localized
from retrieval.knowledge.selectors import visible_collections

MOST = 50  # the latest; the page counts the others


def gap_requests(gap: KnowledgeGap, access: DeskAccess) -> list[dict[str, Any]]:
    """The latest first, without those that were withdrawn. Names and collections as far as this person may know them;
    is_mine: this person may answer it; is_proposed: its reply cites passages, and waits to become a checked answer;
    is_dismissed: a curator has said that it becomes none."""
    rows = _of(gap)
    listed = list(
        rows.select_related("asker", "ended_by", "collection__owner").prefetch_related("sources")[
            :MOST
        ]
    )
    collections = {row.collection_id for row in listed if row.collection_id}
    known = visible_collections(access.user).filter(pk__in=collections)
    addresses = {one.pk: one.address for one in known.select_related("owner")}
    ids = [row.pk for row in listed]
    mine = set(requests_to(access.user).filter(pk__in=ids).values_list("pk", flat=True))
    return [_shown(row, access, addresses) | {"is_mine": row.pk in mine} for row in listed]


def gap_requests_left(gap: KnowledgeGap) -> int:
    """How many `gap_requests` leaves out."""
    return max(0, _of(gap).count() - MOST)


def _of(gap: KnowledgeGap) -> QuerySet[GapRequest]:
    rows: QuerySet[GapRequest] = gap.requests.exclude(state=GapRequest.State.WITHDRAWN)
    return rows


def _shown(row: GapRequest, access: DeskAccess, addresses: Mapping[UUID, str]) -> dict[str, Any]:
    is_answered = row.state == GapRequest.State.ANSWERED
    could_be_checked = is_answered and row.curated_id is None and bool(row.sources.all())
    return {
        "id": row.pk,
        "question": row.question,
        "remark": row.remark,
        "state": row.state,
        "sent_to": localized(row.get_sent_to_display()),
        "collection": addresses.get(row.collection_id) if row.collection_id else None,
        "asker": row.asker.get_username() if row.asker and access.sees_names else None,
        "sent_at": row.sent_at,
        "reply": row.reply,
        "ended_by": name_of(row.ended_by) if row.ended_by else None,
        "is_checked": row.curated_id is not None,
        "is_proposed": could_be_checked and row.dismissed_at is None,
        "is_dismissed": could_be_checked and row.dismissed_at is not None,
    }


def request_proposed(request_id: Any) -> GapRequest | None:
    """One whose reply a curator may make a checked answer of."""
    replied = GapRequest.objects.filter(state=GapRequest.State.ANSWERED, curated=None)
    return replied.exclude(reply="").filter(pk=request_id).first()
