"""What is quoted where no model writes: the statements of the passages that hold most of the question's words.

One after the other, as in Carbonell and Goldstein, "MMR", SIGIR 1998: a word that a chosen statement has counts less
from then on. What only repeats its document's title answers nothing, so the title's words count little; those of the
heading right above count nearly as if the statement said them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from retrieval.steps.route import fold, years_in
from retrieval.text.analysis import analyze, term_weights
from retrieval.text.language import Language, in_script_of
from retrieval.text.quoting import one_line
from retrieval.text.statements import Statement, headed_statements_of
from retrieval.values import HEADING_JOIN, Source, StoredChunk

SENTENCE_CHARS = 400
_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")
KEEP_SHARE = 0.1  # of the best statement's gain; what falls below is left out
TITLE_SHARE = 0.25  # what a term counts that the title holds already
HEADING_SHARE = 0.6  # what a term counts that the heading right above holds, and the statement does not
CARRIED = 0.8  # what a term of the question before counts: `benchmarks.follow_ups`
REPEATED = 0.4  # what a term counts that a chosen statement holds
PASSAGE_DISCOUNT = 0.92  # for each passage further down the ranking


@dataclass(frozen=True, slots=True)
class Quote:
    """A statement of a passage, on one line. Terms: its own, its heading's, its title's. place: (rank of the passage,
    position in it)."""

    marker: int
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    title: frozenset[str]
    place: tuple[int, int]


def quotations(question: str, sources: Sequence[Source], *, most: int, language: Language, leans_on: str = "") -> str:
    """A list of the best statements with their markers. leans_on: the question before, in a conversation."""
    quotes = best_statements(question, sources, most=most, leans_on=leans_on)
    return "\n".join(f"- {in_script_of(quote.text, language)} [{quote.marker}]" for quote in quotes)


def versions_asked_for(sources: Sequence[Source], question: str) -> list[Source]:
    """Of the versions of a document (their titles are the same but for the year) the one of a year that the question
    names, else the newest."""
    named = set(years_in(question))
    best: dict[str, tuple[bool, int]] = {}
    for source in sources:
        topic, year = _version(source.chunk)
        best[topic] = max(best.get(topic, (False, 0)), (year in named, year))
    return [source for source in sources if _version(source.chunk)[1] == best[_version(source.chunk)[0]][1]]


def _version(chunk: StoredChunk) -> tuple[str, int]:
    """The title without its year, and the year; 0: it names none, or several."""
    named = years_in(chunk.title)
    return _NOT_THE_TOPIC.sub(" ", fold(chunk.title)).strip(), chunk.policy_year or (named[0] if len(named) == 1 else 0)


def best_statements(question: str, sources: Sequence[Source], *, most: int, leans_on: str = "") -> list[Quote]:
    """At most `most`, one at least, in the order of their passages."""
    ranked = sorted(sources, key=lambda source: -(source.scores.final or 0.0))
    left = [quote for rank, source in enumerate(ranked) for quote in _quotes(source, rank)]
    pool = [quote.terms for quote in left]
    carried = {term: CARRIED * weight for term, weight in term_weights(leans_on, pool).items()}
    weights = {**carried, **term_weights(question, pool)}
    announced = dict(weights)  # a heading only announces: the statement that says the word counts in full
    kept: list[Quote] = []
    least = 0.0
    while left and len(kept) < most:
        gains = {quote.place: _gain(quote, weights, announced) for quote in left}
        best = max(left, key=lambda quote: gains[quote.place])
        if gains[best.place] < least:
            break
        least = least or gains[best.place] * KEEP_SHARE
        kept.append(best)
        left = [quote for quote in left if quote.text != best.text]
        for terms, own in ((weights, best.terms), (announced, best.terms | best.heading)):
            for term in own & terms.keys():
                terms[term] *= REPEATED
    return sorted(kept, key=lambda quote: quote.place)


def _quotes(source: Source, rank: int) -> list[Quote]:
    chunk = source.chunk
    headings = chunk.heading.split(HEADING_JOIN)
    own = [statement for statement in headed_statements_of(chunk.text) if statement.text not in headings]
    statements = _answered(own) or [Statement("", chunk.text)]
    title = frozenset(analyze(f"{chunk.title} {chunk.heading}"))
    return [
        Quote(
            marker=source.marker,
            text=_shortened(one_line(statement.text)),
            terms=frozenset(analyze(statement.text)),
            heading=frozenset(analyze(statement.heading)),
            title=title,
            place=(rank, position),
        )
        for position, statement in enumerate(statements)
    ]


def _answered(statements: Sequence[Statement]) -> list[Statement]:
    """A question in a passage (of an FAQ) says nothing by itself: it is quoted with the statement behind it."""
    joined: list[Statement] = []
    for statement in statements:
        if joined and joined[-1].text.endswith(("?", "？")):
            joined[-1] = joined[-1]._replace(text=f"{joined[-1].text} {statement.text}")
        else:
            joined.append(statement)
    return joined


def _gain(quote: Quote, weights: Mapping[str, float], announced: Mapping[str, float]) -> float:
    own = _weight(quote.terms - quote.title, weights) + TITLE_SHARE * _weight(quote.terms, weights)
    headed = HEADING_SHARE * _weight(quote.heading - quote.terms - quote.title, announced)
    return (own + headed) * PASSAGE_DISCOUNT ** quote.place[0]


def _weight(terms: Set[str], weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms)


def _shortened(text: str) -> str:
    return text if len(text) <= SENTENCE_CHARS else text[:SENTENCE_CHARS].rstrip() + "…"
