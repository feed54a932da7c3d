"""Rated questions: looked up or made by their words, embedded, and deleted with the last person who asked them.

Without the embedding model a question is compared by words alone until a later round can embed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from asgiref.sync import sync_to_async
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from feedback.models import Evidence, RatedQuestion
from feedback.rounds.deletions import write_with_retry
from feedback.rounds.live import version_bump
from feedback.rounds.passages import text_digest
from retrieval.compose import Engine, with_engine
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.text.same_question import vector_encode, wording
from retrieval.engine.values import EmbeddingSpace

IN_CALL = 64
MOST_IN_A_ROUND = 5000  # questions to embed; the rest waits for the next round


def signature(text: str) -> str:
    """The same for questions that differ only in case, punctuation and the Chinese script."""
    return text_digest(" ".join(wording(text).words) or text)


def questions_of(texts: Iterable[str]) -> dict[str, int]:
    """Text → the rated question, made where it is new. Blank texts are left out."""
    signed = {text: signature(text) for text in dict.fromkeys(texts) if text.strip()}
    texts = {own: text for text, own in signed.items()}
    known = RatedQuestion.objects.filter(signature__in=texts).values_list("signature", "pk")
    ids = dict(known)
    new = [RatedQuestion(signature=own, text=text) for own, text in texts.items() if own not in ids]
    if new:
        RatedQuestion.objects.bulk_create(new, ignore_conflicts=True)
        ids = dict(known.all())
    return {text: ids[own] for text, own in signed.items()}


# ------------------------------------------------------------------------------------------------ embedded
def questions_embed(*, report: Callable[[], None] = lambda: None) -> str:
    """With the model that new collections get. Returns why some could not be embedded, or nothing. `report` is called
    after each batch."""

    async def work(engine: Engine) -> str:
        try:
            embedder = await engine.models.default_embedder()
            missing = await sync_to_async(_not_embedded)(embedder.space)
            for start in range(0, len(missing), IN_CALL):
                batch = missing[start : start + IN_CALL]
                vectors = await embedder.embed_queries([text for _, text in batch])
                rows = [(key, vector) for (key, _), vector in zip(batch, vectors, strict=True)]
                await sync_to_async(write_with_retry)(partial(_vectors_store, rows, embedder.space))
                await sync_to_async(report)()
        except EmbeddingUnavailableError as error:
            return error.reason
        return ""

    return with_engine(work)


def _not_embedded(space: EmbeddingSpace) -> list[tuple[int, str]]:
    if space == BUILTIN_SPACE:
        return []
    rows = RatedQuestion.objects.exclude(
        embedding_model=space.model, embedding_dim=space.dim
    ).order_by("pk")
    return list(rows.values_list("pk", "text")[:MOST_IN_A_ROUND])


def _vectors_store(rows: Iterable[tuple[int, NDArray[np.float32]]], space: EmbeddingSpace) -> None:
    for key, vector in rows:  # those that somebody has deleted meanwhile stay deleted
        RatedQuestion.objects.filter(pk=key).update(
            vector=vector_encode(vector), embedding_model=space.model, embedding_dim=space.dim
        )


# ------------------------------------------------------------------------------------------------ deleted
def questions_of_person(*, user_id: int) -> list[int]:
    """The rated questions that this user has evidence on."""
    return list(
        Evidence.objects.filter(voter=user_id)
        .order_by()
        .values_list("question", flat=True)
        .distinct()
    )


def questions_forget(question_ids: Sequence[int]) -> int:
    """Delete those of the questions that no evidence is left of, with every boost made of them. Returns how many."""
    if not question_ids:
        return 0
    left = Evidence.objects.filter(question=OuterRef("pk"))
    unrated = RatedQuestion.objects.filter(~Exists(left), pk__in=question_ids)
    forgotten = unrated.delete()[1].get("feedback.RatedQuestion", 0)
    if forgotten:
        version_bump()
    return forgotten
