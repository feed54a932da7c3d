"""Embeds rated questions in the spaces of the collections that their evidence is in.

Without its model a question is compared by words alone until a later round can embed it. The lexical space is made of
words, so there is nothing to embed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asgiref.sync import sync_to_async
from django.db.models import Exists, OuterRef

from feedback.models import Evidence, QuestionVector, RatedQuestion
from feedback.rounds.engine_work import with_engine
from feedback.rounds.live import vector_encode
from retrieval.engine import Engine
from retrieval.errors import EmbeddingUnavailableError
from retrieval.models import Collection
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.values import EmbeddingSpace

IN_CALL = 64
MOST_IN_A_ROUND = 5000  # the rest waits for the next round


def questions_embed(*, report: Callable[[], None] = lambda: None) -> str:
    """Returns why some questions could not be embedded, or nothing."""
    reasons = [reason for space in _spaces() if (reason := _embed_space(space, report))]
    return "; ".join(dict.fromkeys(reasons))


def _spaces() -> list[EmbeddingSpace]:
    rows = Collection.objects.exclude(embedding_model="").order_by().values_list("embedding_model", "embedding_dim")
    found = [EmbeddingSpace(model, dim) for model, dim in rows.distinct() if dim]
    return [space for space in found if space != LEXICAL_SPACE]


def _embed_space(space: EmbeddingSpace, report: Callable[[], None]) -> str:
    missing = _missing(space)
    if not missing:
        return ""

    async def work(engine: Engine) -> str:
        try:
            embedder = await engine.models.embedder(space)
            for start in range(0, len(missing), IN_CALL):
                batch = missing[start : start + IN_CALL]
                vectors = await embedder.embed_queries([text for _, text in batch])
                await sync_to_async(_store)(space, [key for key, _ in batch], list(map(vector_encode, vectors)))
                await sync_to_async(report)()
        except EmbeddingUnavailableError as error:
            return error.reason
        return ""

    return with_engine(work)


def _missing(space: EmbeddingSpace) -> list[tuple[int, str]]:
    there = QuestionVector.objects.filter(question=OuterRef("pk"), embedding_model=space.model, embedding_dim=space.dim)
    evidence = Evidence.objects.filter(
        question=OuterRef("pk"),
        passage__document__collection__embedding_model=space.model,
        passage__document__collection__embedding_dim=space.dim,
    )
    rows = RatedQuestion.objects.filter(~Exists(there), Exists(evidence)).order_by("pk")
    return list(rows.values_list("pk", "text")[:MOST_IN_A_ROUND])


def _store(space: EmbeddingSpace, questions: Sequence[int], vectors: Sequence[bytes]) -> None:
    QuestionVector.objects.bulk_create(
        [
            QuestionVector(question_id=question, embedding_model=space.model, embedding_dim=space.dim, vector=vector)
            for question, vector in zip(questions, vectors, strict=True)
        ],
        ignore_conflicts=True,
    )
