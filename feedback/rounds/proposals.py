"""What the votes make of ranking now, and how that differs from the live revision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from feedback.models import Boost, Burst, Evidence, RatedPassage, RatedQuestion
from feedback.ranking import boosts
from feedback.ranking.boosts import Votes
from feedback.ranking.drafting import content_of_votes, votes_weighed
from feedback.ranking.question_groups import QuestionGroups
from feedback.ranking.snapshot import Content, DocumentPrior, parameters
from feedback.ranking.voters import Voters
from feedback.ranking.weighing import RaterWeights
from feedback.rounds.bulk_rows import Key, parts_of, raw
from feedback.rounds.evidence import day_of
from feedback.rounds.question_pairs import decided_pairs
from feedback.rounds.voters import voters_load
from ragsite.core.wording import joined, worded
from retrieval.models import Document

Ints = NDArray[np.int64]
ROWS_AT_ONCE = 20_000
ROWS_IN_PART = 4_000  # as objects in memory, before they are numbers in an array
WHOLE = {"pk", "question_id", "passage_id", "voter_id", "day"}
COLUMNS = (
    "pk", "question_id", "passage_id", "voter_id", "weight", "document_weight", "day",
    "normalized_score",
)  # fmt: skip
NO_BOOST = 1.0  # as a multiplier
NO_PRIOR = DocumentPrior(multiplier=1.0, raters_up=0, raters_down=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One boost that differs from the live one; question, passage: None for a document's prior."""

    document: UUID
    before: float
    after: float
    raters_up: int = 0
    raters_down: int = 0
    question: int | None = None
    passage: int | None = None

    @property
    def kind(self) -> str:
        if self.before == 1.0:
            return Boost.Change.ADDED
        return Boost.Change.REMOVED if self.after == 1.0 else Boost.Change.CHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """votes: how many counted. changes: against the live revision's content. weights: of the voters."""

    content: Content
    votes: int
    changes: list[Change] = field(default_factory=list)
    weights: RaterWeights | None = None

    def counts(self) -> dict[str, int]:
        kinds = [change.kind for change in self.changes]
        return {
            "query_boosts": len(self.content.queries),
            "document_boosts": len(self.content.documents),
            "votes": self.votes,
            "silenced_voters": sum(self.silenced().values()),
            **{str(kind): kinds.count(kind) for kind in Boost.Change.values},
        }

    def silenced(self) -> dict[str, int]:
        """How many voters count for nothing, by the reason."""
        return self.weights.silenced() if self.weights else {}

    def silenced_text(self) -> str:
        """As a sentence for the log; empty: nobody is."""
        parts = [
            worded("{count} ({reason})", count=count, reason=reason or worded("no reason"))
            for reason, count in self.silenced().items()
        ]
        return worded("Voters who count for nothing: {voters}.", voters=joined(", ", parts)) if parts else ""


# ------------------------------------------------------------------------------------------------ votes
@dataclass(frozen=True, slots=True)
class Passages:
    """All rated passages. Documents have numbers that hold for this round alone.

    passage: shape (passages,), ascending. document: of each, the number of its document. ids: by a
    document's number.
    """

    passage: Ints
    document: Ints
    ids: list[UUID]

    def places(self, passages: Ints) -> Ints:
        return np.searchsorted(self.passage, passages)


@dataclass(frozen=True, slots=True)
class Ballot:
    """All evidence as votes, without what was discarded and without documents that are deleted.

    judged: belongs to a burst that a person has decided on; left_out: to one that is undecided or rejected. Both have
    shape (votes,). voters: what is known of their accounts.
    """

    passages: Passages
    votes: Votes
    voters: Voters
    judged: NDArray[np.bool_]
    left_out: NDArray[np.bool_]

    @property
    def counted(self) -> Votes:
        return self.votes.where(~self.left_out)


def ballot_load() -> Ballot:
    passages = _passages_load()
    rows = Evidence.objects.filter(discarded_by=None).order_by("pk").values_list(*COLUMNS)
    pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in COLUMNS}
    for part in parts_of(rows.iterator(chunk_size=ROWS_IN_PART), ROWS_IN_PART):
        for name, values in zip(COLUMNS, zip(*part, strict=True), strict=True):
            pieces[name].append(np.asarray(values, dtype=np.int64 if name in WHOLE else np.float64))
    column = {name: _joined(pieces.pop(name), np.int64 if name in WHOLE else np.float64) for name in COLUMNS}
    known = np.isin(column["passage_id"], passages.passage)
    if not known.all():  # a document may go while this is read
        column = {name: values[known] for name, values in column.items()}
    places = passages.places(column["passage_id"])
    votes = Votes(
        key=column["pk"],
        question=column["question_id"],
        passage=column["passage_id"],
        document=passages.document[places],
        voter=column["voter_id"],
        value=column["weight"],
        document_value=column["document_weight"],
        day=column["day"],
        normalized_score=column["normalized_score"],
    )
    in_bursts = dict(Evidence.objects.exclude(burst=None).values_list("pk", "burst__status"))
    status = {
        name: np.asarray([key for key, own in in_bursts.items() if own == name], np.int64) for name in Burst.Status
    }
    accepted, rejected, undecided = (
        np.isin(votes.key, status[name]) for name in (Burst.Status.ACCEPTED, Burst.Status.REJECTED, Burst.Status.OPEN)
    )
    voters = voters_load(votes, passages.ids)
    return Ballot(
        passages=passages, votes=votes, voters=voters, judged=accepted | rejected, left_out=rejected | undecided,
    )  # fmt: skip


