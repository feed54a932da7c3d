"""What is known of voters beside their votes: the age of the account, staff, where it signed up. Pure.

A voter who is not in the table is one of whom nothing is known: an old account, not staff, from an unknown address.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import Columns, Votes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
UNKNOWN = -1
NEW_ACCOUNT_DAYS = 7  # an account younger than this is new …
YOUNG_ACCOUNT_DAYS = 28  # … and younger than this young: accounts that were made together count together
NEW_ACCOUNT_WEIGHT = 0.3  # of a new account's vote; of a young one's whose e-mail address is known not to be confirmed
STAFF_WEIGHT = 1.5  # of a staff member's vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters(Columns):
    """One row for each voter, in ascending order of `voter`.

    joined: the day of sign-up, since 1970-01-01, or UNKNOWN. block: a number for the block of addresses of the sign-up,
    or UNKNOWN. confirmed: whether the e-mail address is confirmed, 1 or 0, or UNKNOWN. golden_right, golden_wrong: how
    many votes on passages of golden questions agree with them, and how many do not.
    """

    voter: Ints
    joined: Ints
    staff: NDArray[np.bool_]
    block: Ints
    confirmed: Ints
    golden_right: Ints
    golden_wrong: Ints

    @classmethod
    def unknown(cls) -> Voters:
        """Nothing is known of anybody."""
        return cls.of(np.zeros(0, dtype=np.int64))

    @classmethod
    def of(
        cls, voter: Ints, *, joined: Ints | None = None, staff: NDArray[np.bool_] | None = None,
        block: Ints | None = None, confirmed: Ints | None = None, golden_right: Ints | None = None,
        golden_wrong: Ints | None = None,
    ) -> Voters:  # fmt: skip
        """These voters, ascending; what is not given is not known."""
        unknown, none = np.full(len(voter), UNKNOWN, dtype=np.int64), np.zeros(len(voter), dtype=np.int64)
        return cls(
            voter=voter,
            joined=unknown if joined is None else joined,
            staff=np.zeros(len(voter), dtype=bool) if staff is None else staff,
            block=unknown if block is None else block,
            confirmed=unknown if confirmed is None else confirmed,
            golden_right=none if golden_right is None else golden_right,
            golden_wrong=none if golden_wrong is None else golden_wrong,
        )

    def about(self, voter: Ints) -> Voters:
        """One row for each of these voters (distinct, ascending)."""
        found = Voters.of(voter)
        if not len(self):
            return found
        place = np.minimum(np.searchsorted(self.voter, voter), len(self) - 1)
        known = self.voter[place] == voter
        return Voters(
            voter=voter,
            joined=np.where(known, self.joined[place], found.joined),
            staff=known & self.staff[place],
            block=np.where(known, self.block[place], found.block),
            confirmed=np.where(known, self.confirmed[place], found.confirmed),
            golden_right=np.where(known, self.golden_right[place], 0),
            golden_wrong=np.where(known, self.golden_wrong[place], 0),
        )


def account_age(joined: Ints, day: Ints) -> Ints:
    """In days, of each vote's account on the day of the vote; a large number where the day of sign-up is unknown."""
    return np.where(joined == UNKNOWN, np.iinfo(np.int64).max, np.maximum(day - joined, 0))


def account_weight(voters: Voters, place: Ints, day: Ints) -> Floats:
    """What each vote weighs by its account alone. place: of each vote's voter in `voters`. Returns shape (votes,)."""
    age = account_age(voters.joined[place], day)
    unconfirmed = (voters.confirmed[place] == 0) & (age < YOUNG_ACCOUNT_DAYS)
    weight = np.where((age < NEW_ACCOUNT_DAYS) | unconfirmed, NEW_ACCOUNT_WEIGHT, 1.0)
    return np.where(voters.staff[place], STAFF_WEIGHT, weight)


def young_votes(votes: Votes, voters: Voters) -> NDArray[np.bool_]:
    """Which votes were given by young accounts; never those of staff. Shape (votes,)."""
    rater, place = np.unique(votes.voter, return_inverse=True)
    known = voters.about(rater)
    return (account_age(known.joined[place], votes.day) < YOUNG_ACCOUNT_DAYS) & ~known.staff[place]
