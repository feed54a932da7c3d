"""How reliable ratings are: for each voter the chance of an up-vote on a good passage and of a down-vote on a bad one.

The model is that of Dawid and Skene (Applied Statistics 28, 1979) with two classes: a passage is good or bad for a
question, and a voter says up with probability a where it is good, and 1 − b where it is bad. An up-vote then says
ln(a / (1 − b)), a down-vote ln(b / (1 − a)) of log-odds; in units of ln 4, a vote of somebody wrong one time in five is
1, the most that a vote weighs. Who says up as often whatever the passage has a = 1 − b, and weighs 0.

How it is fitted, in linear time:

1. The site: the share of up-votes, and how far pairs agree beyond the chance that this share gives (Scott's pi, Public
   Opinion Quarterly 19, 1955), with PRIOR_COMPARISONS of voters wrong one time in five. What is left open, the share of
   good passages, is the likeliest for the counts of votes an item.
2. Each voter: their verdicts against what the others' votes make of the item, a straight line through PRIOR_VOTES of
   the site's and their own votes. Nobody's own vote is among those that they are compared with. Voters' parameters and
   the items' are computed ITERATIONS times in turn.

Agreement raises nobody above 1, so errors that all share raise nobody.

Where nearly all votes are up, also those of honest voters agree hardly more than by chance, and hundreds of votes don't
tell them from votes that say nothing. So a site's votes weigh FLOOR until the agreement is known well enough to exclude
that its rarer kind of vote weighs PROVEN. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import Columns, Votes
from feedback.ranking.groups import Groups

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ASSUMED_ERROR = 0.2  # share of wrong verdicts at which a vote has weight 1
UNIT = math.log((1.0 - ASSUMED_ERROR) / ASSUMED_ERROR)  # log-odds
ASSUMED_AGREEMENT = (1.0 - 2.0 * ASSUMED_ERROR) ** 2  # beyond chance, of two such voters
PRIOR_COMPARISONS = 40.0  # with that agreement, added to what is known of the site
PRIOR_VOTES = 8.0  # of the site's voters, added to each voter's own
NOT_COMPARED = 0.1  # what a vote on an item that nobody else has voted on tells of its voter
PRIOR_SHARE_VOTES = 40.0  # half of them up, added to the site's for its share of up-votes
NOISE, SIGNAL = 0.15, 0.37  # of the stronger of a site's two weights: up to the first both are 0, from the second full
USEFUL = 0.35  # a + b − 1 from which a voter's votes have their full weight; or the site's, where that is less
USEFUL_WIDTH = 0.2  # who is so far below USEFUL weighs 0; in proportion to the site's where that is less, …
LEAST_WIDTH = 0.1  # … and at least this, for nobody's own votes are enough to tell smaller differences
FLOOR = 0.6  # least weight of a site's votes until it is proven that they say too little
PROVEN = 0.7  # too little: neither kind of vote weighs this
FLOOR_FROM, FLOOR_TO = 1.0, 2.0  # standard errors below the agreement for that, between which the floor falls to 0
ITERATIONS = 3
MOST_LOG_ODDS = 3.0  # of an item: people share errors, so many votes make nothing certain
MOST_SCORE_SLOPE = 4.0  # log-odds of an item from the worst hit of a search to the best
SCORE_PRIOR = 200.0  # votes that say nothing of that slope, added to the site's
GOOD_SHARES = np.linspace(0.1, 0.9, 17)  # of passages, that are tried
MAX_COMPARED = 50_000  # votes
MAX_COMPARED_OF_PASSAGE = 40


def votes_to_compare(votes: Votes) -> Votes:
    """Votes on passages that several people rated: the newest of each passage, at most about MAX_COMPARED in all."""
    chosen: list[Ints] = [np.zeros(0, dtype=np.int64)]
    count = 0
    for group in Groups.by(votes.passage, then_by=(-votes.key,)).of_size(2):
        rows = group[:MAX_COMPARED_OF_PASSAGE]
        if len(np.unique(votes.voter[rows])) > 1:
            chosen.append(rows)
            count += len(rows)
            if count >= MAX_COMPARED:
                break
    return votes.where(np.concatenate(chosen))


# ------------------------------------------------------------------------------------------------ the votes of a fit
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Columns):
    """Votes for a fit, one row each.

    item: the number of its question (or one that asks the same) and passage, 0 … items − 1. voter: 0 … voters − 1.
    up: 1 or 0. cohort: a number; votes of one cohort on one item are not compared with each other. share: 0..1, what
    the vote counts for; the votes of a cohort on an item together count 1. normalized_score: as in `Votes`.
    """

    item: Ints
    voter: Ints
    up: Floats
    cohort: Ints
    share: Floats
    normalized_score: Floats


def verdicts_of(votes: Votes, item: Ints, voter: Ints, cohort: Ints) -> Verdicts:
    """item, voter, cohort: of each vote, see `Verdicts`. Votes of weight 0 must not be among them."""
    together = Groups.by(item, cohort)
    size = np.empty(len(votes))
    size[together.order] = np.repeat(together.sizes, together.sizes)
    return Verdicts(
        item=item, voter=voter, up=(votes.value > 0).astype(np.float64), cohort=cohort, share=1.0 / size,
        normalized_score=votes.normalized_score,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ the site
@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All voters together. up_if_good, up_if_bad: chances of an up-vote. good: share of good items. score_slope:
    log-odds that an item is good, from the worst hit of a search to the best; mean_score: where it adds nothing.
    floor: least weight of the votes of those who are as reliable as the others, 0..FLOOR."""

    up_if_good: float
    up_if_bad: float
    good: float
    score_slope: float = 0.0
    mean_score: float = 0.0
    floor: float = 0.0

    @property
    def signal(self) -> float:
        """How far the site's votes are to be believed at all, 0..1: the stronger of their two weights decides, for
        where nearly all votes are up a down-vote may say much and an up-vote never does."""
        strongest = max(map(float, vote_weights(np.asarray(self.up_if_good), np.asarray(self.up_if_bad))))
        return min(1.0, max(0.0, (strongest - NOISE) / (SIGNAL - NOISE)))


