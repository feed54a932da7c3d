"""From evidence to boosts, all of it at once in arrays. Pure: nothing here reads a database or a clock.

    votes ─► one voice per voter, question and passage ─► decay ─► sums for and against
          ├─► query-scoped: what was said of a passage for a question
          └─► document priors: what was said of a document whatever was asked

A vote fades with its half-life. For a question, votes are evidence like the search's own score: each adds its share to
the log-odds, so one moves little, and no number of them goes beyond the bounds. A document's votes are smoothed (Evan
Miller, "How not to sort by average rating", 2009, gives the reason; the prior is a Beta distribution's), and compared
with the mean of all documents: what is merely shown more often, and so rated more often, is not lifted for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

HALF_LIFE_DAYS = 180.0  # after so many days a vote counts half
FULL_VOTES = 3.0  # votes of one mind from which a query-scoped boost is at its bound: more is more doubt
BURST_VOTES = 15  # on one document on one day …
BURST_ACCOUNTS = 3  # … from at most so many accounts are left out until a person decides
DOCUMENT_PRIOR = 30.0  # votes at the site's mean that a document's own boost starts with
MIN_DOCUMENT_RATERS = 3  # distinct people before a document is lifted or lowered whatever is asked
MAX_LIVE_BOOSTS = 20_000  # query-scoped ones in a revision; the strongest stay
LEAST_EFFECT = 0.03  # a boost within 1 ± this is left out; a smaller change of one makes no new revision
RATINGS_PER_DAY = 50  # rated questions of one user on one day that count


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.int64)
QUERY_BOUND = math.log(2.0)  # multipliers 0.5 … 2.0
DOCUMENT_BOUND = math.log(1.25)  # 0.8 … 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """Evidence as columns of one length, in the order of `key`, which grows with time.

    value, document_value: weight × the voter's weight, signed. day: days since 1970-01-01. standing: of the passage in
    the search that was rated, 0..1, NaN: not known.
    """

    key: Ints
    question: Ints
    passage: Ints
    document: Ints
    voter: Ints
    value: Floats
    document_value: Floats
    day: Ints
    standing: Floats

    def __len__(self) -> int:
        return len(self.key)

    def where(self, mask: NDArray[np.bool_] | Ints) -> Self:
        return replace(self, **{column.name: getattr(self, column.name)[mask] for column in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTallies:
    """One row for each rated question and passage: votes for and against, and how many people they came from.

    standing: of the passage in searches for the question, their mean, 0..1; NaN: not known.
    """

    question: Ints
    passage: Ints
    up: Floats
    down: Floats
    raters_up: Ints
    raters_down: Ints
    standing: Floats

    def __len__(self) -> int:
        return len(self.question)

    def where(self, mask: NDArray[np.bool_] | Ints) -> Self:
        return replace(self, **{column.name: getattr(self, column.name)[mask] for column in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTallies:
    """One row for each document that has at least the number of distinct raters asked for."""

    document: Ints
    multiplier: Floats
    raters_up: Ints
    raters_down: Ints

    def __len__(self) -> int:
        return len(self.document)

    def where(self, mask: NDArray[np.bool_] | Ints) -> Self:
        return replace(self, **{column.name: getattr(self, column.name)[mask] for column in fields(self)})


# ------------------------------------------------------------------------------------------------ one voice each
def one_voice(votes: Votes, same_question: Callable[[Ints], Ints] | None = None) -> Votes:
    """The newest vote of each voter on each passage for each question.

    same_question: given the questions of one voter's votes on one passage, the group of each: questions in other words
    are one question, so that nobody gains by asking the same in ten ways.
    """
    votes = _newest(votes, votes.question)
    if same_question is None or not len(votes):
        return votes
    groups = votes.question.copy()
    order = np.lexsort((votes.passage, votes.voter))
    starts = _starts(votes.voter[order], votes.passage[order])
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        if end - start > 1:
            rows = order[start:end]
            groups[rows] = votes.question[rows][same_question(votes.question[rows])]
    return _newest(votes, groups)


def _newest(votes: Votes, group: Ints) -> Votes:
    order = np.lexsort((votes.key, votes.day, group, votes.passage, votes.voter))
    ends = np.append(_starts(votes.voter[order], votes.passage[order], group[order])[1:], len(order)) - 1
    return votes.where(np.sort(order[ends]) if len(order) else order)


def _starts(*columns: Ints) -> Ints:
    """Where a new combination begins in columns that are sorted by it."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[0] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


# ------------------------------------------------------------------------------------------------ sums
def decayed(votes: Votes, *, today: int, half_life_days: float) -> Votes:
    """Votes from the future (a clock set back) count in full, not more."""
    weight = np.exp2(-np.maximum(today - votes.day, 0) / half_life_days)
    return replace(votes, value=votes.value * weight, document_value=votes.document_value * weight)


def query_tallies(votes: Votes) -> QueryTallies:
    """votes: one voice each, decayed."""
    votes = votes.where(votes.value != 0.0)
    order = np.lexsort((votes.passage, votes.question))
    question, passage, value = votes.question[order], votes.passage[order], votes.value[order]
    starts = _starts(question, passage)
    up, down = np.maximum(value, 0.0), np.maximum(-value, 0.0)
    return QueryTallies(
        question=question[starts],
        passage=passage[starts],
        up=_sums(up, starts),
        down=_sums(down, starts),
        raters_up=_sums((up > 0).astype(np.int64), starts),
        raters_down=_sums((down > 0).astype(np.int64), starts),
        standing=_means(votes.standing[order], starts),
    )


