"""What each vote weighs: by its voter's reliability, the account, and who votes with whom. Pure.

    votes ─► items: passages for a question, in whatever words ─► accounts that vote alike
          ─► the core: staff, and old accounts with a record ─► reliability of the core, of the others against the core
          ─► caps: a cohort counts as one voter; nobody outside the core outweighs it

Trust flows from the core, never from newcomers among themselves (Kamvar, Schlosser and Garcia-Molina, "The EigenTrust
algorithm", 2003), in few steps (Cao et al., "Aiding the detection of fake accounts", 2012: SybilRank ends its power
iteration early as well). A site without a core, because it is young or nothing is known of its accounts, weighs all
alike; the caps on cohorts hold there, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from feedback.ranking import cohorts
from feedback.ranking import voters as accounts
from feedback.ranking.boosts import Votes
from feedback.ranking.groups import Groups
from feedback.ranking.rater_reliability import Chances, Site, Verdicts, fit_site, fit_voters, verdicts_of
from feedback.ranking.voters import (
    UNKNOWN,
    YOUNG_ACCOUNT_DAYS,
    Voters,
    account_age,
    account_weight,
)
from ragsite.core.wording import Sentence, worded

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
CORE_DAYS = 3  # distinct days on which a member of the core has voted
CORE_COMPARED = 5  # votes on which the rest of the core or golden questions had a word
CORE_RELIABILITY = 0.4  # least a + b − 1 of a member of the core; of somebody wrong one time in five it is 0.6
CORE_GOLDEN = 0.75  # share of votes that agree with golden questions, in place of agreement with others
CORE_STEPS = 4
AGAINST_CORE = 0.25  # what all others together count against the core, of the core's own votes on that item
FEW_CORE_VOTES = 2.0  # against fewer a group of the core that votes alike counts as one voter
ALIKE_OUTSIDE = 0.1  # what accounts outside the core that vote alike count together, at most
OUTSIDE_ON_DOCUMENT = 1.0  # votes on a document that others count against the core in any case


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterWeights:
    """Factors for votes.

    site: 0..1, for voters of whom nothing is known. rater: shape (raters,), ascending ids. up, down: of each, what
    their up-votes and down-votes weigh on average, 0..1 (staff 1.5), with all caps. core: who belongs to it. reasons:
    why, as sentences; empty: nothing to say. key, factor, document_factor: of each single vote, ascending keys.
    """

    site: float
    rater: Ints
    up: Floats
    down: Floats
    core: Mask
    reasons: tuple[str, ...] = ()
    key: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    factor: Floats = field(default_factory=lambda: np.zeros(0))
    document_factor: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def rater_weight(self) -> Floats:
        """Of each rater, whatever they say. Shape (raters,)."""
        return (self.up + self.down) / 2.0

    def apply(self, votes: Votes) -> Votes:
        """Each vote times its factor; a vote that was not weighed counts as its rater's do on average."""
        factor, document_factor = self._of_raters(votes), self._of_raters(votes)
        if len(self.key):
            place = np.minimum(np.searchsorted(self.key, votes.key), len(self.key) - 1)
            known = self.key[place] == votes.key
            factor = np.where(known, self.factor[place], factor)
            document_factor = np.where(known, self.document_factor[place], document_factor)
        return replace(votes, value=votes.value * factor, document_value=votes.document_value * document_factor)

    def _of_raters(self, votes: Votes) -> Floats:
        if not len(self.rater):
            return np.full(len(votes), self.site)
        place = np.minimum(np.searchsorted(self.rater, votes.voter), len(self.rater) - 1)
        own = np.where(votes.value < 0.0, self.down[place], self.up[place])
        return np.where(self.rater[place] == votes.voter, own, self.site)

    def silenced(self) -> dict[str, int]:
        """How many voters count for nothing, by the reason."""
        nothing = (self.up == 0.0) & (self.down == 0.0)
        reasons = [reason for reason, silent in zip(self.reasons, nothing.tolist(), strict=False) if silent]
        return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


