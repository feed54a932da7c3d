"""What a round knows of voters' accounts, and what it keeps of what their votes weigh."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

import numpy as np
from django.contrib.auth import get_user_model
from numpy.typing import NDArray

from feedback.models import GoldenQuestion, RatedPassage, RatedQuestion, VoterWeight
from feedback.ranking.boosts import Votes
from feedback.ranking.voters import UNKNOWN, Voters
from feedback.ranking.weighing import RaterWeights
from feedback.rounds.deletions import written
from feedback.rounds.evidence import day_of
from feedback.rounds.questions import signature
from ragsite.core.wording import Wordings, wordings_of
from ragsite.models import SignUp
from retrieval.text.analysis import query_terms

Ints = NDArray[np.int64]
ROWS_AT_ONCE = 20_000
Row = tuple[float, float, bool, str, Wordings]
PRECISION = 3  # decimals of a weight that are kept: rounds that change less write nothing
COLUMNS = ("up", "down", "established", "reason", "wordings")


def voters_load(votes: Votes, document_ids: Sequence[UUID]) -> Voters:
    """The accounts of these votes. document_ids: by the number of a document in `votes`.

    Whether e-mail addresses are confirmed is not known here: the site asks for none.
    """
    wanted = np.unique(votes.voter)
    rows: list[tuple[int, int, bool, str]] = []
    for start in range(0, len(wanted), ROWS_AT_ONCE):
        ids = wanted[start : start + ROWS_AT_ONCE].tolist()
        blocks = dict(SignUp.objects.filter(user__in=ids).exclude(block="").values_list("user_id", "block"))
        people = get_user_model().objects.filter(pk__in=ids).order_by("pk").values_list("pk", "date_joined", "is_staff")
        rows += [(key, day_of(joined), staff, blocks.get(key, "")) for key, joined, staff in people.iterator()]
    voter = np.fromiter((key for key, *_ in rows), np.int64, len(rows))
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    right, wrong = _golden_agreement(votes, document_ids, voter)
    return Voters.of(
        voter,
        joined=np.fromiter((joined for _, joined, _, _ in rows), np.int64, len(rows)),
        staff=np.fromiter((staff for _, _, staff, _ in rows), np.bool_, len(rows)),
        block=np.fromiter((numbers[block] if block else UNKNOWN for *_, block in rows), np.int64, len(rows)),
        golden_right=right,
        golden_wrong=wrong,
    )


def _golden_agreement(votes: Votes, document_ids: Sequence[UUID], voter: Ints) -> tuple[Ints, Ints]:
    """Of each voter, how many votes agree with golden questions, and how many do not; both of shape (voters,)."""
    right, wrong = np.zeros(len(voter), dtype=np.int64), np.zeros(len(voter), dtype=np.int64)
    golden: defaultdict[str, set[UUID]] = defaultdict(set)
    # Where nothing is relevant, by what is expected or since it was deleted, a vote on a passage proves nothing.
    for question in (
        GoldenQuestion.objects.filter(enabled=True, relevant__isnull=False).distinct().prefetch_related("relevant")
    ):
        relevant = {item.chunk_id or item.document_id for item in question.relevant.all()}
        golden[signature(question.text, query_terms(question.text))] |= relevant
    if not golden or not len(voter):
        return right, wrong
    rated = RatedQuestion.objects.filter(signature__in=golden).values_list("pk", "signature")
    relevant_to = {key: golden[signed] for key, signed in rated}
    rows = np.flatnonzero(np.isin(votes.question, np.fromiter(relevant_to, np.int64, len(relevant_to))))
    rows = rows[(votes.value[rows] != 0.0) & np.isin(votes.voter[rows], voter)]
    chunk_of = dict(RatedPassage.objects.filter(pk__in=set(votes.passage[rows].tolist())).values_list("pk", "chunk_id"))
    place = np.searchsorted(voter, votes.voter)
    for row in rows.tolist():
        shown = {chunk_of.get(int(votes.passage[row])), document_ids[int(votes.document[row])]}
        good = bool(shown & relevant_to[int(votes.question[row])])
        (right if good == (votes.value[row] > 0.0) else wrong)[place[row]] += 1
    return right, wrong


def voter_weights_write(weights: RaterWeights) -> int:
    """Keep what each voter's votes weigh, and why. Returns how many rows have changed; only those are written."""
    found = {
        voter: (round(up, PRECISION), round(down, PRECISION), core, reason[:200], wordings_of(reason))
        for voter, up, down, core, reason in zip(
            weights.rater.tolist(), weights.up.tolist(), weights.down.tolist(), weights.core.tolist(),
            weights.reasons, strict=True,
        )
    }  # fmt: skip
    return written(partial(_write, found))


def _write(found: Mapping[int, Row]) -> int:
    before = {key: tuple(rest) for key, *rest in VoterWeight.objects.values_list("voter_id", *COLUMNS)}
    gone = [key for key in before if key not in found]
    for start in range(0, len(gone), ROWS_AT_ONCE):
        VoterWeight.objects.filter(pk__in=gone[start : start + ROWS_AT_ONCE]).delete()
    changed = {key: row for key, row in found.items() if before.get(key) != row}
    # An account may have been deleted since its votes were read.
    there: set[int] = set()
    keys = list(changed)
    for start in range(0, len(keys), ROWS_AT_ONCE):
        people = get_user_model().objects.filter(pk__in=keys[start : start + ROWS_AT_ONCE])
        there.update(people.order_by("pk").values_list("pk", flat=True))
    VoterWeight.objects.bulk_create(
        [
            VoterWeight(voter_id=key, **dict(zip(COLUMNS, row, strict=True)))
            for key, row in changed.items()
            if key in there
        ],
        update_conflicts=True,
        unique_fields=["voter"],
        update_fields=list(COLUMNS),
        batch_size=2000,
    )
    return len(changed) + len(gone)
