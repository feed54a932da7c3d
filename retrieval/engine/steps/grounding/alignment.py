"""Which passages a sentence of an answer cites.

A model's own markers ([1], [1, 2], 【1】) are a hint: they weigh HINT in the choice, and a passage that says less than
another one is not cited for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import Models, Vectors
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.grounding.overlap import (
    Overlap,
    is_comparable,
    overlap,
    passage_terms,
    statement_weights,
)
from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.term_weights import held_share
from retrieval.engine.values import AnswerSource

NEAR_SHARE = 0.7  # of a passage's score: its best two neighbouring sentences
WHOLE_SHARE = 0.3  # the whole of it
HINT = 0.06  # what the model's own marker adds to a passage's score
CONTEXT = 0.15  # what the question's words in the nearest sentence add at most
RANK = 0.002  # what each place further down the ranking takes away: it tells equal passages apart
NUMBERS = 0.5  # share of the score that a sentence's numbers make up, where it has any
NEAR = 0.3  # share of its weight from which a sentence cites its nearest passage
SURE = 0.7  # share from which words alone say so; below it they may be small ones that stand there by chance
MEANT = 0.15  # cosine by the built-in model that a passage needs below SURE
ALIKE = 0.05  # how far below the best one a passage may be that the model cited as well
JOIN = 0.2  # share of the sentence's weight that another passage must add, half of it where the model cited it
MOST = 3  # passages that one sentence cites
COSINE_ALIKE = 0.05  # how far below the nearest one's cosine a passage may be that the model cited
EMBEDDING_TIMEOUT_S = 2.0
EMBEDDER_IS_SLOW = Reason("slow_embedder", {"timeout_s": EMBEDDING_TIMEOUT_S})


def align(
    statement: str,
    sources: Sequence[AnswerSource],
    *,
    question: str,
    hints: Collection[int] = (),
) -> tuple[int, ...]:
    """Markers of the passages that support it, ascending; empty where none is near.

    A sentence in another language than all of its passages keeps the model's own markers, as does one that is too
    short to be looked up.
    """
    found = _by_words(statement, sources, question=question, hints=hints)
    return found.markers or _believed(statement, sources, hints)


@dataclass(frozen=True, slots=True)
class Citations:
    """markers: of the passages that a sentence cites, ascending. nearest: of the one that comes nearest, with the share
    of the sentence's weight that stands in one place of it."""

    markers: tuple[int, ...] = ()
    nearest: int = 0
    share: float = 0.0


def _by_words(
    statement: str,
    sources: Sequence[AnswerSource],
    *,
    question: str,
    hints: Collection[int],
) -> Citations:
    """`align` by words and numbers alone."""
    chunks = {source.marker: source.chunk for source in sources}
    hinted = chunks.keys() & set(hints)
    weights = statement_weights(statement, question, list(chunks.values()), number_share=NUMBERS)
    if not sources or not weights:
        return Citations()
    found = {marker: overlap(weights, chunk) for marker, chunk in chunks.items()}
    context = dict.fromkeys(query_terms(question), 1.0)
    scores: dict[int, float] = {}
    ranked = sorted(sources, key=lambda source: -(source.scores.final or 0.0))
    for rank, source in enumerate(ranked):
        score = _score(found[source.marker], context=context, rank=rank)
        if source.marker in hinted:
            score += HINT
        scores[source.marker] = score
    best, *others = sorted(scores, key=lambda marker: -scores[marker])
    if found[best].near < NEAR:
        return Citations()
    cited = [best]
    held = passage_terms(chunks[best])
    for marker in others:
        if len(cited) == MOST:
            break
        is_hinted = marker in hinted
        is_alike = is_hinted and scores[marker] >= scores[best] - ALIKE
        with_this = held_share(weights, held | found[marker].place.terms)
        gain = with_this - held_share(weights, held)
        needed = JOIN / 2 if is_hinted else JOIN
        if is_alike or gain >= needed:
            cited.append(marker)
            held |= passage_terms(chunks[marker])
    return Citations(tuple(sorted(cited)), best, found[best].near)


def _score(found: Overlap, *, context: Mapping[str, float], rank: int) -> float:
    """context: the question's words. rank: of the passage, from 0."""
    by_sentence = NEAR_SHARE * found.near + WHOLE_SHARE * found.whole
    by_question = CONTEXT * held_share(context, found.place.terms)
    return by_sentence + by_question - RANK * rank