# ------------------------------------------------------------------------------------------------ items
def asked_as(votes: Votes, to_compare: Votes, group_questions: Callable[[Ints], Ints]) -> Ints:
    """Of each vote the question that stands for all that ask the same on its passage. Shape (votes,).

    Only votes of `to_compare` are grouped; to_compare: some of `votes`.
    """
    question = votes.question.copy()
    among = np.flatnonzero(np.isin(votes.key, to_compare.key))
    for places in Groups.by(votes.passage[among]).of_size(2):
        rows = among[places]
        distinct, place = np.unique(question[rows], return_inverse=True)
        if len(distinct) > 1:
            question[rows] = distinct[group_questions(distinct)][place]
    return question


def weigh(votes: Votes, question: Ints, voters: Voters) -> RaterWeights:
    """votes: deduplicated, in the order of `key`. question: see `asked_as`."""
    rater, place = np.unique(votes.voter, return_inverse=True)
    if not len(rater):
        return RaterWeights(site=1.0, rater=rater, up=np.zeros(0), down=np.zeros(0), core=np.zeros(0, dtype=bool))
    known = voters.about(rater)
    item = _numbers(votes.passage, question)
    crowd = _Crowd.of(votes, item, question, place, known)
    core = crowd.core()
    site, up, down = crowd.reliability(core)
    weight = np.where(votes.value < 0.0, down[place], up[place]) * account_weight(known, place, votes.day)
    by_item, by_document = crowd.capped(weight, core)
    return RaterWeights(
        site=site,
        rater=rater,
        up=_mean_by(place, by_item, votes.value > 0.0, up),
        down=_mean_by(place, by_item, votes.value < 0.0, down),
        core=core,
        reasons=crowd.reasons(core, up, down, weight, by_item),
        key=votes.key,
        factor=by_item,
        document_factor=by_document,
    )


def _numbers(*columns: Ints) -> Ints:
    """Of each row the number of its combination of values, from 0. Shape (rows,)."""
    groups = Groups.by(*columns)
    number = np.empty(len(columns[0]), dtype=np.int64)
    number[groups.order] = np.repeat(np.arange(len(groups.starts)), groups.sizes)
    return number


def _mean_by(place: Ints, factor: Floats, rows: Mask, otherwise: Floats) -> Floats:
    """Of each voter the mean factor over these rows; `otherwise` of those who have none."""
    count = np.bincount(place[rows], minlength=len(otherwise))
    total = np.bincount(place[rows], factor[rows], len(otherwise))
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


