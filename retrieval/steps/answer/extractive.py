"""The answer that no model wrote: the best sentences of the best passages, each with its marker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest

from retrieval.text.analysis import analyze
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.numbers import numbers_in, spanned
from retrieval.text.quoting import neutralise
from retrieval.text.statements import Statement, headed_statements_of
from retrieval.text.term_coverage import term_weights
from retrieval.values import Source

SENTENCE_CHARS = 400
KEEP_SHARE = 0.1  # of the best statement's gain; what falls below is left out
TITLE_SHARE = 0.25  # what a term counts that the title holds already
HEADING_SHARE = 0.6  # what a term counts that the heading right above holds, and the statement does not
REPEATED = 0.4  # what a term counts that a chosen statement holds
PASSAGE_DISCOUNT = 0.92  # for each passage further down the ranking
ANSWER_STATEMENTS = 4  # that stand under a question of the passage
CLOSING = "”’」』）】》\"')]*"  # what may stand behind a question mark


@dataclass(frozen=True, slots=True)
class Quote:
    """A statement of a passage. `terms` of its own, with the question's numbers that lie in its ranges; of the
    `heading` right above it; and of its document's title (`head`). `cells`: terms of a row of that `table` without its
    columns' names."""

    marker: int
    rank: int
    position: int
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    head: frozenset[str]
    cells: frozenset[str]
    table: int


def extractive_answer(question: str, sources: Sequence[Source], *, language: Language, sentences: int) -> list[str]:
    """Pieces of an answer: quoted sentences as a list. That no model wrote it stands in the decision path."""
    quotes = best_statements(question, sources, most=sentences)
    lines = [f"- {in_script_of(quote.text, language)} [{quote.marker}]" for quote in quotes]
    return [*lines[:1], *(f"\n{line}" for line in lines[1:])]


def best_statements(question: str, sources: Sequence[Source], *, most: int) -> list[Quote]:
    """The statements that add most of the question's terms to their title's and to each other's, in the order of their
    passages. One at least.

    What only repeats the title of its document answers nothing, so terms of the title count little; those of the
    heading right above count nearly as if the statement said them. Chosen one after the other, as in Carbonell and
    Goldstein, "MMR", SIGIR 1998: what is covered already counts less. A heading covers nothing, it announces: the
    statement that says the word itself is still to come, and counts in full.
    """
    left = _statements(question, sources)
    weights = term_weights(question, [statement.terms for statement in left])
    asked = frozenset(weights)
    announced = dict(weights)
    kept: list[Quote] = []
    least = 0.0
    while left and len(kept) < most:
        best = max(left, key=lambda statement: _gain(statement, weights, announced))
        gain = _gain(best, weights, announced)
        if kept and gain < least:
            break
        least = least or gain * KEEP_SHARE
        kept.append(best)
        left = [other for other in left if other.text != best.text and not _is_beside(other, best, asked)]
        for term in best.terms & weights.keys():
            weights[term] *= REPEATED
        for term in (best.terms | best.heading) & announced.keys():
            announced[term] *= REPEATED
    return sorted(kept, key=lambda statement: (statement.rank, statement.position))


def _is_beside(row: Quote, chosen: Quote, asked: Set[str]) -> bool:
    """A row of the chosen one's table that shares nothing with the question but the columns' names, where the chosen
    one shares more: whoever asks for zone B is not told of zone A."""
    same_table = chosen.table and (row.marker, row.table) == (chosen.marker, chosen.table)
    return bool(same_table and chosen.cells & asked and not row.cells & asked)


def _gain(statement: Quote, weights: dict[str, float], announced: dict[str, float]) -> float:
    """`weights`: of terms that a statement says, `announced`: of those that its heading does."""
    own, head = statement.terms, statement.head
    headed = _weight(statement.heading - own - head, announced)
    new = _weight(own - head, weights) + HEADING_SHARE * headed
    return (new + TITLE_SHARE * _weight(own, weights)) * PASSAGE_DISCOUNT**statement.rank


def _weight(terms: Set[str], weights: dict[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms)


def _statements(question: str, sources: Sequence[Source]) -> list[Quote]:
    numbers = frozenset(numbers_in(question))
    return [
        Quote(
            marker=source.marker,
            rank=rank,
            position=position,
            text=said.text,
            terms=frozenset(analyze(said.text)) | spanned(said.text, numbers),
            heading=frozenset(analyze(said.heading)),
            head=frozenset(analyze(f"{source.chunk.title} {source.chunk.heading}")),
            cells=frozenset(analyze(said.cells)) | spanned(said.cells, numbers),
            table=said.table,
        )
        for rank, source in enumerate(sorted(sources, key=_by_score))
        for position, said in enumerate(_texts(source))
    ]


def _by_score(source: Source) -> float:
    return -(source.scores.final or 0.0)


def _texts(source: Source) -> Iterator[Statement]:
    """Statements without markup behind their headings; a passage that is headings alone is quoted as it is."""
    whole = Statement("", source.chunk.text)
    for statement in _answered(headed_statements_of(source.chunk.text)) or [whole]:
        text = " ".join(neutralise(statement.text).split())
        if text:
            yield statement._replace(text=text if len(text) <= SENTENCE_CHARS else text[:SENTENCE_CHARS].rstrip() + "…")


def _answered(statements: Sequence[Statement]) -> list[Statement]:
    """A question in a passage (of an FAQ) says nothing by itself: it is quoted with the statement behind it, and the
    next ones stand under it as under a heading."""
    joined: list[Statement] = []
    question, left = Statement("", ""), 0
    for statement, following in zip_longest(statements, statements[1:]):
        if (
            following
            and following.heading == statement.heading
            and statement.text.rstrip(CLOSING).endswith(("?", "？"))
        ):
            if left == ANSWER_STATEMENTS:  # two questions in a row
                joined.append(question)
            question, left = statement, ANSWER_STATEMENTS
        elif left and statement.heading == question.heading:
            gap = "" if question.text.endswith("？") else " "
            joined.append(
                statement._replace(text=f"{question.text}{gap}{statement.text}")
                if left == ANSWER_STATEMENTS
                else statement._replace(heading=f"{statement.heading} {question.text}")
            )
            left -= 1
        else:
            joined.append(statement)
            left = 0
    return joined