def _joined(pieces: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *pieces])


def _passages_load() -> Passages:
    rows = list(RatedPassage.objects.order_by("pk").values_list("pk", raw("document_id")))
    index_of: dict[Key, int] = {}
    document = np.fromiter((index_of.setdefault(document, len(index_of)) for _, document in rows), np.int64, len(rows))
    return Passages(
        passage=np.fromiter((key for key, _ in rows), np.int64, len(rows)),
        document=document,
        ids=[key if isinstance(key, UUID) else UUID(key) for key in index_of],
    )


# ------------------------------------------------------------------------------------------------ boosts
def proposal_make(ballot: Ballot, live: Content) -> Proposal:
    """All counted votes → boosts → their difference from the live ones."""
    votes, weights = ballot_weighed(ballot)
    content = content_of_votes(
        votes, weights, today=day_of(timezone.now()), document_id=ballot.passages.ids.__getitem__,
        parameters=parameters(),
    )  # fmt: skip
    content = replace(content, pairs=decided_pairs(content.queries.question.tolist()))
    changes = changes_between(live, content, ballot.passages)
    removed = set(changes_left([change for change in changes if change.after == NO_BOOST]))
    changes = [change for change in changes if change.after != NO_BOOST or change in removed]
    return Proposal(content=content, votes=len(votes), changes=changes, weights=weights)


def ballot_weighed(ballot: Ballot) -> tuple[Votes, RaterWeights]:
    """The counted votes, of one who rated the same several times the last, and what each of them weighs."""
    return votes_weighed(ballot.counted, _grouping, ballot.voters)


def _grouping(questions: Ints) -> QuestionGroups:
    """By what was decided of their pairs (`feedback.rounds.question_pairs`)."""
    return QuestionGroups.of(decided_pairs(questions.tolist()))


def changes_between(live: Content, new: Content, passages: Passages) -> list[Change]:
    """Boosts that came, went, or moved by at least the least effect; of documents that are still there."""
    least = boosts.LEAST_EFFECT
    changes = list(_query_changes(live, new, passages, least))
    for document in sorted((live.documents.keys() | new.documents.keys()) & set(passages.ids)):
        prior = new.documents.get(document, NO_PRIOR)
        was, now = live.documents.get(document, NO_PRIOR).multiplier, prior.multiplier
        if _differs(was, now, document in live.documents and document in new.documents, least / 2):
            up, down = prior.raters_up, prior.raters_down
            changes.append(Change(document=document, before=was, after=now, raters_up=up, raters_down=down))
    return changes


def changes_left(changes: Sequence[Change]) -> list[Change]:
    """Those whose document, passage and question are there still. A live boost may be for a question that went with
    the last account which had asked it: searches leave it out already, and so does the next revision's content."""
    documents = _left(Document.objects.all(), {change.document for change in changes})
    passages = _left(RatedPassage.objects.all(), {change.passage for change in changes} - {None})
    questions = _left(RatedQuestion.objects.all(), {change.question for change in changes} - {None})
    return [
        change
        for change in changes
        if change.document in documents
        and (change.passage is None or (change.passage in passages and change.question in questions))
    ]


def _left(rows: QuerySet[Any], keys: Iterable[Any]) -> set[Any]:
    found: set[Any] = set()
    for part in parts_of(keys, ROWS_AT_ONCE):
        found.update(rows.filter(pk__in=part).order_by().values_list("pk", flat=True))
    return found


def _query_changes(live: Content, new: Content, passages: Passages, least: float) -> Iterator[Change]:
    """Ascending by question and passage. In arrays: of 100,000 boosts few change in most rounds."""
    most = 1 + max((int(rows.passage.max(initial=0)) for rows in (live.queries, new.queries)), default=0)
    live_keys, new_keys = (rows.question * most + rows.passage for rows in (live.queries, new.queries))
    keys = np.union1d(live_keys, new_keys)
    at_live, at_new = np.searchsorted(keys, live_keys), np.searchsorted(keys, new_keys)
    before, after = np.full(len(keys), NO_BOOST), np.full(len(keys), NO_BOOST)
    before[at_live], after[at_new] = live.multipliers(), new.multipliers()
    row_of = np.full(len(keys), -1)
    row_of[at_new] = np.arange(len(new_keys))
    both = row_of >= 0
    both[np.setdiff1d(np.arange(len(keys)), at_live)] = False
    differs = np.where(both, np.abs(after - before) >= least, before != after)
    differs &= np.isin(keys % most, passages.passage)
    places = np.flatnonzero(differs)
    rows, questions, passage_ids = row_of[places], keys[places] // most, keys[places] % most
    raters_up, raters_down = (
        np.append(column, 0)[rows].tolist() for column in (new.queries.raters_up, new.queries.raters_down)
    )  # −1: none
    documents = passages.document[passages.places(passage_ids)].tolist()
    values = (questions.tolist(), passage_ids.tolist(), before[places].tolist(), after[places].tolist())
    for question, passage, was, now, document, up, down in zip(*values, documents, raters_up, raters_down, strict=True):
        yield Change(
            document=passages.ids[document], before=was, after=now, raters_up=up, raters_down=down,
            question=question, passage=passage,
        )  # fmt: skip


def _differs(before: float, after: float, both: bool, least: float) -> bool:
    return abs(after - before) >= least if both else before != after
