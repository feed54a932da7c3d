"""From votes to the content of a revision: the one way, for rounds and for simulations. Pure.

votes ─► capped by day ─► one for each voter, question and passage ─► weighed (`weighing`) ─► decayed by age
      ─► query boosts and document priors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from feedback.ranking import boosts
from feedback.ranking.boosts import Votes
from feedback.ranking.groups import Groups
from feedback.ranking.rater_reliability import votes_to_compare
from feedback.ranking.snapshot import Content, DocumentPrior
from feedback.ranking.voters import Voters
from feedback.ranking.weighing import RaterWeights, asked_as, weigh

Ints = NDArray[np.int64]
GroupQuestions = Callable[[Ints], Ints]  # of each question, the place of the first that asks the same


def votes_weighed(
    votes: Votes, grouping: Callable[[Ints], GroupQuestions], voters: Voters | None = None
) -> tuple[Votes, RaterWeights]:
    """The counted votes, of one who rated the same several times the last, and what each of them weighs.

    votes: without any factor of the voter's. grouping: gets all questions that may have to be compared (distinct), and
    returns what groups some of them. voters: what is known of the accounts, by default nothing.
    """
    votes = votes.where(boosts.within_daily_cap(votes, per_day=boosts.RATINGS_PER_DAY))
    to_compare = votes_to_compare(votes)
    group_questions = grouping(_to_group(votes, to_compare))
    votes = boosts.deduplicated(votes, group_questions)
    question = asked_as(votes, to_compare, group_questions)
    return votes, weigh(votes, question, voters or Voters.unknown())


def _to_group(votes: Votes, to_compare: Votes) -> Ints:
    """The questions of one voter's several votes on one passage, and of passages that several people have rated."""
    several = [votes.question[rows] for rows in Groups.by(votes.voter, votes.passage).of_size(2)]
    return np.unique(np.concatenate([to_compare.question, *several]))


def content_of_votes(
    votes: Votes, weights: RaterWeights, *, today: int, document_id: Callable[[int], UUID],
    parameters: Mapping[str, float],
) -> Content:  # fmt: skip
    """What counted votes do to ranking. today: days since 1970-01-01. document_id: by the number in `votes`."""
    votes = boosts.decayed(weights.apply(votes), today=today, half_life_days=boosts.HALF_LIFE_DAYS)
    queries = boosts.strongest(
        boosts.query_tallies(votes),
        full_votes=boosts.FULL_VOTES,
        least_effect=boosts.LEAST_EFFECT,
        limit=boosts.MAX_LIVE_BOOSTS,
    )
    priors = boosts.document_tallies(votes, prior=boosts.DOCUMENT_PRIOR, min_raters=boosts.MIN_DOCUMENT_RATERS)
    priors = priors.where(np.abs(np.log(priors.multiplier)) >= np.log1p(boosts.LEAST_EFFECT / 2))
    columns = (priors.document, priors.multiplier, priors.raters_up, priors.raters_down)
    documents = {
        document_id(document): DocumentPrior(multiplier=multiplier, raters_up=up, raters_down=down)
        for document, multiplier, up, down in zip(*(column.tolist() for column in columns), strict=True)
    }
    return Content(queries=queries, documents=documents, parameters=parameters)
