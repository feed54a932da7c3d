"""Rated questions: looked up or made by their words, embedded, and deleted with the last person who asked them.

They are embedded in the spaces of the collections that their evidence is in. Without its model a question is compared
by words alone until a later round can embed it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from asgiref.sync import async_to_sync, sync_to_async
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from feedback.models import Evidence, QuestionVector, RatedQuestion
from feedback.ranking.same_question import vector_encode, wording
from feedback.rounds.deletions import written
from feedback.rounds.live import version_bump
from feedback.rounds.passages import text_digest
from ragsite.core.wording import joined
from retrieval.engine import Engine, close_engine, get_engine, has_engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Collection
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.values import EmbeddingSpace

IN_CALL = 64
MOST_IN_A_ROUND = 5000  # questions to embed; the rest waits for the next round
Result = TypeVar("Result")


def signature(text: str) -> str:
    """The same for questions that differ only in case, punctuation and the Chinese script."""
    return text_digest(" ".join(wording(text).words) or text)


def questions_of(texts: Iterable[str]) -> dict[str, int]:
    """Text → the rated question, made where it is new. Blank texts are left out."""
    signed = {text: signature(text) for text in dict.fromkeys(texts) if text.strip()}
    rows = {signed[text]: RatedQuestion(signature=signed[text], text=text) for text in signed}
    RatedQuestion.objects.bulk_create(rows.values(), ignore_conflicts=True)
    ids = dict(RatedQuestion.objects.filter(signature__in=rows).values_list("signature", "pk"))
    return {text: ids[own] for text, own in signed.items()}


# ------------------------------------------------------------------------------------------------ embedded
def questions_embed(*, report: Callable[[], None] = lambda: None) -> str:
    """Returns why some questions could not be embedded, or nothing. `report` is called after each batch."""
    rows = Collection.objects.exclude(embedding_model="").order_by().values_list("embedding_model", "embedding_dim")
    spaces = [EmbeddingSpace(model, dim) for model, dim in rows.distinct() if dim]
    reasons = [_embed(space, report) for space in spaces if space != LEXICAL_SPACE]
    return joined("; ", dict.fromkeys(filter(None, reasons))) if any(reasons) else ""


def _embed(space: EmbeddingSpace, report: Callable[[], None]) -> str:
    in_space = {"embedding_model": space.model, "embedding_dim": space.dim}
    known = QuestionVector.objects.filter(question=OuterRef("pk"), **in_space)
    of_space = {f"passage__document__collection__{name}": value for name, value in in_space.items()}
    evidence = Evidence.objects.filter(question=OuterRef("pk"), **of_space)
    rows = RatedQuestion.objects.filter(~Exists(known), Exists(evidence)).order_by("pk")
    missing = list(rows.values_list("pk", "text")[:MOST_IN_A_ROUND])
    if not missing:
        return ""

    async def work(engine: Engine) -> str:
        try:
            embedder = await engine.models.embedder(space)
            for start in range(0, len(missing), IN_CALL):
                batch = missing[start : start + IN_CALL]
                vectors = await embedder.embed_queries([text for _, text in batch])
                await sync_to_async(written)(partial(_vectors_add, [key for key, _ in batch], vectors, space))
                await sync_to_async(report)()
        except EmbeddingUnavailableError as error:
            return error.reason
        return ""

    return with_engine(work)


def _vectors_add(questions: Sequence[int], vectors: Iterable[NDArray[np.float32]], space: EmbeddingSpace) -> None:
    """Of the questions that nobody has deleted since they were read."""
    left = set(RatedQuestion.objects.filter(pk__in=questions).values_list("pk", flat=True))
    rows = [
        QuestionVector(
            question_id=question, embedding_model=space.model, embedding_dim=space.dim, vector=vector_encode(vector)
        )
        for question, vector in zip(questions, vectors, strict=True)
        if question in left
    ]
    QuestionVector.objects.bulk_create(rows, ignore_conflicts=True)


def with_engine(work: Callable[[Engine], Awaitable[Result]]) -> Result:
    """Run asynchronous work from a round, which is synchronous.

    It uses the running loop's engine where there is one (a round started from a page), else one made for it.
    """

    async def main() -> Result:
        own = not has_engine()
        try:
            return await work(get_engine())
        finally:
            if own:
                await close_engine()

    return async_to_sync(main)()


# ------------------------------------------------------------------------------------------------ deleted
def questions_of_person(*, user_id: int) -> list[int]:
    """The rated questions that this user has evidence on."""
    return list(Evidence.objects.filter(voter=user_id).order_by().values_list("question", flat=True).distinct())


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
