"""Cite: which passages bear out a sentence of an answer: its citations, whatever the model cited.

A model's own markers ([1], [1, 2], 【1】) are a hint: they weigh HINT in the choice, and a passage that says less than
another one is not cited for them. Words are compared as the index has them (stems; Traditional Chinese as Simplified),
numbers by their value. A word that the question holds already weighs little: what a sentence adds is what must stand in
the passage; in choosing among passages the question's words are context, so that a short answer ("EUR 55.") finds the
sentence that was asked for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import Embedder, Models, Vectors
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.language import detect_language
from retrieval.text.numbers import known_numbers, stated_numbers
from retrieval.text.sentences import sentence_spans
from retrieval.text.term_coverage import held_share, rarity
from retrieval.values import Source, StoredChunk

MARKER = r"[\[【]\s*+\d{1,3}(?:\s*+[,，、;；]\s*+\d{1,3})*+\s*+[\]】]"
OPEN_MARKER = re.compile(r"[\[【][\d\s,，、;；]*\Z")  # what may become one when more of it comes
_WITH_BLANKS = re.compile(rf"(?<![ \t])[ \t]*+{MARKER}")
_NUMBER = re.compile(r"\d+")
_CITED = re.compile(r"\[(\d+)\]")
ASKED = 0.15  # of its weight that a word keeps which the question holds already
NEIGHBOUR_GAIN = 0.2  # share of the weight that the next sentence must add to be evidence as well
MAX_SENTENCES = 200  # of a passage
HINT = 0.06  # what the model's own marker adds to a passage's score
CONTEXT = 0.15  # what the question's words in the nearest sentence add at most
RANK = 0.002  # what each place further down the ranking takes away: it tells equal passages apart
NUMBERS = 0.5  # share of the score that a sentence's numbers make up, where it has any
NEAR = 0.3  # share of its weight from which a sentence cites its nearest passage
ALIKE = 0.05  # how far below the best one a passage may be that the model cited as well
JOIN = 0.2  # share of the sentence's weight that another passage must add, half of it where the model cited it
MOST = 3  # passages that one sentence cites
COSINE_ALIKE = 0.05  # how far below the nearest one's cosine a passage may be that the model cited
EMBEDDING_TIMEOUT_S = 2.0
EMBEDDER_IS_SLOW = worded("no result within {timeout_s:.1f} s", timeout_s=EMBEDDING_TIMEOUT_S)


def without_markers(text: str) -> str:
    """The answer as a model may read it: citations are the site's."""
    return _WITH_BLANKS.sub("", text)


def cited_markers(text: str) -> set[int]:
    return {int(number) for number in _CITED.findall(text)}


def numbers_of(markers: str) -> list[int]:
    """[2, 9] → 2, 9."""
    return [int(number) for number in _NUMBER.findall(markers)]