def document_tallies(votes: Votes, *, prior: float, min_raters: int) -> DocumentTallies:
    """votes: one voice each, decayed. A voter counts at most once for a document, whatever they asked of it."""
    votes = votes.where(votes.document_value != 0.0)
    order = np.lexsort((votes.voter, votes.document))
    document, voter, value = votes.document[order], votes.voter[order], votes.document_value[order]
    starts = _starts(document, voter)
    most = _maxima(np.abs(value), starts)  # a voter's strongest vote bounds the sum of all of theirs
    voices = np.clip(_sums(value, starts), -most, most)
    document = document[starts]
    starts = _starts(document)
    up, down = np.maximum(voices, 0.0), np.maximum(-voices, 0.0)
    tallies = DocumentTallies(
        document=document[starts],
        multiplier=document_multiplier(_sums(up, starts), _sums(down, starts), prior=prior),
        raters_up=_sums((up > 0).astype(np.int64), starts),
        raters_down=_sums((down > 0).astype(np.int64), starts),
    )
    return tallies.where(tallies.raters_up + tallies.raters_down >= min_raters)


def _sums(values: NDArray[Number], starts: Ints) -> NDArray[Number]:
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def _means(values: Floats, starts: Ints) -> Floats:
    """Of those that are known; NaN where none is."""
    known = ~np.isnan(values)
    counts = _sums(known.astype(np.float64), starts)
    return np.divide(
        _sums(np.where(known, values, 0.0), starts), counts, out=np.full_like(counts, np.nan), where=counts > 0
    )


def _maxima(values: Floats, starts: Ints) -> Floats:
    return np.maximum.reduceat(values, starts) if len(starts) else values[:0]


# ------------------------------------------------------------------------------------------------ multipliers
def query_multiplier(up: Floats, down: Floats, *, full_votes: float) -> Floats:
    """0.5 … 2.0: 2^((up − down) / full_votes): each vote adds as much, up to the bound; without votes 1."""
    net = np.asarray(up, dtype=np.float64) - np.asarray(down, dtype=np.float64)
    return np.asarray(np.exp(QUERY_BOUND * np.clip(net / full_votes, -1.0, 1.0)))


def document_multiplier(up: Floats, down: Floats, *, prior: float) -> Floats:
    """0.8 … 1.25 by the smoothed share of votes for it, against that of all documents together: the mean gives 1."""
    up, down = np.asarray(up, dtype=np.float64), np.asarray(down, dtype=np.float64)
    total = up.sum() + down.sum()
    mean = (up.sum() + 1.0) / (total + 2.0)  # of a site with few votes, drawn to the middle
    share = (up + prior * mean) / (up + down + prior)
    room = np.where(share >= mean, 1.0 - mean, mean)
    return np.asarray(np.exp(DOCUMENT_BOUND * np.clip((share - mean) / room, -1.0, 1.0)))


def strongest(tallies: QueryTallies, *, full_votes: float, least_effect: float, limit: int) -> QueryTallies:
    """Those that do something, at most `limit`, in the order of question and passage."""
    effect = np.abs(np.log(query_multiplier(tallies.up, tallies.down, full_votes=full_votes)))
    rows = np.flatnonzero(effect >= math.log1p(least_effect))
    if len(rows) > limit:
        rows = np.sort(rows[np.argsort(-effect[rows], kind="stable")[:limit]])
    return tallies.where(rows)


# ------------------------------------------------------------------------------------------------ abuse
def within_the_cap(votes: Votes, *, per_day: int) -> NDArray[np.bool_]:
    """Which votes belong to the first `per_day` questions that their voter rated on that day."""
    order = np.lexsort((votes.key, votes.question, votes.day, votes.voter))
    starts = _starts(votes.voter[order], votes.day[order], votes.question[order])
    first = order[starts]  # of each voter, day and question
    by_time = np.lexsort((votes.key[first], votes.day[first], votes.voter[first]))
    days = _starts(votes.voter[first][by_time], votes.day[first][by_time])
    place = np.arange(len(by_time)) - np.repeat(days, np.diff(np.append(days, len(by_time))))
    kept = np.zeros(len(first), dtype=bool)
    kept[by_time] = place < per_day
    inside = np.zeros(len(votes), dtype=bool)
    inside[order] = np.repeat(kept, np.diff(np.append(starts, len(order))))
    return inside


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstFound:
    """rows: of the votes given, those of the few accounts."""

    document: int
    day: int
    votes: int
    accounts: int
    rows: Ints


def find_bursts(votes: Votes, *, least_votes: int, accounts: int) -> list[BurstFound]:
    """Documents that on one day got `least_votes` or more from their `accounts` busiest voters together."""
    if not len(votes):
        return []
    order = np.lexsort((votes.voter, votes.day, votes.document))
    document, day, voter = votes.document[order], votes.day[order], votes.voter[order]
    starts = _starts(document, day)
    sizes = np.diff(np.append(starts, len(order)))
    found = []
    for start, size in zip(starts[sizes >= least_votes], sizes[sizes >= least_votes], strict=True):
        rows = order[start : start + size]
        names, counts = np.unique(voter[start : start + size], return_counts=True)
        busiest = np.argsort(-counts, kind="stable")[:accounts]
        busiest = busiest[counts[busiest] * accounts >= least_votes]  # who voted once or twice is not part of it
        if counts[busiest].sum() < least_votes:
            continue
        theirs = rows[np.isin(votes.voter[rows], names[busiest])]
        burst = BurstFound(
            document=int(document[start]), day=int(day[start]), votes=len(theirs), accounts=len(busiest), rows=theirs
        )
        found.append(burst)
    return found
