"""Which passages bear out a sentence of an answer: its citations, whatever the model cited.

A model's own markers are a hint: they weigh HINT in the choice, and a passage that says less than another one is not
cited for them. The choice is by words and figures (`score`), with the question's words as context, so that a short
answer ("EUR 55.") finds the sentence that was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from retrieval.answerability.question import view_question
from retrieval.steps.grounding.score import (
    Nearest,
    Place,
    denies,
    ground,
    language_of,
    nearest_of,
    same_language,
    sentences_of,
    statement_weights,
    view_of,
)
from retrieval.text.figures import Figure, known_figures, missing_figures, stated_figures
from retrieval.text.language import detect_language
from retrieval.text.refusal import reads_as_refusal
from retrieval.values import Source

HINT = 0.06  # what the model's own marker adds to a passage's score
CONTEXT = 0.15  # what the question's words in and around the nearest sentence add at most
RANK = 0.002  # what each place further down the ranking takes away: it tells equal passages apart
FIGURE = 0.5  # share of the score that the figures of a sentence make up, where it has any
NEAR = 0.3  # words in common, 0..1, from which an unsupported sentence still cites its nearest passage
ALIKE = 0.05  # how far below the best one a passage may be that the model cited as well
JOIN = 0.2  # share of the sentence's weight that another passage must add
MOST = 3  # passages that one sentence cites


@dataclass(frozen=True, slots=True)
class _Match:
    """A passage beside a sentence. score: see `align`. held: its words that the nearest sentences have."""

    source: Source
    score: float
    held: frozenset[str]
    figures: frozenset[float]


def align(statement: str, sources: Sequence[Source], *, question: str, hints: Collection[int] = ()) -> tuple[int, ...]:
    """Markers of the passages that bear it out, in ascending order; empty where none is near.

    Of a sentence in another language than its passages only the figures can be looked up: it keeps the model's markers,
    and gets those of passages that have all its figures.
    """
    by_marker = {source.marker: source for source in sources}
    hinted = [marker for marker in hints if marker in by_marker]
    language = detect_language(statement)
    readable = [source for source in sources if same_language(language, language_of(source.chunk.text))]
    figures = stated_figures(statement)
    if not readable:
        return _across_languages(sources, figures, hinted)
    weights = statement_weights(
        view_question(statement), view_question(question), figures, [one.chunk for one in readable]
    )
    context = {term: 1.0 for term in view_question(question).terms if not term.isdecimal()}
    if not weights and not figures:
        return tuple(sorted(hinted[:MOST]))
    matches = sorted(
        (_match(source, weights, context, figures, source.marker in hinted) for source in readable),
        key=lambda match: -match.score + RANK * _place(match.source, readable),
    )
    chosen = [matches[0]]
    total = sum(weights.values()) + len(figures) * _figure_weight(weights, figures)
    for match in matches[1:]:
        if len(chosen) == MOST:
            break
        is_hinted = match.source.marker in hinted
        gained = _added(match, chosen, weights, figures) / (total or 1.0)
        if gained >= (JOIN / 2 if is_hinted else JOIN) or (is_hinted and match.score >= matches[0].score - ALIKE):
            chosen.append(match)
    found = ground(statement, [match.source.chunk for match in chosen], question=question, language=language)
    if found.score is None:
        # Too short to be looked up by itself ("Yes."): what the model cited, if it cited anything.
        return tuple(sorted(hinted[:MOST]))
    if found.words < NEAR:
        return ()
    # "It does not include breakfast" may be what a passage says; "the documents do not say" is said of them all.
    if reads_as_refusal(statement) and not any(denies(_text_at(chosen, place)) for place in found.places):
        return ()
    return tuple(sorted(match.source.marker for match in chosen))


def _text_at(chosen: Sequence[_Match], place: Place) -> str:
    return chosen[place.passage].source.chunk.text[place.start : place.end]


def _place(source: Source, sources: Sequence[Source]) -> int:
    score = source.scores.final or 0.0
    return sum((other.scores.final or 0.0) > score for other in sources)


def _figure_weight(weights: dict[str, float], figures: Sequence[Figure]) -> float:
    """Of one figure: together they make up FIGURE of the whole, or all of it where there are no words."""
    if not figures:
        return 0.0
    words = sum(weights.values()) or 1.0
    return words * FIGURE / (1 - FIGURE) / len(figures)


def _match(
    source: Source, weights: dict[str, float], context: dict[str, float], figures: Sequence[Figure], hinted: bool
) -> _Match:
    chunk, view = source.chunk, view_of(source.chunk)
    near = nearest_of(chunk, weights, figures)
    total = sum(weights.values())
    whole = sum(weight * view.credit(term) for term, weight in weights.items()) / (total or 1.0)
    words = 0.7 * near.pair + 0.3 * whole
    known = known_figures(chunk.text[near.start : near.end])
    found = frozenset(figure.value for figure in figures if not missing_figures([figure], known))
    share = FIGURE if weights else 1.0
    score = words if not figures else (1 - share) * words + share * len(found) / len(figures)
    terms = _terms_at(source, near)
    around = sum(weight for term, weight in context.items() if term in terms or term in view.head)
    score += CONTEXT * around / (sum(context.values()) or 1.0) + HINT * hinted
    return _Match(source, score, frozenset(weights.keys() & terms), found)


def _terms_at(source: Source, near: Nearest) -> frozenset[str]:
    places = (place for place in sentences_of(source.chunk.text) if near.start <= place.start and place.end <= near.end)
    return frozenset(term for place in places for term in place.terms)


def _added(match: _Match, chosen: Sequence[_Match], weights: dict[str, float], figures: Sequence[Figure]) -> float:
    """What a passage says of the sentence that the chosen ones do not, in weight."""
    held = {term for one in chosen for term in one.held}
    views = [view_of(one.source.chunk) for one in chosen]
    new = [term for term in match.held - held if not any(view.holds(term) for view in views)]
    values = {value for one in chosen for value in one.figures}
    return sum(weights[term] for term in new) + _figure_weight(weights, figures) * len(match.figures - values)


def _across_languages(sources: Sequence[Source], figures: Sequence[Figure], hinted: Sequence[int]) -> tuple[int, ...]:
    if figures and (
        whole := [one.marker for one in sources if not missing_figures(figures, known_figures(one.chunk.text))]
    ):
        kept = [marker for marker in hinted if marker in whole]
        return tuple(sorted((kept or whole)[:MOST]))
    return tuple(sorted(hinted[:MOST]))
