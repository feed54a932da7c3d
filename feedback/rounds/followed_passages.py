"""Rated passages whose document was cut otherwise: each follows to the chunk that holds nearly all of its text.

The comparison is always with what was rated, never with where the passage has followed to since: small edits, one
after the other, don't lead it away.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from feedback.models import PassageSketch, RatedPassage
from feedback.ranking.text_overlap import sketch
from feedback.rounds.covering_chunks import covering_chunks
from feedback.rounds.rated_texts import content_hash
from retrieval.models import Chunk

AT_ONCE = 500


def passages_sketch() -> int:
    """Sketch the passages that have none, while their text is still at hand. Returns how many."""
    rows = RatedPassage.objects.filter(sketch=None).exclude(chunk_id=None).order_by("pk")
    made = 0
    last = 0
    while batch := list(rows.filter(pk__gt=last).values_list("pk", "chunk_id", "content_hash")[:AT_ONCE]):
        last = batch[-1][0]
        texts = dict(Chunk.objects.filter(pk__in={chunk for _, chunk, _ in batch}).values_list("pk", "text"))
        found = [
            PassageSketch(passage_id=passage, hashes=sketch(texts[chunk]))
            for passage, chunk, digest in batch
            if chunk in texts and content_hash(texts[chunk]) == digest
        ]
        PassageSketch.objects.bulk_create(found, ignore_conflicts=True)
        made += len(found)
    return made


def chunks_that_cover(passages: Iterable[RatedPassage]) -> dict[int, UUID]:
    """passage → the chunk of its document that holds nearly all of it."""
    by_document: dict[UUID, list[int]] = {}
    for passage in passages:
        by_document.setdefault(passage.document_id, []).append(passage.pk)
    found: dict[int, UUID] = {}
    for document, keys in by_document.items():
        rows = PassageSketch.objects.filter(passage__in=keys).order_by("pk").values_list("pk", "hashes")
        sketches = {key: bytes(hashes) for key, hashes in rows}
        found.update((key, place.chunk) for key, place in covering_chunks(document, sketches).items())
    return found
