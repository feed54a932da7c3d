"""Rated passages in documents that have been read anew: found again by their text, followed to the chunk that holds
nearly all of it, or marked as gone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from feedback.models import RatedPassage
from feedback.rounds.followed_passages import chunks_that_cover, passages_sketch
from feedback.rounds.live import version_bump
from feedback.rounds.rated_texts import content_hash
from retrieval.models import Chunk, Document

SLACK = timedelta(minutes=10)  # clocks of two machines
DOCUMENTS_AT_ONCE = 50


def passages_relocate(*, since: datetime | None) -> int:
    """Look at the documents that have changed since then, all of them for None. Returns how many passages moved."""
    passages_sketch()
    documents = Document.objects.filter(rated_passages__isnull=False, status=Document.Status.READY)
    if since is not None:
        documents = documents.filter(updated_at__gte=since - SLACK)
    ids = list(documents.order_by().values_list("pk", flat=True).distinct())
    moved = sum(_relocate(ids[start : start + DOCUMENTS_AT_ONCE]) for start in range(0, len(ids), DOCUMENTS_AT_ONCE))
    if moved:
        version_bump()  # also where no boost changes: those that are live stand elsewhere now
    return moved


def document_relocate(document_id: UUID) -> None:
    """At the end of a document's ingest: until then its boosts would stand on whatever has come to their place."""
    if RatedPassage.objects.filter(document=document_id).exists() and _relocate([document_id]):
        version_bump()


def _relocate(document_ids: Sequence[UUID]) -> int:
    places: dict[tuple[UUID, str], UUID] = {}
    chunks = Chunk.objects.filter(document__in=document_ids).order_by("-seq")  # of equal texts the first one stays
    for key, document, text in chunks.values_list("pk", "document_id", "text").iterator(chunk_size=500):
        places[document, content_hash(text)] = key
    passages = list(RatedPassage.objects.filter(document__in=document_ids))
    followed = chunks_that_cover(one for one in passages if (one.document_id, one.content_hash) not in places)
    moved = []
    for passage in passages:
        place = places.get((passage.document_id, passage.content_hash)) or followed.get(passage.pk)
        if passage.chunk_id != place:
            passage.chunk_id = place
            moved.append(passage)
    RatedPassage.objects.bulk_update(moved, ["chunk_id"], batch_size=500)
    return len(moved)
