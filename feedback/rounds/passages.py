"""Rated passages: looked up or made from what a source showed, and found again when their document is read anew.

A passage is known by its text: it is in the chunk that says the same, and what no chunk says any more does not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import UUID

from feedback.models import Boost, Burst, RatedPassage
from feedback.rounds.bulk_rows import Key, key_of, one_of, raw, rows_add
from feedback.rounds.deletions import written
from feedback.rounds.live import version_bump
from retrieval.models import Chunk, Document

MOST_KEPT = 60_000  # passages in memory: about 10 MiB
AT_ONCE = 500
DOCUMENTS_AT_ONCE = 50
SLACK = timedelta(minutes=10)  # clocks of two machines
Name = TypeVar("Name")


def text_digest(text: str) -> bytes:
    """16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def content_hash(text: str) -> str:
    """Of a text without its white space: 32 hexadecimal digits."""
    return text_digest("".join(text.split())).hex()


# ------------------------------------------------------------------------------------------------ looked up or made
class Shown(NamedTuple):
    """What a source showed of which chunk. key: the source's."""

    key: int
    document: Key
    chunk: str
    text: str


class PassageReader:
    """Keeps what it has read, since the same chunks come again and again in a round."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # by the digest of all that was shown

    def forget(self) -> None:
        self._known.clear()

    def passages(self, sources: Iterable[Shown]) -> dict[int, int]:
        """Source → the passage that it showed. Without pages from the web, deleted documents, and changed texts."""
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        passages: dict[int, int] = {}
        unread: dict[bytes, Shown] = {}
        again: list[tuple[int, bytes]] = []
        for source in sources:
            shown = text_digest(f"{source.chunk} {source.document} {source.text}")
            known = self._known.get(shown)
            if known is not None:
                passages[source.key] = known
            elif shown in unread:
                again.append((source.key, shown))
            else:
                unread[shown] = source
        read = _read(list(unread.values())) if unread else {}
        found = {shown: read[source.key] for shown, source in unread.items() if source.key in read}
        self._known.update(found)
        return passages | read | {key: found[shown] for key, shown in again if shown in found}


def _read(sources: Sequence[Shown]) -> dict[int, int]:
    """Source → passage."""
    ids = {source.chunk: key_of(key) for source in sources if (key := _as_uuid(source.chunk))}
    columns = Chunk.objects.filter(one_of("pk", set(ids.values()))).order_by()
    rows = columns.values_list(raw("pk"), raw("document_id"), "text")
    by_key = {key: (key, document, text) for key, document, text in rows}
    chunks = {chunk: by_key[key] for chunk, key in ids.items() if key in by_key}
    hashes = {key: content_hash(text) for key, (_, _, text) in chunks.items()}
    placed = [
        source
        for source in sources
        if (chunk := chunks.get(source.chunk)) and chunk[1] == source.document and _holds(source.text, chunk[2])
    ]
    ids_of = _passage_ids({(source.document, hashes[source.chunk], chunks[source.chunk][0]) for source in placed})
    return {source.key: ids_of[source.document, hashes[source.chunk]] for source in placed}


def _holds(source_text: str, text: str) -> bool:
    """Neighbouring chunks may have been joined to what was shown."""
    return text in source_text or "".join(text.split()) in "".join(source_text.split())


def _passage_ids(wanted: set[tuple[Key, str, Key]]) -> dict[tuple[Key, str], int]:
    """wanted: document, content hash, chunk. Returns the ids by the first two; rows that are missing are made."""

    def known(documents: set[Key]) -> dict[tuple[Key, str], int]:
        rows = RatedPassage.objects.filter(one_of("document_id", documents)).order_by()
        columns = rows.values_list(raw("document_id"), "content_hash", "pk")
        return {(document, digest): key for document, digest, key in columns}

    ids = known({document for document, _, _ in wanted})
    # Sorted, so that new rows have the same order, and a round the same result, in every process.
    missing = {(document, digest): chunk for document, digest, chunk in sorted(wanted) if (document, digest) not in ids}
    if not missing:
        return ids
    new_rows = [(document, digest, chunk) for (document, digest), chunk in missing.items()]
    rows_add(RatedPassage, ["document", "content_hash", "chunk_id"], new_rows)
    return ids | known({document for document, _ in missing})


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ found again
def passages_relocate(*, since: datetime | None) -> int:
    """Look at the documents that have changed since then, all of them for None. Returns how many passages moved."""
    documents = Document.objects.filter(rated_passages__isnull=False, status=Document.Status.READY)
    if since is not None:
        documents = documents.filter(updated_at__gte=since - SLACK)
    ids = list(documents.order_by().values_list("pk", flat=True).distinct())
    moved = sum(_relocate(ids[start : start + DOCUMENTS_AT_ONCE]) for start in range(0, len(ids), DOCUMENTS_AT_ONCE))
    if moved:
        version_bump()  # also where no boost changes: the live ones are for other chunks now
    return moved


def document_relocate(document_id: UUID) -> None:
    """At the end of a document's ingest: until then its boosts belong to whatever chunks have the old ids."""
    if RatedPassage.objects.filter(document=document_id).exists() and _relocate([document_id]):
        version_bump()


def document_forget(document_id: UUID) -> None:
    """In the transaction that deletes it: what was said of it, also what a round wrote since the deletion began."""
    Burst.objects.filter(document=document_id).delete()
    RatedPassage.objects.filter(document=document_id).delete()
    Boost.objects.filter(document=document_id).delete()


def _relocate(document_ids: Sequence[UUID]) -> int:
    places: dict[tuple[UUID, str], UUID] = {}
    chunks = Chunk.objects.filter(document__in=document_ids).order_by("-seq")  # of equal texts the first one stays
    for key, document, text in chunks.values_list("pk", "document_id", "text").iterator(chunk_size=AT_ONCE):
        places[document, content_hash(text)] = key
    passages = list(RatedPassage.objects.filter(document__in=document_ids))
    moved = []
    for passage in passages:
        chunk = places.get((passage.document_id, passage.content_hash))
        if passage.chunk_id != chunk:
            passage.chunk_id = chunk
            moved.append(passage)
    if moved:
        written(partial(RatedPassage.objects.bulk_update, moved, ["chunk_id"], batch_size=500))
    return len(moved)
