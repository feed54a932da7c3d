"""What the evidence makes of ranking now, and how that differs from what is live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from feedback.models import Boost, Burst, Evidence, RatedPassage, RatedQuestion
from feedback.ranking import boosts
from feedback.ranking.agreement import SameQuestion, to_compare, trust
from feedback.ranking.boosts import Votes
from feedback.ranking.snapshot import Content, DocumentPrior
from feedback.rounds.bulk_rows import Key, parts_of, raw
from feedback.rounds.evidence import day_of
from feedback.rounds.live import parameters

ROWS_AT_ONCE = 20_000
ROWS_IN_PART = 4_000  # as objects in memory, before they are numbers in an array
WHOLE = {"pk", "question_id", "passage_id", "voter_id", "day"}
COLUMNS = (
    "pk", "question_id", "passage_id", "voter_id", "weight", "document_weight", "voter_weight", "day", "standing",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One boost that is not as it was; question, passage: None for a document's prior."""

    document: UUID
    before: float
    after: float
    raters_up: int = 0
    raters_down: int = 0
    question: int | None = None
    passage: int | None = None

    @property
    def kind(self) -> str:
        return (
            Boost.Change.ADDED
            if self.before == 1.0
            else (Boost.Change.REMOVED if self.after == 1.0 else Boost.Change.CHANGED)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """votes: how many counted. changes: against the live revision's content."""

    content: Content
    votes: int
    changes: list[Change] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        kinds = [change.kind for change in self.changes]
        return {
            "query_boosts": len(self.content.queries),
            "document_boosts": len(self.content.documents),
            "votes": self.votes,
            **{str(kind): kinds.count(kind) for kind in Boost.Change.values},
        }


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents by a number of this round. passage: sorted; of: the document's number of each; counts_as: the first of
    the passages that stand in its chunk, for those of one place are one."""

    passage: NDArray[np.int64]
    of: NDArray[np.int64]
    ids: list[UUID]
    counts_as: NDArray[np.int64]

    def number(self, passages: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.of[np.searchsorted(self.passage, passages)]

    def standing_for(self, passages: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.counts_as[np.searchsorted(self.passage, passages)]

    def id_of(self, passage: int) -> UUID:
        return self.ids[int(self.of[np.searchsorted(self.passage, passage)])]


@dataclass(frozen=True, slots=True)
class Ballot:
    """All evidence that was not discarded, and whose document is still there.

    judged: belongs to a burst that a person has decided on; left_out: to one that they have not, or have rejected.
    """

    documents: Documents
    votes: Votes
    judged: NDArray[np.bool_]
    left_out: NDArray[np.bool_]

    @property
    def counted(self) -> Votes:
        return self.votes.where(~self.left_out)


def ballot_load() -> Ballot:
    documents = _documents_load()
    rows = Evidence.objects.filter(discarded_by=None).order_by("pk").values_list(*COLUMNS)
    table = np.concatenate(
        [np.zeros((0, len(COLUMNS))), *(np.asarray(part, dtype=np.float64) for part in _parts(rows))]
    )
    whole = {name: table[:, at].astype(np.int64) for at, name in enumerate(COLUMNS) if name in WHOLE}
    here = np.isin(whole["passage_id"], documents.passage)  # a document may go while this is read
    votes = Votes(
        key=whole["pk"][here],
        question=whole["question_id"][here],
        passage=documents.standing_for(whole["passage_id"][here]),
        document=documents.number(whole["passage_id"][here]),
        voter=whole["voter_id"][here],
        value=(table[:, 4] * table[:, 6])[here],
        document_value=(table[:, 5] * table[:, 6])[here],
        day=whole["day"][here],
        standing=table[here, COLUMNS.index("standing")],
    )
    bursts = dict(Evidence.objects.exclude(burst=None).values_list("pk", "burst__status"))
    accepted = [key for key, status in bursts.items() if status == Burst.Status.ACCEPTED]
    rejected = [key for key, status in bursts.items() if status == Burst.Status.REJECTED]
    inside = np.isin(votes.key, np.fromiter(bursts, np.int64, len(bursts)))
    return Ballot(
        documents=documents,
        votes=votes,
        judged=np.isin(votes.key, np.asarray(accepted + rejected, dtype=np.int64)),
        left_out=inside & ~np.isin(votes.key, np.asarray(accepted, dtype=np.int64)),
    )


def _parts(rows: Any) -> Iterator[list[tuple[float, ...]]]:
    return parts_of(rows.iterator(chunk_size=ROWS_IN_PART), ROWS_IN_PART)


def _documents_load() -> Documents:
    rows = list(RatedPassage.objects.order_by("pk").values_list("pk", raw("document_id"), raw("chunk_id")))
    numbers: dict[Key, int] = {}
    of = np.fromiter((numbers.setdefault(document, len(numbers)) for _, document, _ in rows), np.int64, len(rows))
    first: dict[Key, int] = {}
    counts_as = (first.setdefault(chunk, key) if chunk else key for key, _, chunk in rows)
    return Documents(
        passage=np.fromiter((key for key, _, _ in rows), np.int64, len(rows)),
        of=of,
        ids=[key if isinstance(key, UUID) else UUID(key) for key in numbers],
        counts_as=np.fromiter(counts_as, np.int64, len(rows)),
    )


def proposal_make(ballot: Ballot, live: Content) -> Proposal:
    """All counted evidence → boosts → their difference from the live ones."""
    documents, votes = ballot.documents, ballot.counted
    votes = votes.where(boosts.within_the_cap(votes, per_day=boosts.RATINGS_PER_DAY))
    compared = to_compare(votes)
    same_question = _same_question(votes, compared)
    votes = boosts.one_voice(votes, same_question)
    votes = trust(compared.where(np.isin(compared.key, votes.key)), same_question).weigh(votes)
    votes = boosts.decayed(votes, today=day_of(timezone.now()), half_life_days=boosts.HALF_LIFE_DAYS)
    queries = boosts.strongest(
        boosts.query_tallies(votes),
        full_votes=boosts.FULL_VOTES,
        least_effect=boosts.LEAST_EFFECT,
        limit=boosts.MAX_LIVE_BOOSTS,
    )
    priors = boosts.document_tallies(votes, prior=boosts.DOCUMENT_PRIOR, min_raters=boosts.MIN_DOCUMENT_RATERS)
    kept = priors.where(np.abs(np.log(priors.multiplier)) >= np.log1p(boosts.LEAST_EFFECT / 2))
    content = Content(
        queries=queries,
        documents={
            documents.ids[int(document)]: DocumentPrior(
                multiplier=float(multiplier), raters_up=int(up), raters_down=int(down)
            )
            for document, multiplier, up, down in zip(
                kept.document, kept.multiplier, kept.raters_up, kept.raters_down, strict=True
            )
        },
        parameters=parameters(),
    )
    return Proposal(content=content, votes=len(votes), changes=changes_between(live, content, documents))


def _same_question(votes: Votes, compared: Votes) -> SameQuestion:
    """Terms are read only of questions that one voter asked of one passage several times, and of those compared."""
    if not len(votes):
        return SameQuestion({})
    pairs = np.unique(np.column_stack((votes.voter, votes.passage, votes.question)), axis=0)
    again = (pairs[1:, :2] == pairs[:-1, :2]).all(axis=1)
    several = np.zeros(len(pairs), dtype=bool)
    several[1:] |= again
    several[:-1] |= again
    wanted = np.union1d(pairs[several, 2], compared.question).tolist()
    terms: dict[int, frozenset[str]] = {}
    for start in range(0, len(wanted), ROWS_AT_ONCE):
        rows = RatedQuestion.objects.filter(pk__in=wanted[start : start + ROWS_AT_ONCE])
        terms.update((key, frozenset(text.split())) for key, text in rows.values_list("pk", "terms"))
    return SameQuestion(terms)


# ------------------------------------------------------------------------------------------------ differences
def changes_between(live: Content, new: Content, documents: Documents) -> list[Change]:
    """Boosts that came, went, or moved by at least the least effect."""
    least = boosts.LEAST_EFFECT
    before, after = _query_boosts(live), _query_boosts(new)
    known = set(documents.passage.tolist())
    changes = []
    for key in sorted(before.keys() | after.keys()):
        question, passage = key
        was, now = before.get(key, (1.0, 0, 0)), after.get(key, (1.0, 0, 0))
        if passage in known and _differs(was[0], now[0], key in before and key in after, least):
            change = Change(
                document=documents.id_of(passage), before=was[0], after=now[0], raters_up=now[1], raters_down=now[2],
                question=question, passage=passage,
            )  # fmt: skip
            changes.append(change)
    return changes + _document_changes(live, new, set(documents.ids), least)


def _query_boosts(content: Content) -> dict[tuple[int, int], tuple[float, int, int]]:
    rows = content.queries
    keys = zip(rows.question.tolist(), rows.passage.tolist(), strict=True)
    values = zip(content.multipliers().tolist(), rows.raters_up.tolist(), rows.raters_down.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


def _document_changes(live: Content, new: Content, known: set[UUID], least: float) -> list[Change]:
    none = DocumentPrior(multiplier=1.0, raters_up=0, raters_down=0)
    changes = []
    for document in sorted((live.documents.keys() | new.documents.keys()) & known):
        was, now = live.documents.get(document, none), new.documents.get(document, none)
        both = document in live.documents and document in new.documents
        if _differs(was.multiplier, now.multiplier, both, least / 2):
            change = Change(
                document=document, before=was.multiplier, after=now.multiplier,
                raters_up=now.raters_up, raters_down=now.raters_down,
            )  # fmt: skip
            changes.append(change)
    return changes


def _differs(before: float, after: float, both: bool, least: float) -> bool:
    return abs(after - before) >= least if both else before != after
