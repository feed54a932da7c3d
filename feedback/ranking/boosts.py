"""Computes boosts from votes, all at once in numpy arrays. Pure: it reads no database and no clock.

    votes ─► deduplicated: one for each voter, question and passage ─► decayed by age ─► sums for and against
          ├─► query boosts: for one question and one passage
          └─► document priors: for a document, whatever is asked

A vote loses half of its weight in each half-life. A query boost grows with the votes for a passage minus the votes
against it, up to a bound. A document's share of good votes is smoothed by a Beta prior (Evan Miller, "How not to sort
by average rating", 2009, gives the reason), and compared with the share over all documents. So a document that is
shown often, and therefore rated often, gets no boost for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.groups import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
QUERY_BOUND = math.log(2.0)  # multipliers 0.5 … 2.0
DOCUMENT_BOUND = math.log(1.25)  # 0.8 … 1.25
HALF_LIFE_DAYS = 180.0  # after so many days a vote counts half
FULL_VOTES = 3.0  # votes for a passage minus votes against it at which its query boost reaches the bound
DOCUMENT_PRIOR = 30.0  # votes of the mean share that are added to each document's own
MIN_DOCUMENT_RATERS = 3  # distinct people before a document has a prior
MAX_LIVE_BOOSTS = 20_000  # query boosts in a revision; the strongest stay
LEAST_EFFECT = 0.03  # a boost within 1 ± this is left out; a smaller change of one makes no new revision
RATINGS_PER_DAY = 50  # rated questions of one user on one day that count
BURST_VOTES = 15  # votes on one document on one day …
BURST_ACCOUNTS = 3  # … from at most so many accounts are a burst: left out until a person decides
NEWCOMERS = 6  # young accounts that say the same of a document or for a question …
NEWCOMERS_DAYS = 3  # … within so many days are a burst, too
UNANIMOUS = 0.9  # share of them that says it
OLDER_ACCOUNTS = 3  # that a site must have before new accounts stand out


@dataclass(frozen=True, slots=True)
class Columns:
    """Base of tables: each field of a subclass is an array, all of one length."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def where(self, rows: NDArray[np.bool_] | Ints) -> Self:
        """rows: a mask, or the numbers of the rows to keep. All of them: the table itself, since a copy of a round's
        votes is some ten MiB."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        return replace(self, **{column.name: getattr(self, column.name)[rows] for column in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes(Columns):
    """One row for each vote, in the order of `key`, which grows with time.

    value, document_value: weight (-1..1) times the voter's weight, for this question and for the document whatever is
    asked. day: since 1970-01-01. normalized_score: 0..1, of the passage in the search that was rated; NaN: not known.
    """

    key: Ints
    question: Ints
    passage: Ints
    document: Ints
    voter: Ints
    value: Floats
    document_value: Floats
    day: Ints
    normalized_score: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTallies(Columns):
    """One row for each rated question and passage: the sums of votes for and against, and from how many people.

    normalized_score: 0..1, mean over the rated searches for the question; NaN: not known.
    """

    question: Ints
    passage: Ints
    up: Floats
    down: Floats
    raters_up: Ints
    raters_down: Ints
    normalized_score: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTallies(Columns):
    """One row for each document that has at least the number of distinct raters asked for. multiplier: 0.8 … 1.25."""

    document: Ints
    multiplier: Floats
    raters_up: Ints
    raters_down: Ints


# ------------------------------------------------------------------------------------------------ deduplication
def deduplicated(votes: Votes, group_questions: Callable[[Ints], Ints] | None = None) -> Votes:
    """The newest vote of each voter on each passage for each question.

    group_questions: gets the questions of one voter's votes on one passage, and returns for each the number of the
    first that asks the same. So nobody has ten votes by asking the same in ten ways.
    """
    votes = _newest(votes, votes.question)
    if group_questions is None:
        return votes
    group = votes.question.copy()
    for rows in Groups.by(votes.voter, votes.passage).of_size(2):
        group[rows] = votes.question[rows][group_questions(votes.question[rows])]
    return _newest(votes, group)


def _newest(votes: Votes, question: Ints) -> Votes:
    return votes.where(np.sort(Groups.by(votes.voter, votes.passage, question, then_by=(votes.day, votes.key)).last))


# ------------------------------------------------------------------------------------------------ sums
def decayed(votes: Votes, *, today: int, half_life_days: float) -> Votes:
    """Votes from the future (a clock was set back) count in full, not more."""
    weight = np.exp2(-np.maximum(today - votes.day, 0) / half_life_days)
    return replace(votes, value=votes.value * weight, document_value=votes.document_value * weight)


def query_tallies(votes: Votes) -> QueryTallies:
    """votes: deduplicated and decayed."""
    votes = votes.where(votes.value != 0.0)
    groups = Groups.by(votes.question, votes.passage)
    return QueryTallies(
        question=votes.question[groups.first],
        passage=votes.passage[groups.first],
        up=groups.sum(np.maximum(votes.value, 0.0)),
        down=groups.sum(np.maximum(-votes.value, 0.0)),
        raters_up=groups.sum((votes.value > 0).astype(np.int64)),
        raters_down=groups.sum((votes.value < 0).astype(np.int64)),
        normalized_score=groups.mean_of_known(votes.normalized_score),
    )


def document_tallies(votes: Votes, *, prior: float, min_raters: int) -> DocumentTallies:
    """votes: deduplicated and decayed. A voter counts at most once for a document, whatever they asked of it."""
    votes = votes.where(votes.document_value != 0.0)
    pairs = Groups.by(votes.document, votes.voter)
    bound = pairs.max(np.abs(votes.document_value))  # a voter's votes together count no more than the strongest alone
    value = np.clip(pairs.sum(votes.document_value), -bound, bound)
    document = votes.document[pairs.first]
    groups = Groups.by(document)
    up, down = groups.sum(np.maximum(value, 0.0)), groups.sum(np.maximum(-value, 0.0))
    tallies = DocumentTallies(
        document=document[groups.first],
        multiplier=document_multiplier(up, down, prior=prior),
        raters_up=groups.sum((value > 0).astype(np.int64)),
        raters_down=groups.sum((value < 0).astype(np.int64)),
    )
    return tallies.where(tallies.raters_up + tallies.raters_down >= min_raters)


# ------------------------------------------------------------------------------------------------ multipliers
def query_multiplier(up: Floats, down: Floats, *, full_votes: float) -> Floats:
    """2^((up − down) / full_votes), within 0.5 … 2.0. Without votes 1. All arrays have shape (rows,)."""
    net = np.asarray(up, dtype=np.float64) - np.asarray(down, dtype=np.float64)
    return np.asarray(np.exp(QUERY_BOUND * np.clip(net / full_votes, -1.0, 1.0)))


def document_multiplier(up: Floats, down: Floats, *, prior: float) -> Floats:
    """0.8 … 1.25, by the smoothed share of votes for a document; the share over all documents gives 1.

    prior: how many votes of the mean share are added to each document's own.
    """
    up, down = np.asarray(up, dtype=np.float64), np.asarray(down, dtype=np.float64)
    mean = (up.sum() + 1.0) / (up.sum() + down.sum() + 2.0)  # with few votes near 0.5
    share = (up + prior * mean) / (up + down + prior)
    room = np.where(share >= mean, 1.0 - mean, mean)
    return np.asarray(np.exp(DOCUMENT_BOUND * np.clip((share - mean) / room, -1.0, 1.0)))


def strongest(tallies: QueryTallies, *, full_votes: float, least_effect: float, limit: int) -> QueryTallies:
    """At most `limit` rows whose multiplier differs from 1 by `least_effect` or more, by question and passage."""
    effect = np.abs(np.log(query_multiplier(tallies.up, tallies.down, full_votes=full_votes)))
    rows = np.flatnonzero(effect >= math.log1p(least_effect))
    if len(rows) > limit:
        rows = np.sort(rows[np.argsort(-effect[rows], kind="stable")[:limit]])
    return tallies.where(rows)


# ------------------------------------------------------------------------------------------------ abuse
def within_daily_cap(votes: Votes, *, per_day: int) -> NDArray[np.bool_]:
    """Which votes belong to the first `per_day` questions that their voter rated on that day."""
    asked = Groups.by(votes.voter, votes.day, votes.question, then_by=(votes.key,))
    first = votes.where(asked.first)
    by_day = Groups.by(first.voter, first.day, then_by=(first.key,))
    return asked.spread(by_day.place_in_group() < per_day)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstFound:
    """rows: the numbers of the votes that belong to it. accounts: how many people they are from. newcomers: it is one
    of new accounts; then question: for which alone, None: for any. day: the last one."""

    document: int
    day: int
    accounts: int
    rows: Ints
    newcomers: bool = False
    question: int | None = None


def find_bursts(votes: Votes, *, least_votes: int, accounts: int) -> list[BurstFound]:
    """Documents that on one day got `least_votes` or more from their `accounts` busiest voters together."""
    bursts = []
    for rows in Groups.by(votes.document, votes.day, then_by=(votes.voter,)).of_size(least_votes):
        voters, counts = np.unique(votes.voter[rows], return_counts=True)
        busiest = np.argsort(-counts, kind="stable")[:accounts]
        busiest = busiest[counts[busiest] * accounts >= least_votes]  # who voted once or twice is not part of it
        if counts[busiest].sum() >= least_votes:
            own = rows[np.isin(votes.voter[rows], voters[busiest])]
            document, day = int(votes.document[rows[0]]), int(votes.day[rows[0]])
            bursts.append(BurstFound(document=document, day=day, accounts=len(busiest), rows=own))
    return bursts


def find_newcomers(votes: Votes, young: NDArray[np.bool_], *, least_accounts: int, days: int) -> list[BurstFound]:
    """Documents, and questions, on which `least_accounts` or more young accounts say the same within `days` days; of
    questions one for each document. No vote is in two of them.

    young: of each vote, whether its account was young then. A site on which nearly all are young has none.
    """
    if len(np.unique(votes.voter[~young])) < OLDER_ACCOUNTS:
        return []
    bursts: list[BurstFound] = []
    taken = np.zeros(len(votes), dtype=bool)
    for about in (votes.document, votes.question):
        for offset in range(days):
            own = np.flatnonzero(young & ~taken & (votes.value != 0.0))
            window = (votes.day[own] + offset) // days
            for places in Groups.by(about[own], window).of_size(least_accounts):
                rows = _unanimous(votes, own[places], least_accounts)
                taken[rows] = True
                question = None if about is votes.document else int(about[own[places[0]]])
                for of_document in Groups.by(votes.document[rows]).of_size(1):
                    part = rows[of_document]
                    bursts.append(
                        BurstFound(
                            document=int(votes.document[part[0]]),
                            day=int(votes.day[part].max()),
                            accounts=len(np.unique(votes.voter[part])),
                            rows=part,
                            newcomers=True,
                            question=question,
                        )
                    )
    return bursts


def _unanimous(votes: Votes, rows: Ints, least_accounts: int) -> Ints:
    """The rows on passages on which UNANIMOUS of the accounts say the same, where `least_accounts` accounts do so."""
    passages = Groups.by(votes.passage[rows])
    up = passages.sum((votes.value[rows] > 0.0).astype(np.int64))
    clear = np.maximum(up, passages.sizes - up) >= UNANIMOUS * passages.sizes
    several = passages.sizes > 1
    kept = rows[passages.spread(clear & several)]
    return kept if len(np.unique(votes.voter[kept])) >= least_accounts else rows[:0]
