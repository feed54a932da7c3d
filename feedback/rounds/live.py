"""The live revision as searches use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from django.db.models import F, Q
from django.utils import timezone
from numpy.typing import NDArray

from feedback.models import (
    FeedbackState,
    ManualBoost,
    QuestionVector,
    RatedPassage,
    RatedQuestion,
    Revision,
)
from feedback.ranking.snapshot import Content, ManualRule, RatedQuestions, Snapshot, parameters
from retrieval.values import EmbeddingSpace

IN_BATCH = 5000


def feedback_state() -> FeedbackState:
    """The one row that says what is live; made when it is not there yet."""
    state, _ = FeedbackState.objects.select_related("live").get_or_create(pk=1)
    return state


def live_version() -> int:
    """Grows with every switch and every boost by hand; 0 before the first."""
    return FeedbackState.objects.filter(pk=1).values_list("version", flat=True).first() or 0


def version_bump() -> None:
    """Searches see what has changed, here within `refresh_s` and in other processes too."""
    feedback_state()
    FeedbackState.objects.filter(pk=1).update(version=F("version") + 1)


def content_of(revision: Revision | None) -> Content:
    """Raises ValueError for one that another version of the program wrote."""
    return Content.decode(bytes(revision.content)) if revision else Content.empty(parameters())


def snapshot_load() -> Snapshot:
    """The live revision and the boosts by hand, read so that both belong to `version`."""
    state = FeedbackState.objects.select_related("live").filter(pk=1).first()
    if state is None:
        return snapshot_make(content_of(None), manual=manual_rules())
    revision = str(state.live_id or "")
    return snapshot_make(content_of(state.live), revision=revision, version=state.version, manual=manual_rules())


def snapshot_make(
    content: Content, *, revision: str = "", version: int = 0, manual: Mapping[str, ManualRule] | None = None
) -> Snapshot:
    """With the questions and chunks that the content's rows refer to."""
    questions = questions_load(np.unique(content.queries.question).tolist())
    chunk_of = chunks_of(np.unique(content.queries.passage).tolist())
    return Snapshot(content, questions, chunk_of, revision=revision, version=version, manual=manual)


def snapshots_make(contents: Sequence[Content], *, manual: Mapping[str, ManualRule]) -> list[Snapshot]:
    """Of contents that have most of their rows in common: the questions and chunks of all are read once."""
    asked = [np.unique(content.queries.question) for content in contents]
    all_questions = questions_load(np.unique(np.concatenate(asked)).tolist())
    chunk_of = chunks_of(np.unique(np.concatenate([content.queries.passage for content in contents])).tolist())
    snapshots = []
    for content, ids in zip(contents, asked, strict=True):
        rows = np.flatnonzero(np.isin(all_questions.ids, ids))
        questions = all_questions
        if len(rows) < len(all_questions.ids):
            questions = RatedQuestions(
                ids=all_questions.ids[rows],
                texts=[all_questions.texts[row] for row in rows.tolist()],
                terms=[all_questions.terms[row] for row in rows.tolist()],
                vectors={space: stored[rows] for space, stored in all_questions.vectors.items()},
            )
        snapshots.append(Snapshot(content, questions, chunk_of, manual=manual))
    return snapshots


def questions_load(ids: list[int]) -> RatedQuestions:
    """Those that still exist, in the order of their ids."""
    texts: dict[int, str] = {}
    terms: dict[int, list[str]] = {}
    for batch in _batches(ids):
        rows = RatedQuestion.objects.filter(pk__in=batch).order_by("pk").values_list("pk", "text", "terms")
        for key, text, own_terms in rows:
            texts[key], terms[key] = text, own_terms.split()
    known = np.asarray(sorted(terms), dtype=np.int64)
    vectors: dict[EmbeddingSpace, NDArray[np.float32]] = {}
    columns = ("question_id", "embedding_model", "embedding_dim", "vector")
    for batch in _batches(known.tolist()):
        for question, model, dim, data in QuestionVector.objects.filter(question__in=batch).values_list(*columns):
            space = EmbeddingSpace(model, dim)
            if space not in vectors:
                vectors[space] = np.full((len(known), dim), np.nan, dtype=np.float32)
            vectors[space][np.searchsorted(known, question)] = vector_decode(data)
    keys = known.tolist()
    return RatedQuestions(
        ids=known, texts=[texts[key] for key in keys], terms=[terms[key] for key in keys], vectors=vectors
    )


def questions_terms(ids: Iterable[int]) -> dict[int, list[str]]:
    """The analysed terms of those that still exist."""
    terms: dict[int, list[str]] = {}
    for batch in _batches(sorted(ids)):
        rows = RatedQuestion.objects.filter(pk__in=batch).values_list("pk", "terms")
        terms.update((key, own.split()) for key, own in rows)
    return terms


def vector_encode(vector: NDArray[np.float32]) -> bytes:
    """As little-endian float16."""
    return np.asarray(vector, dtype="<f2").tobytes()


def vector_decode(data: bytes | memoryview) -> NDArray[np.float32]:
    return np.frombuffer(bytes(data), dtype="<f2").astype(np.float32)


def chunks_of(passages: list[int]) -> dict[int, str]:
    """passage → the chunk that holds its text now; without those whose text or document is gone."""
    chunks: dict[int, str] = {}
    for batch in _batches(passages):
        rows = RatedPassage.objects.filter(pk__in=batch, chunk_id__isnull=False).values_list("pk", "chunk_id")
        chunks.update((key, str(chunk_id)) for key, chunk_id in rows)
    return chunks


def manual_rules() -> dict[str, ManualRule]:
    """The boosts that staff set and that are in force, by chunk or document id; those of one question by their own."""
    rows = ManualBoost.objects.filter(ended_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    return {
        str(row.pk if row.question else row.chunk_id or row.document_id): ManualRule(
            multiplier=row.multiplier,
            hide=row.hide,
            expires_at=row.expires_at.timestamp() if row.expires_at else None,
            why=row.why,
            question=row.question,
            target=str(row.chunk_id or row.document_id),
        )
        for row in rows
    }


def _batches(ids: list[int]) -> Iterable[list[int]]:
    return (ids[start : start + IN_BATCH] for start in range(0, len(ids), IN_BATCH))