def fit_site(verdicts: Verdicts) -> Site:
    """Without verdicts: voters wrong one time in five, and every other item good."""
    half = PRIOR_SHARE_VOTES / 2.0
    up_share = float((verdicts.share @ verdicts.up + half) / (verdicts.share.sum() + 2.0 * half))
    chance = up_share * (1.0 - up_share)
    together = Groups.by(verdicts.item, verdicts.cohort)
    residual = together.sum(verdicts.share * (verdicts.up - up_share))
    count = together.sum(verdicts.share)
    items = Groups.by(verdicts.item[together.first])
    counts = items.sum(count)
    # Of an item with n votes the pairs count n − 1 together: they depend on each other.
    per_pair = 2.0 / np.maximum(counts, 1.0)
    compared = per_pair * (counts**2 - items.sum(count**2)) / 2.0
    beyond_chance = per_pair * (items.sum(residual) ** 2 - items.sum(residual**2)) / 2.0 / chance
    comparisons, found = float(compared.sum()), float(beyond_chance.sum())
    by_chance = math.sqrt(float((per_pair * compared).sum()))  # standard error of `found`
    # Less its standard error: by chance votes that say nothing agree more than that in one case of six only.
    agreement = (found + PRIOR_COMPARISONS * ASSUMED_AGREEMENT - by_chance) / (comparisons + PRIOR_COMPARISONS)
    ups = items.sum(together.sum(verdicts.share * verdicts.up))
    good, up_if_good, up_if_bad = _likeliest(up_share, max(0.0, agreement), ups, counts - ups)
    slope, mean_score = _score_slope(verdicts, (up_if_good - up_if_bad) * good * (1.0 - good))
    missing = comparisons * _useful_agreement(up_share, good) - found
    likely = (FLOOR_TO - missing / max(by_chance, 1e-12)) / (FLOOR_TO - FLOOR_FROM)
    floor = FLOOR * min(1.0, max(0.0, likely))
    return Site(
        up_if_good=up_if_good, up_if_bad=up_if_bad, good=good, score_slope=slope, mean_score=mean_score, floor=floor
    )


