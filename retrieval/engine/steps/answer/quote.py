"""Passages as they stand in their documents: what is shown where no model writes, and under a refusal.

The best one stands first, under its title and headings, around the sentence or row that holds most of the question's
words, which is marked. Others follow where they come from other places and come near it in score. Nothing is composed,
and nothing judges whether a passage answers: no count of words can say that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.engine.deps import Deps
from retrieval.engine.steps.context.joining import seam
from retrieval.engine.text.analysis import analyze
from retrieval.engine.text.excerpt_tables import (
    begins_inside_table,
    head_of,
    is_inside_table,
)
from retrieval.engine.text.excerpts import ReadPassage, escaped, quoted
from retrieval.engine.text.phrases import Language, in_script_of
from retrieval.engine.text.statements import headed_statements_of
from retrieval.engine.text.term_weights import term_weights
from retrieval.engine.values import (
    HEADING_JOIN,
    AnswerSource,
    GroundedSentence,
    Question,
    SearchScope,
    SentenceEvidence,
    StoredChunk,
)

SHOWN = 3  # passages of an answer that no model wrote
SHOWN_CHARS = 900  # of each
NEAREST = 3  # passages under a refusal
NEAREST_CHARS = 300
NEAR_SHARE = (
    0.6  # of the best one's score above the last one's, from which another passage is shown as well
)
EARLIER_WEIGHT = (
    0.8  # of a term of the question before; chosen on twenty follow-ups in three languages
)
MOST_CHARS = 1_000_000  # more than a passage with its neighbours has
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
    deps: Deps,
    question: Question,
    shown: Sequence[AnswerSource],
    *,
    among: Sequence[AnswerSource],
    chars: int,
) -> Shown:
    """Each in at most so many characters of its document around its best statement. among: all that was found, which
    tells how rare a word of the question is."""
    places = await _in_documents(deps, shown, question.scope)
    return await asyncio.to_thread(_shown, question, places, among, deps.language, chars)


def best_sources(sources: Sequence[AnswerSource]) -> list[AnswerSource]:
    """The best one, and those that come near it in score from other places, at most SHOWN. sources: best first."""
    if not sources:
        return []
    best = sources[0]
    lowest = min(map(_score, sources))
    width = _score(best) - lowest
    chosen = [best]
    for source in sources[1:]:
        is_near = width > 0 and (_score(source) - lowest) / width >= NEAR_SHARE
        if (
            is_near
            and len(chosen) < SHOWN
            and not any(_is_one_place(source.chunk, other.chunk) for other in chosen)
        ):
            chosen.append(source)
    return chosen


def _score(source: AnswerSource) -> float:
    return source.scores.final or 0.0


def _is_one_place(chunk: StoredChunk, other: StoredChunk) -> bool:
    return chunk.document_id == other.document_id and chunk.heading == other.heading


def best_statements(question: str, chunks: Sequence[StoredChunk]) -> list[str]:
    """Of each chunk the statement that holds most of the question's words."""
    passages = [ReadPassage(chunk.text, file_name=chunk.file_name) for chunk in chunks]
    weights = _weights(question, "", passages)
    return [
        passage.pieces[_best(passage, weights, chars=SHOWN_CHARS)].words
        for passage in passages
        if passage.pieces
    ]


def _weights(
    question: str, previous_question: str, passages: Sequence[ReadPassage]
) -> dict[str, float]:
    """What each term of the question weighs: more where few statements hold it."""
    pool = [
        frozenset(analyze(passage.said(at)))
        for passage in passages
        for at in range(len(passage.pieces))
    ]
    earlier = {
        term: EARLIER_WEIGHT * weight
        for term, weight in term_weights(previous_question, pool).items()
    }
    return {**earlier, **term_weights(question, pool)}


def _best(
    passage: ReadPassage,
    weights: Mapping[str, float],
    *,
    chars: int,
    start: int = 0,
    end: int = MOST_CHARS,
) -> int:
    """The statement to be marked, which begins in `text[start:end]`: that which holds most of the question's words
    together with what is shown around it, and most by itself.

    A heading announces what stands below it, and a question of an FAQ its answer: neither says it.
    """
    held: list[frozenset[str]] = []
    for at, piece in enumerate(passage.pieces):
        says = piece.kind != "heading"
        held.append(frozenset(analyze(passage.said(at))) & weights.keys() if says else frozenset())

    def weight(at: int) -> float:
        first, last = passage.around(at, chars)
        shown = frozenset[str]().union(*held[first : last + 1])
        return sum(weights[term] for term in shown) + sum(weights[term] for term in held[at])

    pieces = passage.pieces
    own = [
        at
        for at, piece in enumerate(pieces)
        if start <= piece.start < end and piece.kind != "heading"
    ]
    best = max(own or range(len(pieces)), key=lambda at: (weight(at), -at))
    asks = pieces[best].words.endswith(("?", "？"))
    return best + 1 if asks and best + 1 < len(pieces) else best


