"""Rated passages: looked up or made from what a source showed, and found again when their document is read anew.

A passage is known by its text. When its document was split differently, it moves to the chunk that holds at least
COVERED of it. That is always measured with the text that was rated, so many small edits don't lead it away.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np

from feedback.models import Boost, Burst, PassageSketch, RatedPassage
from feedback.ranking.text_overlap import Sketches, sketch
from feedback.rounds.bulk_rows import Key, key_of, one_of, raw, rows_add
from feedback.rounds.deletions import written
from feedback.rounds.live import version_bump
from retrieval.models import Chunk, Document

COVERED = 0.8  # the share of a passage's text from which a chunk says the same
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
    placed: list[Shown] = []
    split_anew: dict[Key, list[Shown]] = defaultdict(list)  # by document
    for source in sources:
        chunk = chunks.get(source.chunk)
        if chunk and chunk[1] == source.document and _holds(source.text, chunk[2]):
            placed.append(source)
        else:
            split_anew[source.document].append(source)
    ids_of = _passage_ids({(source.document, hashes[source.chunk], chunks[source.chunk][0]) for source in placed})
    passages: dict[int, int] = {}
    for source in placed:
        passages[source.key] = ids_of[source.document, hashes[source.chunk]]
    for document, document_sources in split_anew.items():  # read anew before its ratings were drawn
        covering = covering_chunks(document, {source: sketch(source.text) for source in document_sources})
        ids_of = _passage_ids({(document, content_hash(text), chunk) for chunk, text in covering.values()})
        for source, (_, text) in covering.items():
            passages[source.key] = ids_of[document, content_hash(text)]
    return passages


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
def passages_sketch() -> int:
    """Sketch the passages that have no sketch, while their text is still there. Returns how many."""
    rows = RatedPassage.objects.filter(sketch=None).exclude(chunk_id=None).order_by("pk")
    count = last = 0
    while batch := list(rows.filter(pk__gt=last).values_list("pk", "chunk_id", "content_hash")[:AT_ONCE]):
        last = batch[-1][0]
        texts = dict(Chunk.objects.filter(pk__in={chunk for _, chunk, _ in batch}).values_list("pk", "text"))
        sketches = {
            passage: sketch(texts[chunk])
            for passage, chunk, digest in batch
            if chunk in texts and content_hash(texts[chunk]) == digest
        }
        count += written(partial(_sketches_add, sketches))
    return count


def _sketches_add(sketches: Mapping[int, bytes]) -> int:
    """Of the passages that nobody has deleted since they were read."""
    left = RatedPassage.objects.filter(one_of("pk", sketches)).order_by("pk").values_list("pk", flat=True)
    rows = [(passage, sketches[passage]) for passage in left]
    rows_add(PassageSketch, ("passage", "hashes"), rows)
    return len(rows)


def passages_relocate(*, since: datetime | None) -> int:
    """Look at the documents that have changed since then, all of them for None. Returns how many passages moved."""
    passages_sketch()
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
    lost: dict[UUID, list[int]] = defaultdict(list)  # by document
    for passage in passages:
        if (passage.document_id, passage.content_hash) not in places:
            lost[passage.document_id].append(passage.pk)
    covering: dict[int, UUID] = {}
    for document, keys in lost.items():
        sketches = PassageSketch.objects.filter(passage__in=keys).order_by("pk").values_list("pk", "hashes")
        covered = covering_chunks(document, {key: bytes(hashes) for key, hashes in sketches})
        covering.update((key, place.chunk) for key, place in covered.items())
    moved = []
    for passage in passages:
        chunk = places.get((passage.document_id, passage.content_hash)) or covering.get(passage.pk)
        if passage.chunk_id != chunk:
            passage.chunk_id = chunk
            moved.append(passage)
    if moved:
        written(partial(RatedPassage.objects.bulk_update, moved, ["chunk_id"], batch_size=500))
    return len(moved)


class CoveringChunk(NamedTuple):
    chunk: UUID
    text: str


def covering_chunks(document: Any, sketches: Mapping[Name, bytes]) -> dict[Name, CoveringChunk]:
    """For each sketched text the chunk that holds most of it, the first of equal ones; without those below COVERED.

    document: its id. Reads all its chunks, about half a millisecond each.
    """
    if not sketches:
        return {}
    names, searched = list(sketches), Sketches(list(sketches.values()))
    highest = np.zeros(len(names))
    covering: dict[Name, CoveringChunk] = {}
    chunks = Chunk.objects.filter(document=document).order_by("seq").values_list("pk", "text")
    for chunk, text in chunks.iterator(chunk_size=AT_ONCE):
        shares = searched.shares_in(text)
        for place in np.flatnonzero((shares > highest) & (shares >= COVERED)):
            covering[names[place]] = CoveringChunk(chunk, text)
        highest = np.maximum(highest, shares)
    return covering
