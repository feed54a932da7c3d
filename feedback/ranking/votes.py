"""Which votes count, and how much: one voice for each person, and newcomers little beside others. Pure.

A vote is what one rating says of one passage. Of a person's votes on one passage for one question the newest counts.
Accounts younger than NEWCOMER_DAYS count NEWCOMER_WEIGHT, and on one passage or document all of them together at most
as much as the established ones. Where nobody is established (a site in its first week), everybody counts in full.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

HALF_LIFE_DAYS = 180.0  # after so many days a vote counts half
RATINGS_PER_DAY = 50  # questions that one person rates on one day and that count
NEWCOMER_DAYS = 7
NEWCOMER_WEIGHT = 0.3
NEWCOMERS_ALONE = (
    0.9  # what newcomers count together where no established person voted: three voices
)
STAFF_WEIGHT = 1.5
BURST_VOICES = 6  # people who vote on one document on one day
BURST_TIMES = 3.0  # so many times as many as before


class Vote(NamedTuple):
    """weight, document_weight: -1..1, for this question and for the document whatever is asked. day: of the rating,
    days since 1970-01-01."""

    question: int
    passage: int
    document: UUID
    voter: int
    weight: float
    document_weight: float
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """staff, newcomers: ids of accounts. All others are established. fresh_site: nobody is."""

    staff: AbstractSet[int] = frozenset()
    newcomers: AbstractSet[int] = frozenset()
    fresh_site: bool = False

    def weight(self, voter: int) -> float:
        if voter in self.staff:
            return STAFF_WEIGHT
        return NEWCOMER_WEIGHT if voter in self.newcomers else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Many people who voted on one document on one day (days since 1970-01-01): a person looks first."""

    document: UUID
    day: int
    voices: int


@dataclass(slots=True)
class Sums:
    """Of the votes on one thing: weights for and against (0 and above), and from how many people."""

    up: float = 0.0
    down: float = 0.0
    raters_up: int = 0
    raters_down: int = 0

    def add(self, value: float) -> None:
        if value > 0:
            self.up += value
            self.raters_up += 1
        elif value < 0:
            self.down -= value
            self.raters_down += 1


def dedupe_votes(votes: Iterable[Vote]) -> list[Vote]:
    """The newest of each person's votes on one passage for one question, within RATINGS_PER_DAY.

    votes: the oldest first.
    """
    rated: dict[tuple[int, int], set[int]] = defaultdict(set)
    newest: dict[tuple[int, int, int], Vote] = {}
    for vote in votes:
        of_day = rated[vote.voter, vote.day]
        if vote.question in of_day or len(of_day) < RATINGS_PER_DAY:
            of_day.add(vote.question)
            newest[vote.voter, vote.question, vote.passage] = vote
    return list(newest.values())


def passage_sums(
    votes: Iterable[Vote], voters: Voters, *, today: int
) -> dict[tuple[int, int], Sums]:
    """By question and passage. votes: `dedupe_votes`."""
    of_pair: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    for vote in votes:
        if vote.weight:
            of_pair[vote.question, vote.passage].append(
                (vote.voter, vote.weight * fading(vote.day, today=today))
            )
    return {pair: _sums(own, voters) for pair, own in of_pair.items()}


def document_sums(votes: Iterable[Vote], voters: Voters, *, today: int) -> dict[UUID, Sums]:
    """By document. A person's votes on a document count together no more than the strongest of them.

    votes: `dedupe_votes`.
    """
    of_person: dict[tuple[UUID, int], list[float]] = defaultdict(list)
    for vote in votes:
        if vote.document_weight:
            value = vote.document_weight * fading(vote.day, today=today)
            of_person[vote.document, vote.voter].append(value)
    of_document: dict[UUID, list[tuple[int, float]]] = defaultdict(list)
    for (document, voter), values in of_person.items():
        bound = max(map(abs, values))
        of_document[document].append((voter, max(-bound, min(bound, sum(values)))))
    return {document: _sums(own, voters) for document, own in of_document.items()}


def find_bursts(votes: Iterable[Vote], *, since: int) -> list[Burst]:
    """Documents on which on one day, from `since` on, BURST_VOICES or more people voted, and BURST_TIMES more than on
    any day before. votes: `dedupe_votes`."""
    voices = Counter(
        (document, day)
        for document, day, _ in {(vote.document, vote.day, vote.voter) for vote in votes}
    )
    most: dict[UUID, int] = {}
    found = []
    for (document, day), count in sorted(voices.items(), key=lambda item: item[0][1]):
        if day >= since and count >= max(BURST_VOICES, BURST_TIMES * most.get(document, 0)):
            found.append(Burst(document=document, day=day, voices=count))
        most[document] = max(count, most.get(document, 0))
    return sorted(found, key=lambda burst: (-burst.voices, burst.day))


def voters_of(joined: Mapping[int, int], staff: AbstractSet[int], *, today: int) -> Voters:
    """joined: by account the day of sign-up, of all accounts of the site, not only of those that voted."""
    newcomers = {
        voter for voter, day in joined.items() if today - day < NEWCOMER_DAYS and voter not in staff
    }
    established = any(today - day >= NEWCOMER_DAYS for day in joined.values())
    return Voters(
        staff=staff, newcomers=newcomers if established else frozenset(), fresh_site=not established
    )


def fading(day: int, *, today: int) -> float:
    """0..1; 1 for today, and for a day that is still to come, since a clock may have been set back."""
    return float(2.0 ** (-max(0, today - day) / HALF_LIFE_DAYS))


def _sums(values: Sequence[tuple[int, float]], voters: Voters) -> Sums:
    """values: voter and vote, without the voter's own weight."""
    weighted = [(voter, value * voters.weight(voter)) for voter, value in values]
    new = sum(abs(value) for voter, value in weighted if voter in voters.newcomers)
    others = sum(abs(value) for voter, value in weighted if voter not in voters.newcomers)
    share = min(1.0, max(others, NEWCOMERS_ALONE) / new) if new else 1.0
    sums = Sums()
    for voter, value in weighted:
        sums.add(value * share if voter in voters.newcomers else value)
    return sums
