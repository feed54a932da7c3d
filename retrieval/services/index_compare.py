"""Compares an index with the database a piece at a time, and only where something can differ.

A piece is a range of ids in their order: the database's are read first, then the index's, then the database is asked
again about those that differ. So what somebody writes or deletes meanwhile looks neither missing nor surplus, and
memory holds one piece however many rows there are. Why a comparison may be left out: docs/decisions/0011.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Set
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from ragsite.runtime import milvus_lite
from retrieval.models import IndexCheck
from retrieval.ports import ChunkIndex
from retrieval.selectors import as_uuid
from retrieval.values import EmbeddingSpace

PIECE = 4_000  # ids
IN_CALL = 500  # ids in a statement, for SQLite's limit on parameters
FULL_CHECK_EVERY = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What the database knows of a range of ids. needed: have to be in the index; others: may be.

    up_to: the last id of the range, "" for the last piece.
    """

    needed: Set[str]
    others: Set[str]
    up_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Of one piece. surplus: at most a page of the index at a time. known: how many ids the database has."""

    missing: list[str]
    surplus: list[str]
    known: int


ReadPiece = Callable[[str], Awaitable[Piece]]  # gives the piece that begins after this id
Existing = Callable[[Set[str]], Awaitable[Set[str]]]  # those of the ids that the database has now


async def differences(
    index: ChunkIndex, space: EmbeddingSpace, *, read: ReadPiece, existing: Existing
) -> AsyncIterator[Difference]:
    """Every piece, also those in order. Raises IndexUnavailableError."""
    after = ""
    while True:
        piece = await read(after)
        missing = set(piece.needed)
        async for page in index.id_pages(space, after=after, up_to=piece.up_to):
            missing -= page
            if unknown := page - piece.needed - piece.others:
                yield Difference(missing=[], surplus=sorted(unknown - await existing(unknown)), known=0)
        lost = sorted(await existing(missing)) if missing else []
        yield Difference(missing=lost, surplus=[], known=len(piece.needed) + len(piece.others))
        after = piece.up_to
        if not after:
            return


async def existing_in(rows: QuerySet[Any], ids: Set[str]) -> Set[str]:
    """Those of the ids that are a primary key (a UUID) of these rows; other ids in an index may be any text."""
    wanted, existing = [key for key in map(as_uuid, ids) if key], set()
    for start in range(0, len(wanted), IN_CALL):
        page = rows.filter(pk__in=wanted[start : start + IN_CALL]).order_by().values_list("pk", flat=True)
        existing |= {str(pk) async for pk in page}
    return existing


# ------------------------------------------------------------------------------------------------ leaving it out
async def is_known_in_order(index: ChunkIndex, space: EmbeddingSpace, *, needed: int) -> bool:
    """Compared before, nothing can have been lost since, and the index has as many rows as it needs."""
    since = timezone.now() - FULL_CHECK_EVERY
    check = IndexCheck.objects.filter(pk=index.alias(space), history=history(), checked_at__gte=since)
    return bool(history()) and await check.aexists() and await index.count(space) == needed


async def note_in_order(index: ChunkIndex, space: EmbeddingSpace, *, begun_with: str) -> None:
    """begun_with: `history()` when the comparison began."""
    fields = {"history": begun_with, "checked_at": timezone.now()}
    await IndexCheck.objects.aupdate_or_create(pk=index.alias(space), defaults=fields)


def history() -> str:
    """Another one whenever Milvus may have lost what it acknowledged; of a server of its own, its address."""
    return (settings.RAG.milvus.uri or milvus_lite.history_id(settings.DATA_DIR))[:255]