def _useful_agreement(up_share: float, good: float) -> float:
    """How far two voters agree beyond chance whose rarer kind of vote weighs PROVEN. good: share of good items."""
    rare, of_rare = (1.0 - up_share, 1.0 - good) if up_share >= 0.5 else (up_share, good)
    times = math.exp(PROVEN * UNIT)
    apart = (times - 1.0) * rare / (1.0 - of_rare + times * of_rare)
    return apart**2 * good * (1.0 - good) / (up_share * (1.0 - up_share))


def _likeliest(up_share: float, agreement: float, ups: Floats, downs: Floats) -> tuple[float, float, float]:
    """Of the shares of good items that fit the share of up-votes and the agreement, the likeliest for each item's votes
    for and against. Few votes leave it between a half and the share of up-votes."""
    good = GOOD_SHARES
    apart = np.sqrt(agreement * up_share * (1.0 - up_share) / (good * (1.0 - good)))
    up_if_good = np.clip(up_share + (1.0 - good) * apart, 0.02, 0.98)
    up_if_bad = np.clip(up_share - good * apart, 0.02, 0.98)
    misfit = np.abs(good * up_if_good + (1.0 - good) * up_if_bad - up_share)
    several = ups + downs > 1.0
    pairs, count = np.unique(np.column_stack((ups[several], downs[several])).round(1), axis=0, return_counts=True)
    up, down = pairs[:, :1], pairs[:, 1:]
    if_good = good * up_if_good**up * (1.0 - up_if_good) ** down
    if_bad = (1.0 - good) * up_if_bad**up * (1.0 - up_if_bad) ** down
    likelihood = (count[:, None] * np.log(if_good + if_bad + 1e-300)).sum(axis=0)
    expected = (up_share + 0.5) / 2.0
    prior = -(((_log_odds(good) - _log_odds(np.asarray(expected))) / 0.75) ** 2) / 2.0
    at = int(np.argmax(likelihood / 2.0 + prior - 1e4 * misfit**2))
    return float(good[at]), float(up_if_good[at]), float(up_if_bad[at])


def _score_slope(verdicts: Verdicts, per_log_odds: float) -> tuple[float, float]:
    """How the votes go with the search. per_log_odds: by how much an up-vote gets likelier with an item's log-odds."""
    known = ~np.isnan(verdicts.normalized_score)
    if not known.any() or per_log_odds <= 0.0:
        return 0.0, 0.0
    score, up, share = verdicts.normalized_score[known], verdicts.up[known], verdicts.share[known]
    mean = float(np.average(score, weights=share))
    spread = float(share @ (score - mean) ** 2)
    together = float(share @ ((score - mean) * (up - np.average(up, weights=share))))
    slope = together / (spread * per_log_odds) if spread > 0.0 else 0.0
    return max(0.0, min(MOST_SCORE_SLOPE, slope)) * share.sum() / (share.sum() + SCORE_PRIOR), mean


# ------------------------------------------------------------------------------------------------ each voter
@dataclass(frozen=True, slots=True)
class Chances:
    """Of each voter the chance of an up-vote on a good and on a bad item, and how many of their votes others judged,
    all of shape (voters,)."""

    up_if_good: Floats
    up_if_bad: Floats
    compared: Floats

    def says(self, up: Floats, voter: Ints) -> Floats:
        """The log-odds that each vote adds; 0 of those who say up on bad items as often. Shape (votes,)."""
        good, bad = self.up_if_good[voter], np.minimum(self.up_if_bad, self.up_if_good)[voter]
        return np.where(up > 0.0, np.log(good / bad), np.log((1.0 - good) / (1.0 - bad)))

    def weights(self, site: Site) -> tuple[Floats, Floats]:
        """Of up-votes and of down-votes, 0..1."""
        usual = min(USEFUL, site.up_if_good - site.up_if_bad)
        width = max(LEAST_WIDTH, USEFUL_WIDTH * usual / USEFUL)
        useful = np.clip((self.up_if_good - self.up_if_bad - usual + width) / width, 0.0, 1.0)
        up, down = vote_weights(self.up_if_good, self.up_if_bad)
        return np.maximum(up * site.signal, site.floor) * useful, np.maximum(down * site.signal, site.floor) * useful


