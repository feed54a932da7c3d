"""Votes against a passage never lift it, votes for it never lower it: over the whole way from votes to a ranking."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from uuid import UUID

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from feedback.ranking.boosts import Votes
from feedback.ranking.drafting import content_of_votes, votes_weighed
from feedback.ranking.question_groups import DecidedPairs, QuestionGroups, decide_among
from feedback.ranking.question_similarity import AskedQuestion
from feedback.ranking.same_question import shipped_model
from feedback.ranking.snapshot import RatedQuestions, Snapshot, parameters
from retrieval.search.boosting import rank_with_boosts
from retrieval.values import Boosts, Scores, TailHit

TEXTS = ("loan period book", "loan period of book", "period book loan ask", "exam fee date", "loan fee", "book hall")
PASSAGES = 8
JUDGED = 0  # the passage with votes of one direction alone
UNRATED = (6, 7)

score = st.integers(0, 100).map(lambda number: number / 100)
vote = st.tuples(
    st.integers(0, len(TEXTS) - 1), st.integers(1, 5), st.integers(1, 6), st.sampled_from([-1.0, -0.5, 0.5, 1.0]),
    st.integers(0, 400), score,
)  # fmt: skip
one_sided = st.tuples(
    st.integers(0, len(TEXTS) - 1), st.just(JUDGED), st.integers(1, 9), st.sampled_from([0.5, 1.0]),
    st.integers(0, 400), score,
)  # fmt: skip
Row = tuple[int, int, int, float, int, float]


def votes_of(rows: list[Row]) -> Votes:
    """(question, passage, voter, value, day, normalized score), in the order of the days."""
    table = np.asarray(sorted(rows, key=lambda row: row[4]), dtype=np.float64).reshape(-1, 6)
    whole = table.astype(np.int64)
    return Votes(
        key=np.arange(len(table)), question=whole[:, 0], passage=whole[:, 1], document=whole[:, 1], voter=whole[:, 2],
        value=table[:, 3], document_value=table[:, 3] * 0.5, day=whole[:, 4], normalized_score=table[:, 5],
    )  # fmt: skip


@cache
def decided() -> DecidedPairs:
    """Which of the questions want the same answer."""
    terms = [text.split() for text in TEXTS]
    return decide_among(np.arange(len(TEXTS)), TEXTS, terms, None, background=0.0, model=shipped_model())


def ranking(votes: Votes, asked: str, fused: list[float]) -> tuple[list[str], list[str]]:
    """Of all passages, without feedback and with it."""
    pairs = decided()
    counted, weights = votes_weighed(votes, lambda _: QuestionGroups.of(pairs))
    content = content_of_votes(
        counted, weights, today=400, document_id=lambda number: UUID(int=number), parameters=parameters()
    )
    content = replace(content, pairs=pairs.among(np.unique(content.queries.question)))
    terms = [text.split() for text in TEXTS]
    rated = RatedQuestions(ids=np.arange(len(TEXTS)), texts=TEXTS, terms=terms)
    snapshot = Snapshot(content, rated, {passage: str(passage) for passage in range(PASSAGES)})
    hits = [
        TailHit(chunk_id=str(at), document_id=str(UUID(int=at)), scores=Scores(fused=value))
        for at, value in enumerate(fused)
    ]
    boosts = snapshot.boosts(AskedQuestion(text=asked, terms=asked.split(), vectors={}), hits)
    plain, boosted = rank_with_boosts(hits, Boosts()), rank_with_boosts(hits, boosts)
    return [one.chunk_id for one in plain], [one.chunk_id for one in boosted]


ways = given(
    others=st.lists(vote, max_size=12),
    own=st.lists(one_sided, min_size=1, max_size=8),
    asked=st.sampled_from(TEXTS),
    fused=st.lists(score, min_size=PASSAGES, max_size=PASSAGES),
)
often = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Found high for the same question in other words, so the mean of both scores lifted it in spite of the votes.
FOUND_HIGHER = example(
    others=[], own=[(1, JUDGED, 1, 0.5, 400, 1.0)], asked=TEXTS[0], fused=[0.3, 0, 0, 0, 0, 1.0, 0.5, 0.4]
)


@ways
@FOUND_HIGHER
@often
def test_votes_against_never_lift_a_passage_above_one_without_votes(
    others: list[Row], own: list[Row], asked: str, fused: list[float]
) -> None:
    against = [(question, passage, voter, -value, day, at) for question, passage, voter, value, day, at in own]
    plain, boosted = ranking(votes_of(others + against), asked, fused)
    for unrated in map(str, UNRATED):
        was_below = plain.index(str(JUDGED)) > plain.index(unrated)
        assert not was_below or boosted.index(str(JUDGED)) > boosted.index(unrated)


@ways
@example(others=[], own=[(1, JUDGED, 1, 0.5, 400, 0.0)], asked=TEXTS[0], fused=[0.45, 0, 0, 0, 0, 1.0, 0.44, 0.3])
@often
def test_votes_for_a_passage_never_lower_it_below_one_without_votes(
    others: list[Row], own: list[Row], asked: str, fused: list[float]
) -> None:
    plain, boosted = ranking(votes_of(others + own), asked, fused)
    for unrated in map(str, UNRATED):
        was_above = plain.index(str(JUDGED)) < plain.index(unrated)
        assert not was_above or boosted.index(str(JUDGED)) < boosted.index(unrated)
