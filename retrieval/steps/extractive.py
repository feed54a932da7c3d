"""The answer that no model wrote: the best sentences of the best passages, each with its marker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from retrieval.analysis import analyze
from retrieval.steps.answer_language import Language, in_script_of
from retrieval.steps.phrases import phrase
from retrieval.steps.quoting import neutralise
from retrieval.steps.statements import statements_of
from retrieval.steps.term_coverage import coverage, term_weights
from retrieval.values import Source

SENTENCE_CHARS = 400
KEEP_SHARE = 0.35  # of the best sentence's score; what falls below is left out
TITLE_SHARE = 0.25  # what a term counts that the title holds already
PASSAGE_DISCOUNT = 0.92  # for each passage further down the ranking


@dataclass(frozen=True, slots=True)
class _Found:
    score: float
    marker: int
    position: int
    text: str


def extractive_answer(question: str, sources: Sequence[Source], *, language: Language, sentences: int) -> Iterator[str]:
    """Pieces of an answer: a line that says no model wrote it, then quoted sentences as a list."""
    yield phrase("extractive_lead", language) + "\n\n"
    for number, found in enumerate(best_statements(question, sources, most=sentences)):
        text = in_script_of(found.text, language)
        yield ("\n" if number else "") + f"- {text} [{found.marker}]"


def best_statements(question: str, sources: Sequence[Source], *, most: int) -> list[_Found]:
    """The statements that add most of the question's terms to their title's, in the order of their passages.

    One at least. What only repeats the title of its document answers nothing, so terms of the title count little.
    """
    found = [
        _Found(0.0, source.marker, position, sentence)
        for source in sources
        for position, sentence in enumerate(_statements_of(source))
    ]
    heads = {source.marker: set(analyze(f"{source.chunk.title} {source.chunk.heading}")) for source in sources}
    terms = [set(analyze(one.text)) for one in found]
    weights = term_weights(question, terms)
    rank = {source.marker: place for place, source in enumerate(sorted(sources, key=_by_score))}
    scored = [
        replace(one, score=_worth(held, heads[one.marker], weights) * PASSAGE_DISCOUNT ** rank[one.marker])
        for one, held in zip(found, terms, strict=True)
    ]
    scored.sort(key=lambda one: -one.score)
    least = scored[0].score * KEEP_SHARE if scored else 0.0
    kept: list[_Found] = []
    for one in scored:
        if len(kept) < most and one.score >= least and all(one.text != other.text for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: (rank[one.marker], one.position))


def _by_score(source: Source) -> float:
    return -(source.scores.final or 0.0)


def _worth(held: set[str], head: set[str], weights: dict[str, float]) -> float:
    gain = coverage(held | head, weights) - coverage(head, weights)
    return gain + TITLE_SHARE * coverage(held, weights)


def _statements_of(source: Source) -> Iterator[str]:
    """Statements without markup; a passage that is headings alone is quoted as it is."""
    for statement in statements_of(source.chunk.text) or [source.chunk.text]:
        text = " ".join(neutralise(statement).split())
        if text:
            yield text if len(text) <= SENTENCE_CHARS else text[:SENTENCE_CHARS].rstrip() + "…"
