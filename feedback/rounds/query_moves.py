"""The vectors of rated passages that queries are moved towards (`feedback.ranking.query_moves`), read from the index.

A vector is read once, from the index that searches use, and kept: so a round needs the index for new passages alone,
and without it former ones still move queries. Collections without an embedding model are left out: the dense leg of
hashed words does not rank what text search found, so there a moved vector changes nothing (measured).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import F
from numpy.typing import NDArray

from feedback.models import PassageVector, RatedPassage
from feedback.ranking import query_moves
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.snapshot import Content, Snapshot
from feedback.rounds.deletions import written
from feedback.rounds.live import vector_encode
from feedback.rounds.questions import with_engine
from ragsite.core.errors import AppError
from ragsite.core.wording import worded
from ragsite.runtime import milvus_lite
from retrieval.engine import Engine
from retrieval.ports import SearchRequest
from retrieval.values import EmbeddingSpace

IN_CALL = 500
COLUMNS = ("pk", "chunk_id", "document__collection__embedding_model", "document__collection__embedding_dim")


def moves_add(content: Content, *, report: Callable[[], None] = lambda: None) -> tuple[Content, str]:
    """The content with the passages that it moves queries towards, and why some of them are left out, or "".

    Call it before the guard measures: what a revision moves is fixed by then. `report` is called after each batch.
    """
    rows = content.queries
    wanted = query_moves.strongest_passages(rows.passage, rows.up - rows.down, limit=query_moves.MAX_PASSAGES)
    reason = _vectors_fetch(wanted.tolist(), report)
    known: list[int] = []
    for start in range(0, len(wanted), IN_CALL):
        batch = wanted[start : start + IN_CALL].tolist()
        in_use = PassageVector.objects.filter(
            passage__in=batch,
            embedding_model=F("passage__document__collection__embedding_model"),
            embedding_dim=F("passage__document__collection__embedding_dim"),
        )
        known += in_use.values_list("passage", flat=True)
    return replace(content, moving=np.unique(np.asarray(known, dtype=np.int64))), reason


def moved_request(request: SearchRequest, snapshot: Snapshot, asked: AskedQuestion) -> SearchRequest:
    """The search as this revision makes it. asked: with its vectors in `Snapshot.move_spaces`.

    For those who compare two revisions: where both requests have the same moves one search is enough.
    """
    return replace(request, moves=snapshot.moves(asked, request.scope.ids))


def _vectors_fetch(passages: Sequence[int], report: Callable[[], None]) -> str:
    """Read the vectors that are not kept yet. Returns why some could not be, or ""."""
    missing = _missing(passages)
    if not missing:
        return ""

    async def work(engine: Engine) -> int:
        absent = 0
        for space, chunk_of in missing.items():
            ids = list(chunk_of)
            for start in range(0, len(ids), IN_CALL):
                batch = ids[start : start + IN_CALL]
                chunks = list(dict.fromkeys(chunk_of[passage] for passage in batch))
                vectors = await engine.index.vectors(space, chunks)
                absent += sum(chunk_of[passage] not in vectors for passage in batch)
                kept = {one: vectors.get(chunk_of[one]) for one in batch}
                await sync_to_async(written)(partial(_keep, space, kept))
                await sync_to_async(report)()
        return absent

    try:
        with ExitStack() as stack:
            if not settings.RAG.milvus.uri:  # the index's own server, where the site does not run
                stack.enter_context(milvus_lite.ensure_server(settings.DATA_DIR, port=settings.RAG.milvus.lite_port))
            absent = with_engine(work)
    except (AppError, milvus_lite.MilvusLiteError) as error:
        told = getattr(error, "message", None) or str(error)
        return worded("the index could not be read: {error}", error=told)
    return worded("{count} are not in the index yet", count=absent) if absent else ""


def _missing(passages: Sequence[int]) -> dict[EmbeddingSpace, dict[int, str]]:
    """By space: passage → its chunk, of those without a vector in their collection's space."""
    missing: dict[EmbeddingSpace, dict[int, str]] = defaultdict(dict)
    for start in range(0, len(passages), IN_CALL):
        batch = passages[start : start + IN_CALL]
        columns = ("passage", "embedding_model", "embedding_dim")
        known = set(PassageVector.objects.filter(passage__in=batch).values_list(*columns))
        rows = RatedPassage.objects.filter(pk__in=batch, chunk_id__isnull=False).values_list(*COLUMNS)
        for passage, chunk, model, dim in rows:
            space = EmbeddingSpace(model, dim or 0)
            if model and dim and space.semantic and (passage, model, dim) not in known:
                missing[space][passage] = str(chunk)
    return missing


def _keep(space: EmbeddingSpace, vectors: dict[int, NDArray[np.float32] | None]) -> None:
    """Of the passages that nobody has deleted since they were read."""
    there = set(RatedPassage.objects.filter(pk__in=list(vectors)).values_list("pk", flat=True))
    rows = [
        PassageVector(
            passage_id=passage, embedding_model=space.model, embedding_dim=space.dim, vector=vector_encode(vector)
        )
        for passage, vector in vectors.items()
        if vector is not None and passage in there
    ]
    PassageVector.objects.filter(passage__in=[row.passage_id for row in rows]).delete()  # of a former space
    PassageVector.objects.bulk_create(rows, ignore_conflicts=True)