def _believed(
    statement: str, sources: Sequence[AnswerSource], hints: Collection[int]
) -> tuple[int, ...]:
    """The model's own markers, of a sentence that words can say nothing about."""
    if not _is_beyond_words(statement, sources):
        return ()
    return tuple(sorted({source.marker for source in sources}.intersection(hints))[:MOST])


def _is_beyond_words(statement: str, sources: Sequence[AnswerSource]) -> bool:
    return not query_terms(statement) or not is_comparable(
        statement, [source.chunk for source in sources]
    )


class Aligner:
    """`align` for the sentences of one answer, by their meaning as well.

    Among a few short passages nearly every word is rare, "know" as much as "deposit": a sentence that shares some words
    with a passage cites it only where the built-in embedding model finds them about the same. Measured on sentences of
    six sets in English and Chinese: right ones with less than SURE in one place have a cosine of .23 or more, refusals
    ("I don't know: the sources do not say") of .15 or less.

    A sentence that its passages have no words for cites the one that is nearest by vectors, if that one is in another
    language, and an embedding model answers in time.
    """

    def __init__(
        self,
        sources: Sequence[AnswerSource],
        *,
        question: str,
        models: Models | None = None,
    ) -> None:
        self._sources = sources
        self._question = question
        self._models = models
        self._vectors: Vectors | None = None  # of the passages
        self._meanings: dict[int, Vectors] = {}  # of passages, by the built-in model
        self.failure: Reason | None = None  # why vectors could not be had

    async def __call__(self, sentence: str, hints: Collection[int]) -> Sequence[int]:
        found = await asyncio.to_thread(
            _by_words, sentence, self._sources, question=self._question, hints=hints
        )
        if not self._sources:
            return ()
        try:
            async with asyncio.timeout(EMBEDDING_TIMEOUT_S):
                return await self._by_meaning(sentence, found, hints)
        except (EmbeddingUnavailableError, TimeoutError) as error:
            self._models = None
            self.failure = reason_of(error, late=EMBEDDER_IS_SLOW)
        return found.markers or _believed(sentence, self._sources, hints)

    async def _by_meaning(
        self, sentence: str, found: Citations, hints: Collection[int]
    ) -> Sequence[int]:
        """Raises EmbeddingUnavailableError."""
        if found.markers:
            if self._models is None or found.share >= SURE:
                return found.markers
            return (
                found.markers if await self._is_meant(self._models, sentence, found.nearest) else ()
            )
        if self._models and query_terms(sentence):
            return await self._nearest(self._models, sentence, hints)
        return _believed(sentence, self._sources, hints)

    async def _is_meant(self, models: Models, sentence: str, marker: int) -> bool:
        """Whether the sentence and this passage are about the same."""
        embedder = await models.embedder(BUILTIN_SPACE)
        if marker not in self._meanings:
            passage = next(source.chunk.text for source in self._sources if source.marker == marker)
            self._meanings[marker] = await embedder.embed_documents([passage])
        meaning = await embedder.embed_queries([sentence])
        return float(self._meanings[marker][0] @ meaning[0]) >= MEANT

    async def _nearest(
        self, models: Models, sentence: str, hints: Collection[int]
    ) -> Sequence[int]:
        """What is nearest by vectors, if words can't tell whether it says so, and the built-in model finds it about
        the same: a refusal may be taken for another language."""
        embedder = await models.default_embedder()
        if self._vectors is None:
            self._vectors = await embedder.embed_documents(
                [source.chunk.text for source in self._sources]
            )
        cosines = self._vectors @ (await embedder.embed_queries([sentence]))[0]
        nearest = int(cosines.argmax())
        if is_comparable(sentence, [self._sources[nearest].chunk]):
            return ()
        if not await self._is_meant(models, sentence, self._sources[nearest].marker):
            return ()
        least = cosines[nearest] - COSINE_ALIKE
        cited: list[int] = []
        for at, source in enumerate(self._sources):
            is_alike = source.marker in hints and cosines[at] >= least
            if at == nearest or is_alike:
                cited.append(source.marker)
        return cited[:MOST]
