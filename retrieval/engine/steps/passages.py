"""Passages: what is shown where no model writes, and under a refusal: passages as they stand in their documents.

The best one stands first, under its title and headings, around the sentence or row that holds most of the question's
words, which is marked. Others follow where they come from other places and come near it in score. Nothing is composed,
and nothing judges whether a passage answers: no count of words can say that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.engine.steps.step import Deps
from retrieval.engine.text.analysis import Language, analyze, in_script_of, term_weights
from retrieval.engine.text.excerpts import (
    Passage,
    begins_inside_table,
    escaped,
    head_of,
    is_inside_table,
    quoted,
)
from retrieval.engine.text.statements import headed_statements_of
from retrieval.engine.values import (
    HEADING_JOIN,
    GroundedSentence,
    Question,
    SearchScope,
    SentenceEvidence,
    Source,
    StoredChunk,
)

SHOWN = 3  # passages of an answer that no model wrote
SHOWN_CHARS = 900  # of each
NEAREST = 3  # passages under a refusal
NEAREST_CHARS = 300
NEAR_SHARE = 0.6  # of the best one's score above the last one's, from which another passage is shown as well
EARLIER_WEIGHT = 0.8  # of a term of the question before: `benchmarks.follow_ups`
HEAD_WITHIN = 20  # chunks further up in which the head of a table is looked for


@dataclass(frozen=True, slots=True)
class Shown:
    """text: Markdown, with each passage's marker. grounding: the marked statements, each with the place of its passage
    in this text."""

    text: str
    grounding: tuple[GroundedSentence, ...]

    @property
    def markers(self) -> frozenset[int]:
        return frozenset(marker for sentence in self.grounding for marker in sentence.markers)


async def show_passages(
    deps: Deps, question: Question, shown: Sequence[Source], *, among: Sequence[Source], chars: int
) -> Shown:
    """Each in at most so many characters around its best statement. among: all that was found, which tells how rare a
    word of the question is."""
    heads = await _heads_of_tables(deps, [source.chunk for source in shown], question.scope)
    return await asyncio.to_thread(_shown, question, shown, among, heads, deps.language, chars)


def best_sources(sources: Sequence[Source]) -> list[Source]:
    """The best one, and those that come near it in score from other places, at most SHOWN. sources: best first."""
    if not sources:
        return []
    best = sources[0]
    lowest = min(map(_score, sources))
    width = _score(best) - lowest
    chosen = [best]
    for source in sources[1:]:
        is_near = width > 0 and (_score(source) - lowest) / width >= NEAR_SHARE
        if is_near and len(chosen) < SHOWN and not any(_is_one_place(source.chunk, other.chunk) for other in chosen):
            chosen.append(source)
    return chosen


def _score(source: Source) -> float:
    return source.scores.final or 0.0


def _is_one_place(chunk: StoredChunk, other: StoredChunk) -> bool:
    return chunk.document_id == other.document_id and chunk.heading == other.heading


# ------------------------------------------------------------------------------------------------ what is marked
def best_statements(question: str, chunks: Sequence[StoredChunk]) -> list[str]:
    """Of each chunk the statement that holds most of the question's words."""
    passages = [Passage(chunk.text, file_name=chunk.file_name) for chunk in chunks]
    weights = _weights(question, "", passages)
    return [passage.pieces[_best(passage, weights)].words for passage in passages if passage.pieces]


def _weights(question: str, leans_on: str, passages: Sequence[Passage]) -> dict[str, float]:
    """What each term of the question weighs: more where few statements hold it."""
    pool = [frozenset(analyze(piece.words)) for passage in passages for piece in passage.pieces]
    earlier = {term: EARLIER_WEIGHT * weight for term, weight in term_weights(leans_on, pool).items()}
    return {**earlier, **term_weights(question, pool)}


def _best(passage: Passage, weights: Mapping[str, float]) -> int:
    """A heading announces what stands below it, and a question of an FAQ its answer: neither says it."""

    def weight(at: int) -> float:
        piece = passage.pieces[at]
        if piece.kind == "heading":
            return -1.0
        held = weights.keys() & frozenset(analyze(piece.words))
        return sum(weights[term] for term in held)

    best = max(range(len(passage.pieces)), key=lambda at: (weight(at), -at))
    asks = passage.pieces[best].words.endswith(("?", "？"))
    return best + 1 if asks and best + 1 < len(passage.pieces) else best


# ------------------------------------------------------------------------------------------------ what is shown
def _shown(
    question: Question,
    sources: Sequence[Source],
    among: Sequence[Source],
    heads: Mapping[str, Sequence[str]],
    language: Language,
    chars: int,
) -> Shown:
    passages = [
        Passage(source.chunk.text, file_name=source.chunk.file_name, head=heads.get(source.chunk.chunk_id, ()))
        for source in sources
    ]
    weights = _weights(question.standalone, question.leans_on, [Passage(source.chunk.text) for source in among])
    text = ""
    grounding: list[GroundedSentence] = []
    for source, passage in zip(sources, passages, strict=True):
        if not passage.pieces:
            continue
        best = _best(passage, weights)
        path = _path(source.chunk, passage.pieces[best].start)
        excerpt = passage.excerpt(best, chars=chars, above=path)
        place = escaped(HEADING_JOIN.join(path))
        text += "\n\n" if text else ""
        start = len(text)
        text += in_script_of(f"**{place}** [{source.marker}]\n\n{quoted(excerpt.markdown)}", language)
        grounding.append(
            GroundedSentence(
                sentence=passage.pieces[best].words,
                start=start,
                end=len(text),
                markers=(source.marker,),
                score=1.0,
                supported=True,
                evidence=(SentenceEvidence(source.marker, excerpt.start, excerpt.end),),
            )
        )
    return Shown(text, tuple(grounding))


def _path(chunk: StoredChunk, start: int) -> list[str]:
    """The title, the headings that the passage stands under, and the one right above what begins at `start`."""
    above = next((one.heading for one in headed_statements_of(chunk.text) if one.start <= start < one.end), "")
    title = chunk.title or chunk.file_name
    headings = dict.fromkeys([*chunk.heading.split(HEADING_JOIN), above])
    return [title, *(heading for heading in headings if heading and not heading.endswith(title))]


async def _heads_of_tables(deps: Deps, chunks: Sequence[StoredChunk], scope: SearchScope) -> dict[str, tuple[str, ...]]:
    """By chunk id, of those that begin with rows of a table whose head stands in an earlier chunk."""
    cut_off = [chunk for chunk in chunks if chunk.kind == "document" and begins_inside_table(chunk.text)]
    if not cut_off or deps.documents is None:
        return {}
    places = [(chunk.document_id, chunk.places[0] - back) for chunk in cut_off for back in range(1, HEAD_WITHIN + 1)]
    found = await deps.documents.at([place for place in places if place[1] >= 0], scope=scope)
    by_place = {(one.document_id, one.seq): one.text for one in found}
    heads: dict[str, tuple[str, ...]] = {}
    for chunk in cut_off:
        for back in range(1, HEAD_WITHIN + 1):
            text = by_place.get((chunk.document_id, chunk.places[0] - back), "")
            if head := head_of(text):
                heads[chunk.chunk_id] = head
            if not is_inside_table(text):
                break
    return heads