# ------------------------------------------------------------------------------------------------ overlap


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` of a passage: one sentence, or two neighbours. terms: their words, and their numbers as #7."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of a statement and a passage. near: the share of the statement's weight, 0..1, in the best two neighbouring
    sentences; whole: in the passage with its title. place: where most of it stands."""

    near: float
    whole: float
    place: Place


def overlap(weights: Mapping[str, float], passage: StoredChunk) -> Overlap:
    """`weights`: see `statement_weights`. What stands beside the text counts for every sentence."""
    beside, sentences = terms_beside(passage), sentences_of(passage.text)
    pairs = [
        Place(one.start, other.end, one.terms | other.terms)
        for one, other in zip(sentences, (*sentences[1:], sentences[-1]), strict=True)
    ]
    alone, paired = ([held_share(weights, place.terms | beside) for place in places] for places in (sentences, pairs))
    best = max(range(len(sentences)), key=lambda at: (round(alone[at], 6), -at))
    pair = max(range(max(0, best - 1), best + 1), key=lambda at: paired[at])
    place = pairs[pair] if paired[pair] - alone[best] >= NEIGHBOUR_GAIN else sentences[best]
    return Overlap(max(paired), held_share(weights, passage_terms(passage)), place)


def statement_weights(
    statement: str, question: str, passages: Sequence[StoredChunk], *, number_share: float
) -> dict[str, float]:
    """What each of the statement's words weighs, more where few of the passages hold it (one that none holds,
    as one that one holds); its numbers have `number_share` of the whole."""
    held = [passage_terms(passage) for passage in passages]
    asked = frozenset(query_terms(question))
    weights = {
        term: rarity(max(1, sum(term in terms for terms in held)), len(held)) * (ASKED if term in asked else 1.0)
        for term in query_terms(statement)
        if not term.isnumeric()  # they are looked up by their value
    }
    numbers = stated_numbers(statement)
    each = number_share / (1 - number_share) * (sum(weights.values()) or 1.0) / (len(numbers) or 1)
    return weights | {number_term(value): each for value in numbers}


def passage_terms(passage: StoredChunk) -> frozenset[str]:
    return _terms(passage.text) | terms_beside(passage)


def terms_beside(passage: StoredChunk) -> frozenset[str]:
    facts = (passage.title, passage.heading, passage.department, passage.doc_type, passage.file_name, passage.published)
    return _terms("\n".join((*facts, str(passage.policy_year or ""), str(passage.page or ""))))


def number_term(value: float) -> str:
    return f"#{value:.12g}"


def same_language(left: str, right: str) -> bool:
    """Simplified and Traditional Chinese are one; a text without letters fits any."""
    languages = _language_of(left), _language_of(right)
    return "und" in languages or languages[0].split("-")[0] == languages[1].split("-")[0]


@lru_cache(maxsize=1024)
def sentences_of(text: str) -> tuple[Place, ...]:
    """One at least."""
    places = [Place(span.start, span.end, _terms(span.text)) for span in sentence_spans(text)[:MAX_SENTENCES]]
    return tuple(places) or (Place(0, 0, frozenset()),)


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset({*analyze(text), *map(number_term, known_numbers(text))})


_language_of = lru_cache(maxsize=1024)(detect_language)


# ------------------------------------------------------------------------------------------------ align


def align(statement: str, sources: Sequence[Source], *, question: str, hints: Collection[int] = ()) -> tuple[int, ...]:
    """Markers of the passages that bear it out, ascending; empty where none is near.

    A sentence in another language than its passages, or too short to be looked up, keeps the model's own markers.
    """
    hinted = sorted({source.marker for source in sources}.intersection(hints))[:MOST]
    readable = [source for source in sources if same_language(statement, source.chunk.text)]
    chunks = {source.marker: source.chunk for source in readable}
    weights = statement_weights(statement, question, list(chunks.values()), number_share=NUMBERS)
    if not readable or not weights:
        return tuple(hinted)
    found = {marker: overlap(weights, chunk) for marker, chunk in chunks.items()}
    context = dict.fromkeys(query_terms(question), 1.0)
    scores: dict[int, float] = {}
    for rank, source in enumerate(sorted(readable, key=lambda source: -(source.scores.final or 0.0))):
        one = found[source.marker]
        scores[source.marker] = (
            0.7 * one.near
            + 0.3 * one.whole
            + CONTEXT * held_share(context, one.place.terms)
            + HINT * (source.marker in hinted)
            - RANK * rank
        )
    best, *others = sorted(scores, key=lambda marker: -scores[marker])
    if found[best].near < NEAR:
        return ()
    cited, held = [best], passage_terms(chunks[best])
    for marker in others:
        gain = held_share(weights, held | found[marker].place.terms) - held_share(weights, held)
        is_alike = marker in hinted and scores[marker] >= scores[best] - ALIKE
        if len(cited) < MOST and (is_alike or gain >= (JOIN / 2 if marker in hinted else JOIN)):
            cited.append(marker)
            held |= passage_terms(chunks[marker])
    return tuple(sorted(cited))


class Aligner:
    """`align` for the sentences of one answer. A sentence in another language than all its passages cites what is
    nearest by vectors, where an embedding model answers in time."""

    def __init__(self, sources: Sequence[Source], *, question: str, models: Models | None = None) -> None:
        self._sources = sources
        self._question = question
        self._models = models
        self._vectors: Vectors | None = None  # of the passages
        self.failure = ""  # why vectors could not be had

    async def __call__(self, sentence: str, hints: Collection[int]) -> Sequence[int]:
        readable = any(same_language(sentence, source.chunk.text) for source in self._sources)
        if self._models and self._sources and not readable:
            try:
                async with asyncio.timeout(EMBEDDING_TIMEOUT_S):
                    embedder = await self._models.default_embedder()
                    if embedder.space.semantic:
                        return await self._nearest(embedder, sentence, hints)
            except (EmbeddingUnavailableError, TimeoutError) as error:
                self._models, self.failure = None, getattr(error, "reason", "") or EMBEDDER_IS_SLOW
        return await asyncio.to_thread(align, sentence, self._sources, question=self._question, hints=hints)

    async def _nearest(self, embedder: Embedder, sentence: str, hints: Collection[int]) -> Sequence[int]:
        if self._vectors is None:
            self._vectors = await embedder.embed_documents([source.chunk.text for source in self._sources])
        cosines = self._vectors @ await embedder.embed_query(sentence)
        nearest = int(cosines.argmax())
        return [
            source.marker
            for at, (source, cosine) in enumerate(zip(self._sources, cosines, strict=True))
            if at == nearest or (source.marker in hints and cosine >= cosines[nearest] - COSINE_ALIKE)
        ][:MOST]