@dataclass(frozen=True, slots=True)
class _Place:
    """A source in its document. text: its own, which begins at `start`, and what stands before and after it. head: of
    the table that the text begins inside of, where it does."""

    source: AnswerSource
    text: str
    start: int = 0
    head: tuple[str, ...] = ()

    @property
    def passage(self) -> ReadPassage:
        return ReadPassage(self.text, file_name=self.source.chunk.file_name, head=self.head)


def _shown(
    question: Question,
    places: Sequence[_Place],
    among: Sequence[AnswerSource],
    language: Language,
    chars: int,
) -> Shown:
    weights = _weights(
        question.standalone,
        question.previous_question,
        [ReadPassage(source.chunk.text) for source in among],
    )
    text = ""
    grounding: list[GroundedSentence] = []
    for place in places:
        passage = place.passage
        if not passage.pieces:
            continue
        chunk = place.source.chunk
        marker = place.source.marker
        best = _best(
            passage,
            weights,
            chars=chars,
            start=place.start,
            end=place.start + len(chunk.text),
        )
        path = _path(chunk, place.text, passage.pieces[best].start)
        excerpt = passage.excerpt(best, chars=chars, above=path)
        shown = f"**{escaped(HEADING_JOIN.join(path))}** [{marker}]\n\n{quoted(excerpt.markdown)}"
        text += "\n\n" if text else ""
        start = len(text)
        text += in_script_of(shown, language)
        grounding.append(
            GroundedSentence(
                sentence=passage.pieces[best].words,
                start=start,
                end=len(text),
                markers=(marker,),
                score=1.0,
                supported=True,
                evidence=(
                    SentenceEvidence(
                        marker,
                        excerpt.start - place.start,
                        excerpt.end - place.start,
                    ),
                ),
            )
        )
    return Shown(text, tuple(grounding))


def _path(chunk: StoredChunk, text: str, start: int) -> list[str]:
    """The title, the headings that the passage stands under, and the one right above what begins at `start`."""
    above = next(
        (one.heading for one in headed_statements_of(text) if one.start <= start < one.end),
        "",
    )
    title = chunk.title or chunk.file_name
    headings = dict.fromkeys([*chunk.heading.split(HEADING_JOIN), above])
    return [
        title,
        *(heading for heading in headings if heading and not heading.endswith(title)),
    ]


async def _in_documents(
    deps: Deps, sources: Sequence[AnswerSource], scope: SearchScope
) -> list[_Place]:
    """Each with the chunks beside it; one read."""
    wanted: set[tuple[str, int]] = set()
    for source in sources:
        chunk = source.chunk
        first, last = chunk.places
        back = HEAD_WITHIN if begins_inside_table(chunk.text) else 1
        if chunk.kind == "document":
            wanted |= {
                (chunk.document_id, seq) for seq in (*range(max(0, first - back), first), last + 1)
            }
    found = (
        await deps.documents.at(sorted(wanted), scope=scope) if deps.documents and wanted else ()
    )
    beside = {(chunk.document_id, chunk.seq): chunk for chunk in found}
    return [_in_document(source, beside) for source in sources]


def _in_document(source: AnswerSource, beside: Mapping[tuple[str, int], StoredChunk]) -> _Place:
    chunk = source.chunk
    first, last = chunk.places
    text = chunk.text
    start = 0
    head: tuple[str, ...] = ()
    after = beside.get((chunk.document_id, last + 1))
    added = seam(chunk, after) if after else None
    text += added or ""
    before = beside.get((chunk.document_id, first - 1))
    added = seam(before, chunk) if before else None
    if before and added is not None and not begins_inside_table(before.text):
        whole = before.text + added
        start = len(whole) - len(chunk.text)
        return _Place(source, whole + text[len(chunk.text) :], start)
    for seq in range(first - 1, max(-1, first - 1 - HEAD_WITHIN), -1):
        earlier = beside.get((chunk.document_id, seq))
        if earlier is None or not begins_inside_table(text):
            break
        head = head_of(earlier.text)
        if head or not is_inside_table(earlier.text):
            break
    return _Place(source, text, start, head)
