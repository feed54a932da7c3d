"""Rated passages: looked up or made from what a source showed, and found again when their document is read again.

A passage is known by its text: it is in the chunk that says the same, and what no chunk says any more does not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from chat.models import Source
from feedback.models import Boost, RatedPassage
from feedback.rounds.deletions import write_with_retry
from feedback.rounds.live import version_bump
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Chunk

AT_ONCE = 500


def text_digest(text: str) -> str:
    """32 hexadecimal digits."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def content_hash(text: str) -> str:
    """Of a text without its white space."""
    return text_digest("".join(text.split()))


def passages_of(sources: Iterable[Source]) -> dict[int, int]:
    """Source → the passage that it showed, made where it is new. Without pages from the web, deleted documents, and
    texts that have changed since."""
    shown = {
        source.pk: source for source in sources if source.document_id and as_uuid(source.chunk_id)
    }
    chunks = Chunk.objects.only("document_id", "text").in_bulk(
        {as_uuid(source.chunk_id) for source in shown.values()}
    )
    places: dict[int, tuple[UUID, str]] = {}
    chunk_of: dict[tuple[UUID, str], UUID] = {}
    for key, source in shown.items():
        chunk = chunks.get(as_uuid(source.chunk_id))
        # Neighbouring chunks may have been joined to what was shown.
        if (
            chunk
            and chunk.document_id == source.document_id
            and _plain(chunk.text) in _plain(source.text)
        ):
            place = (chunk.document_id, content_hash(chunk.text))
            places[key] = place
            chunk_of[place] = chunk.pk
    known = RatedPassage.objects.filter(content_hash__in={digest for _, digest in chunk_of})
    ids = {
        (document, digest): key
        for document, digest, key in known.values_list("document_id", "content_hash", "pk")
    }
    # Sorted, so that new rows have the same order, and a round the same result, in every process.
    new = [
        RatedPassage(document_id=document, content_hash=digest, chunk_id=chunk_of[document, digest])
        for document, digest in sorted(chunk_of.keys() - ids)
    ]
    if new:
        RatedPassage.objects.bulk_create(new, ignore_conflicts=True)
        ids |= {
            (row[0], row[1]): row[2]
            for row in known.all().values_list("document_id", "content_hash", "pk")
        }
    return {key: ids[place] for key, place in places.items() if place in ids}


def passages_relocate() -> None:
    """Of documents that hold a passage whose chunk is gone: their ingest may have ended while nobody listened."""
    lost = RatedPassage.objects.exclude(chunk_id=None).exclude(
        chunk_id__in=Chunk.objects.values("pk")
    )
    for document_id in lost.order_by().values_list("document", flat=True).distinct():
        document_relocate(document_id)


def document_relocate(document_id: UUID) -> None:
    """At the end of a document's ingest: until then its boosts belong to whatever chunks have the old ids."""
    passages = list(RatedPassage.objects.filter(document=document_id))
    if not passages:
        return
    chunks = Chunk.objects.filter(document=document_id).order_by(
        "-seq"
    )  # of equal texts the first one stays
    places = {
        content_hash(text): key
        for key, text in chunks.values_list("pk", "text").iterator(chunk_size=AT_ONCE)
    }
    moved = [
        passage for passage in passages if passage.chunk_id != places.get(passage.content_hash)
    ]
    for passage in moved:
        passage.chunk_id = places.get(passage.content_hash)
    if moved:
        write_with_retry(
            partial(RatedPassage.objects.bulk_update, moved, ["chunk_id"], batch_size=AT_ONCE)
        )
        version_bump()  # also where no boost changes: the live ones are for other chunks now


def document_forget(document_id: UUID) -> None:
    """In the transaction that deletes it: what was said of it, also what a round wrote since the deletion began."""
    RatedPassage.objects.filter(document=document_id).delete()
    Boost.objects.filter(document=document_id).delete()


def _plain(text: str) -> str:
    return "".join(text.split())