def vote_weights(up_if_good: Floats, up_if_bad: Floats) -> tuple[Floats, Floats]:
    """Of an up-vote and a down-vote, 0..1, by the chances of an up-vote on a good and on a bad item."""
    up = np.clip(np.log(up_if_good / up_if_bad) / UNIT, 0.0, 1.0)
    down = np.clip(np.log((1.0 - up_if_bad) / (1.0 - up_if_good)) / UNIT, 0.0, 1.0)
    return up, down


def fit_voters(
    verdicts: Verdicts, site: Site, *, voters: int, judges: Mask | None = None, known: Chances | None = None,
    is_known: Mask | None = None,
) -> Chances:  # fmt: skip
    """judges: which votes say what an item is, by default all. known, is_known: the chances of voters that are fitted
    already, which stay."""
    judging = verdicts.share if judges is None else verdicts.share * judges
    items = int(verdicts.item.max(initial=-1)) + 1
    together = Groups.by(verdicts.item, verdicts.cohort)
    own = np.empty(len(verdicts), dtype=np.int64)  # of each vote, its cohort on its item
    own[together.order] = np.repeat(np.arange(len(together.starts)), together.sizes)
    judged = _sums(verdicts.item, judging, items)[verdicts.item] - together.sum(judging)[own]
    score = np.nan_to_num(verdicts.normalized_score, nan=site.mean_score) - site.mean_score
    before = float(_log_odds(np.asarray(site.good))) + site.score_slope * score
    compared = _sums(verdicts.voter, np.minimum(judged, 1.0), voters)
    counts = verdicts.share * np.maximum(np.minimum(judged, 1.0), NOT_COMPARED)
    chances = Chances(np.full(voters, site.up_if_good), np.full(voters, site.up_if_bad), compared)
    for _ in range(ITERATIONS):
        if known is not None and is_known is not None:
            chances = Chances(
                np.where(is_known, known.up_if_good, chances.up_if_good),
                np.where(is_known, known.up_if_bad, chances.up_if_bad),
                compared,
            )
        says = judging * chances.says(verdicts.up, verdicts.voter)
        others = _sums(verdicts.item, says, items)[verdicts.item] - together.sum(says)[own]
        good = 1.0 / (1.0 + np.exp(-np.clip(before + others, -MOST_LOG_ODDS, MOST_LOG_ODDS)))
        chances = Chances(*_line(verdicts, good, counts, site, voters), compared)
    if known is not None and is_known is not None:
        return Chances(
            np.where(is_known, known.up_if_good, chances.up_if_good),
            np.where(is_known, known.up_if_bad, chances.up_if_bad),
            np.where(is_known, known.compared, compared),
        )
    return chances


def _line(verdicts: Verdicts, good: Floats, counts: Floats, site: Site, voters: int) -> tuple[Floats, Floats]:
    """Each voter's chance of an up-vote by how surely an item is good (0..1): least squares, with PRIOR_VOTES of the
    site's voters, half of them on items that are surely good and half on items that are surely bad. Its ends."""

    def sums(values: Floats) -> Floats:
        return _sums(verdicts.voter, counts * values, voters)

    half = PRIOR_VOTES / 2.0
    n, x, xx = sums(np.ones(len(verdicts))) + PRIOR_VOTES, sums(good) + half, sums(good * good) + half
    y = sums(verdicts.up) + half * (site.up_if_good + site.up_if_bad)
    xy = sums(verdicts.up * good) + half * site.up_if_good
    slope = (n * xy - x * y) / (n * xx - x * x)
    start = (y - slope * x) / n
    return np.clip(start + slope, 0.02, 0.98), np.clip(start, 0.02, 0.98)


def _sums(number: Ints, values: Floats, size: int) -> Floats:
    """Of all rows with each number, 0 … size − 1."""
    return np.bincount(number, values, size).astype(np.float64, copy=False)


def _log_odds(share: Floats) -> Floats:
    return np.asarray(np.log(share / (1.0 - share)))