# ------------------------------------------------------------------------------------------------ who votes with whom
@dataclass(frozen=True, slots=True)
class _Crowd:
    """votes with, of each, the item and the place of its voter in `known`; and the cohorts that each belongs to."""

    votes: Votes
    item: Ints
    place: Ints
    known: Voters
    alike: Ints
    by_day: Ints
    by_block: Ints

    @classmethod
    def of(cls, votes: Votes, item: Ints, question: Ints, place: Ints, known: Voters) -> _Crowd:
        by_day, by_block = cohorts.made_together(votes, known, place, exempt=known.staff)
        alike = cohorts.vote_alike(votes, item, question, exempt=known.staff[place])
        return cls(votes, item, place, known, alike, by_day, by_block)

    # -------------------------------------------------------------------------------------------- reliability
    def core(self) -> Mask:
        """Staff, and old accounts that have voted on several days and agreed with the others of the core or with golden
        questions. Shape (voters,)."""
        known, voters = self.known, len(self.known)
        days = np.bincount(self.place[Groups.by(self.place, self.votes.day).first], minlength=voters)
        today = int(self.votes.day.max(initial=0))
        old = (known.joined != UNKNOWN) & (account_age(known.joined, np.full(voters, today)) >= YOUNG_ACCOUNT_DAYS)
        eligible = old & (days >= CORE_DAYS) & ~known.staff
        golden = known.golden_right + known.golden_wrong
        proven = (golden >= CORE_COMPARED) & (known.golden_right >= CORE_GOLDEN * golden)
        core = known.staff | eligible
        for _ in range(CORE_STEPS):
            _, chances = self._fit(core)
            reliable = chances.up_if_good - chances.up_if_bad >= CORE_RELIABILITY
            kept = known.staff | (eligible & (proven | (reliable & (chances.compared >= CORE_COMPARED))))
            if (kept == core).all():
                break
            core = kept
        return core

    def reliability(self, core: Mask) -> tuple[float, Floats, Floats]:
        """What a vote of an unknown voter weighs, and of each voter an up-vote and a down-vote.

        The core is judged by itself alone. The others are judged by the core where it has voted on an item, and by each
        other elsewhere, so nothing that they do changes what the core weighs.
        """
        if core.all() or not core.any():
            site, chances = self._fit(np.ones(len(core), dtype=bool))
            up, down = chances.weights(site)
            return _unknown(site), up, down
        core_site, of_core = self._fit(core)
        rows = self.votes.value != 0.0
        verdicts, by_core = self._verdicts(rows), core[self.place[rows]]
        judged_by_core = np.bincount(verdicts.item, by_core, int(self.item.max()) + 1) > 0
        site = fit_site(verdicts.where(~by_core))
        chances = fit_voters(
            verdicts, site, voters=len(core), judges=by_core | ~judged_by_core[verdicts.item], known=of_core,
            is_known=core,
        )  # fmt: skip
        core_up, core_down = of_core.weights(core_site)
        up, down = chances.weights(site)
        return _unknown(site), np.where(core, core_up, up), np.where(core, core_down, down)

    def _fit(self, of: Mask) -> tuple[Site, Chances]:
        verdicts = self._verdicts((self.votes.value != 0.0) & of[self.place])
        site = fit_site(verdicts)
        return site, fit_voters(verdicts, site, voters=len(of))

    def _verdicts(self, rows: Mask) -> Verdicts:
        """A cohort counts as one voter here, so its members don't make each other reliable."""
        own = self.place.copy()
        before = len(self.known)
        for cohort in (self.by_block, self.by_day, self.alike):
            own = np.where(cohort == UNKNOWN, own, cohort + before)
            before = int(own.max(initial=0)) + 1
        return verdicts_of(self.votes.where(rows), self.item[rows], self.place[rows], own[rows])

    # -------------------------------------------------------------------------------------------- caps
    def capped(self, weight: Floats, core: Mask) -> tuple[Floats, Floats]:
        """Factors of the votes for their items and for their documents. weight: before caps. Shape (votes,)."""
        return (
            self._capped(weight, core, self.votes.value, self.item, in_any_case=0.0),
            self._capped(weight, core, self.votes.document_value, self.votes.document, in_any_case=OUTSIDE_ON_DOCUMENT),
        )

    def _capped(self, weight: Floats, core: Mask, value: Floats, about: Ints, *, in_any_case: float) -> Floats:
        """about: of each vote the number of its item or document."""
        factor, inside = weight.copy(), core[self.place]
        for cohort, bound in (
            (self.alike, ALIKE_OUTSIDE),
            (self.by_day, accounts.STAFF_WEIGHT),
            (self.by_block, accounts.STAFF_WEIGHT),
        ):
            rows = np.flatnonzero((cohort != UNKNOWN) & ~inside)
            factor[rows] *= self._as_one(
                np.abs(value * factor)[rows], self.place[rows], (about[rows], cohort[rows]), bound
            )
        plain = inside & (self.alike == UNKNOWN)
        size = int(about.max(initial=-1)) + 1
        for own, reference in ((inside & ~plain, plain), (~inside, inside)):
            net = np.bincount(about[reference], (value * factor)[reference], size)
            rows = np.flatnonzero(own & (value * net[about] < 0.0))
            against = np.bincount(about[rows], np.abs(value * factor)[rows], size)
            most = np.maximum(AGAINST_CORE * np.abs(net), in_any_case)
            if reference is plain:
                most = np.where(np.abs(net) < FEW_CORE_VOTES, np.maximum(most, 1.0), most)
            factor[rows] *= np.minimum(1.0, most / np.maximum(against, 1e-12))[about[rows]]
        return factor

    @staticmethod
    def _as_one(strength: Floats, voter: Ints, cohort: tuple[Ints, Ints], most: float) -> Floats:
        """By what the votes of each cohort are multiplied so that they count as the strongest of its voters alone, and
        no more than `most`."""
        each = Groups.by(*cohort, voter)
        strongest = each.max(strength)
        groups = Groups.by(cohort[0][each.first], cohort[1][each.first])
        together, one = groups.sum(strongest), groups.max(strongest)
        scale = np.minimum(1.0, np.minimum(one, most) / np.maximum(together, 1e-12))
        of_each = np.empty(len(each.starts))
        of_each[groups.order] = np.repeat(scale, groups.sizes)
        factor = np.empty(len(strength))
        factor[each.order] = np.repeat(of_each, each.sizes)
        return factor

    # -------------------------------------------------------------------------------------------- in words
    def reasons(self, core: Mask, up: Floats, down: Floats, weight: Floats, capped: Floats) -> tuple[str, ...]:
        """Of each voter, why their votes weigh what they weigh."""
        voters = len(core)
        lowered = capped < weight - 1e-9
        groups = ((self.alike, _alike_told), (self.by_day, _day_told), (self.by_block, _block_told))
        told = [""] * voters
        by_account = account_weight(self.known, self.place, self.votes.day)
        fresh = np.bincount(self.place, by_account == accounts.NEW_ACCOUNT_WEIGHT, voters)
        for one in np.flatnonzero(fresh > 0).tolist():
            told[one] = worded("new account: counts {weight}", weight=f"{accounts.NEW_ACCOUNT_WEIGHT:g}")
        outvoted = np.bincount(self.place[lowered & ~core[self.place]], minlength=voters)
        for one in np.flatnonzero(outvoted > 0).tolist():
            told[one] = told[one] or worded("votes against established voters: counts little there")
        for cohort, tell in reversed(groups):
            rows = np.flatnonzero((cohort != UNKNOWN) & lowered)
            of_voter = Groups.by(self.place[rows])
            sizes = _accounts(cohort, self.place)
            for row in rows[of_voter.first].tolist():
                told[int(self.place[row])] = tell(sizes[int(cohort[row])], bool(core[self.place[row]]))
        for one in np.flatnonzero((up == 0.0) & (down == 0.0)).tolist():
            told[one] = worded("agrees with others no more than by chance")
        for one in np.flatnonzero(self.known.staff).tolist():
            told[one] = worded("staff: counts {times} times", times=f"{accounts.STAFF_WEIGHT:g}")
        for one in np.flatnonzero(core).tolist():
            told[one] = told[one] or worded("established: an old account whose votes agreed with others")
        return tuple(told)


def _alike_told(count: int, core: bool) -> Sentence:
    if core:
        return worded("in a group of {count} accounts that vote alike: together they count as one", count=count)
    return worded(
        "in a group of {count} accounts that vote alike: together they count as a tenth of a voter", count=count
    )


def _day_told(count: int, _: bool) -> Sentence:
    return worded("one of {count} new accounts made on one day: together they count as one", count=count)


def _block_told(count: int, _: bool) -> Sentence:
    return worded("one of {count} new accounts made from one network: together they count as one", count=count)


def _accounts(cohort: Ints, place: Ints) -> dict[int, int]:
    """Of each cohort how many accounts it has."""
    accounts = Groups.by(cohort, place).first
    numbers, counts = np.unique(cohort[accounts], return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def _unknown(site: Site) -> float:
    """What a vote of a voter weighs of whom nothing is known, whatever it says."""
    one = Chances(np.asarray([site.up_if_good]), np.asarray([site.up_if_bad]), np.zeros(1))
    up, down = one.weights(site)
    return float(up[0] + down[0]) / 2.0
