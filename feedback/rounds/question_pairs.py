"""Whether rated questions want the same answer: decided once per pair, in a round, and kept (`QuestionPair`).

new questions ─► beside their nearest, by vectors and by terms, and those whose votes share a passage ─► probability
             ─► where that leaves it open: the fast model's word as well ─► stored

A round looks at MOST_NEW new questions, the rest waits for the next one, and asks the model about MOST_ASKED pairs: its
work is bounded whatever the number of rated questions. Without a model the probability stands as it is.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain

import numpy as np
from asgiref.sync import sync_to_async
from django.db.models import Q
from django.utils import timezone
from numpy.typing import NDArray

from feedback.models import Evidence, QuestionPair, QuestionVector, RatedQuestion
from feedback.ranking.question_groups import (
    DecidedPairs,
    Pairs,
    nearest_by_terms,
    nearest_by_vectors,
    probabilities,
)
from feedback.ranking.same_question import Commonness, SameQuestionModel, above_background, background_of, shipped_model
from feedback.rounds.bulk_rows import rows_add
from feedback.rounds.deletions import written
from feedback.rounds.live import vector_decode
from feedback.rounds.questions import with_engine
from feedback.rounds.same_answer import ASK_S, same_answer
from retrieval.engine import Engine
from retrieval.errors import ModelError
from retrieval.ports import ChatModel
from retrieval.values import EmbeddingSpace

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Row = tuple[int, int, float, str, datetime]
MOST_NEW = 1000  # questions compared in a round
SHARING = 6  # of a new question, others whose votes share a passage with it
LEAST_KEPT = 0.2  # probability from which a pair is stored
OPEN_FROM, OPEN_TO = 0.25, 0.75  # probability between which the words leave it open
MOST_ASKED = 30  # pairs that the model is asked about in a round …
ALL_ASKED_S = 60.0  # … within so many seconds for all
IN_BLOCK = 1024  # vectors read at once
IN_BATCH = 5000
# Small models say yes too often (docs/feedback.md): the prior counts a no for more than a yes.
YES_WORD, NO_WORD = 0.4, 0.75  # log-odds that a yes adds and a no takes
FEWEST_WORDS = 8  # from which on a model that has said the same to everything counts as none
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskedPair:
    """same: the probability by words and vectors, 0..1."""

    row: int
    same: float
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Decided:
    """questions: compared. pairs: stored. asked: of the model. waiting: questions left for the next round."""

    questions: int = 0
    pairs: int = 0
    asked: int = 0
    waiting: int = 0


def question_pairs_decide(*, wait_for_vectors: bool = False, report: Callable[[], None] = lambda: None) -> Decided:
    """Compare new questions with all others. Idempotent: a round that broke off before its end does it again.

    wait_for_vectors: the embedding model could not be asked, so questions compared now are compared again.
    """
    waiting = RatedQuestion.objects.filter(compared=False)
    new = np.asarray(list(waiting.order_by("pk").values_list("pk", flat=True)[:MOST_NEW]), dtype=np.int64)
    if not len(new):
        return Decided()
    pairs, common = _candidates(new, report)
    texts = _texts({question for pair in pairs for question in pair})
    pairs = {pair: cosine for pair, cosine in pairs.items() if pair[0] in texts and pair[1] in texts}
    model = shipped_model()
    same = _probabilities(pairs, texts, model, common, report)
    by = ["words" if math.isnan(cosine) else "vectors" for cosine in pairs.values()]
    asked = _ask(list(pairs), same, by, texts, report)
    now = timezone.now()
    rows = [
        (first, second, float(likely), decided_by, now)
        for (first, second), likely, decided_by in zip(pairs, same.tolist(), by, strict=True)
        if likely >= LEAST_KEPT
    ]
    written(partial(_keep, new.tolist(), rows, compared=not wait_for_vectors))
    return Decided(
        questions=len(new), pairs=len(rows), asked=asked, waiting=waiting.count() if not wait_for_vectors else 0
    )


def _keep(new: Sequence[int], rows: Sequence[Row], *, compared: bool) -> None:
    for batch in _batches(new):
        QuestionPair.objects.filter(Q(first__in=batch) | Q(second__in=batch)).delete()
        if compared:
            RatedQuestion.objects.filter(pk__in=batch).update(compared=True)
    rows_add(QuestionPair, ["first", "second", "same", "decided_by", "decided_at"], _still_there(rows))


def _still_there(rows: Sequence[Row]) -> list[Row]:
    """Without questions that were deleted meanwhile."""
    named = {question for row in rows for question in row[:2]}
    left: set[int] = set()
    for batch in _batches(sorted(named)):
        left.update(RatedQuestion.objects.filter(pk__in=batch).values_list("pk", flat=True))
    return [row for row in rows if row[0] in left and row[1] in left]


def decided_pairs(questions: Iterable[int]) -> DecidedPairs:
    """What is decided of pairs among these questions."""
    wanted = np.unique(np.fromiter(questions, dtype=np.int64))
    found: list[tuple[int, int, float]] = []
    for batch in _batches(wanted.tolist()):
        rows = QuestionPair.objects.filter(first__in=batch).order_by("pk")
        found += rows.values_list("first_id", "second_id", "same")
    table = np.asarray(found, dtype=np.float64).reshape(-1, 3)
    return DecidedPairs(table[:, :2].astype(np.int64), table[:, 2].astype(np.float32)).among(wanted)


# ------------------------------------------------------------------------------------------------ candidates
def _candidates(new: Ints, report: Callable[[], None]) -> tuple[Pairs, Commonness]:
    rows = list(RatedQuestion.objects.order_by("pk").values_list("pk", "terms"))
    ids = np.asarray([key for key, _ in rows], dtype=np.int64)
    terms_of = [terms.split() for _, terms in rows]
    pairs = nearest_by_terms(new[np.isin(new, ids)], ids, terms_of)
    common = Commonness.of(Counter(chain.from_iterable(map(set, terms_of))), len(terms_of))
    del rows, terms_of
    report()
    for pair in _sharing_a_passage(new):
        pairs.setdefault(pair, float("nan"))
    spaces = QuestionVector.objects.order_by().values_list("embedding_model", "embedding_dim").distinct()
    for model, dim in spaces:
        _add_by_vectors(pairs, new, EmbeddingSpace(model, dim))
        report()
    return pairs, common


def _sharing_a_passage(new: Ints) -> Iterator[tuple[int, int]]:
    """Each new question with the SHARING newest others that have votes on one of its passages."""
    for batch in _batches(new.tolist()):
        own = list(
            Evidence.objects.filter(question__in=batch).order_by().values_list("question_id", "passage_id").distinct()
        )
        passages = {passage for _, passage in own}
        newest: dict[int, dict[int, None]] = {}
        for some in _batches(sorted(passages)):
            votes = Evidence.objects.filter(passage__in=some).order_by("-pk").values_list("passage_id", "question_id")
            for passage, question in votes.iterator(chunk_size=IN_BATCH):
                others = newest.setdefault(passage, {})
                if len(others) <= SHARING:
                    others.setdefault(question)
        taken: dict[int, int] = {}
        for question, passage in own:
            for other in newest.get(passage, ()):
                if other != question and taken.get(question, 0) < SHARING:
                    taken[question] = taken.get(question, 0) + 1
                    yield min(question, other), max(question, other)


def _add_by_vectors(pairs: Pairs, new: Ints, space: EmbeddingSpace) -> None:
    """Add the nearest by vectors, and the cosine of pairs that are there already; of several spaces the highest."""
    own: dict[int, Floats] = {}
    for ids, vectors in _blocks(space, new.tolist()):
        own.update(zip(ids.tolist(), vectors, strict=True))
    if not own:
        return
    sample = QuestionVector.objects.filter(embedding_model=space.model, embedding_dim=space.dim).order_by("pk")
    drawn = [vector_decode(data) for data in sample.values_list("vector", flat=True)[:IN_BLOCK]]
    background = background_of(np.stack(drawn))
    with_vector = np.asarray(sorted(own), dtype=np.int64)
    stacked = np.stack([own[key] for key in with_vector.tolist()])
    near = nearest_by_vectors(with_vector, stacked, _blocks(space), background=background)
    known = dict(own)
    partners = {question for pair in pairs for question in pair} - own.keys()
    for ids, vectors in _blocks(space, sorted(partners)):
        known.update(zip(ids.tolist(), vectors, strict=True))
    for first, second in pairs:
        if first in known and second in known:
            near[first, second] = above_background(float(known[first] @ known[second]), background)
    for pair, cosine in near.items():
        before = pairs.get(pair, float("nan"))
        pairs[pair] = cosine if math.isnan(before) else max(before, cosine)


def _blocks(space: EmbeddingSpace, questions: Sequence[int] | None = None) -> Iterator[tuple[Ints, Floats]]:
    """Ids and vectors of these questions, else of all, some at a time."""
    rows = QuestionVector.objects.filter(embedding_model=space.model, embedding_dim=space.dim).order_by("question_id")
    parts = [rows] if questions is None else [rows.filter(question__in=batch) for batch in _batches(questions)]
    for part in parts:
        block: list[tuple[int, bytes | memoryview]] = []
        for row in part.values_list("question_id", "vector").iterator(chunk_size=IN_BLOCK):
            block.append(row)
            if len(block) == IN_BLOCK:
                yield _decoded(block)
                block = []
        if block:
            yield _decoded(block)


def _decoded(block: Sequence[tuple[int, bytes | memoryview]]) -> tuple[Ints, Floats]:
    return np.asarray([key for key, _ in block], dtype=np.int64), np.stack([vector_decode(data) for _, data in block])


# ------------------------------------------------------------------------------------------------ probabilities
def _texts(questions: Iterable[int]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for batch in _batches(sorted(questions)):
        texts.update(RatedQuestion.objects.filter(pk__in=batch).values_list("pk", "text"))
    return texts


def _probabilities(
    pairs: Pairs, texts: Mapping[int, str], model: SameQuestionModel, common: Commonness, report: Callable[[], None]
) -> NDArray[np.float64]:
    keys = list(pairs)
    parts: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)]
    for start in range(0, len(keys), IN_BATCH):
        parts.append(probabilities({key: pairs[key] for key in keys[start : start + IN_BATCH]}, texts, model, common))
        report()
    return np.concatenate(parts).astype(np.float64)


def _ask(
    keys: Sequence[tuple[int, int]], same: NDArray[np.float64], by: list[str], texts: Mapping[int, str],
    report: Callable[[], None],
) -> int:  # fmt: skip
    """The fast model about the pairs that are most open; its word is added to `same` and its name to `by`. Returns of
    how many it gave its word."""
    is_open = (same >= OPEN_FROM) & (same <= OPEN_TO)
    rows = sorted(map(int, np.flatnonzero(is_open)), key=lambda row: abs(same[row] - 0.5))[:MOST_ASKED]
    if not rows:
        return 0
    pairs = [AskedPair(row, float(same[row]), *(texts[question] for question in keys[row])) for row in rows]
    weighed: dict[int, float] = {}  # what there is of it when the model breaks off counts
    said = 0

    goes_on = sync_to_async(report)

    async def work(engine: Engine) -> str:
        nonlocal said
        began = time.monotonic()
        try:
            model = await engine.models.chat("fast")
            async for word in _words(model, pairs, until=began + ALL_ASKED_S):
                said += 1
                weighed.update(word)
                await goes_on()
        except TimeoutError:
            logger.info(
                "The model took more than %s s to compare two questions; the rest is left to their words.", ASK_S
            )
        except ModelError as error:
            if said:
                logger.info("The model compared %s pairs of questions, then: %s", said, error.reason)
            return "" if said else error.reason
        return model.name

    name = with_engine(work)
    for row, likely in weighed.items():
        if likely != same[row]:  # else its word counted for nothing
            same[row] = likely
            by[row] = name[:200] or "model"
    return said


async def _words(model: ChatModel, pairs: Sequence[AskedPair], *, until: float) -> AsyncGenerator[dict[int, float]]:
    """After each pair that the model was asked about, the probabilities of all of them so far, by row.

    Raises ModelError; TimeoutError.
    """
    said: list[tuple[AskedPair, bool]] = []
    for pair in pairs:
        if time.monotonic() >= until:
            return
        async with asyncio.timeout(ASK_S):
            said.append((pair, await same_answer(model, pair.first, pair.second)))
        tells_apart = len(said) < FEWEST_WORDS or len({word for _, word in said}) > 1
        yield {
            other.row: _shifted(other.same, YES_WORD if word else -NO_WORD) if tells_apart else other.same
            for other, word in said
        }


def _shifted(probability: float, shift: float) -> float:
    """The probability whose log-odds are `shift` higher. probability: between OPEN_FROM and OPEN_TO."""
    return 1.0 / (1.0 + (1.0 / probability - 1.0) * math.exp(-shift))


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + IN_BATCH] for start in range(0, len(ids), IN_BATCH))
