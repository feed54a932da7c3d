"""What a round knows of accounts, and what it tells staff of their weights; bursts of new accounts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone

from feedback.curation.evidence_selectors import vote_shown, votes_on
from feedback.models import (
    Burst,
    Evidence,
    GoldenQuestion,
    GoldenRelevance,
    Revision,
    RevisionEvent,
    VoterWeight,
)
from feedback.ranking.voters import UNKNOWN
from feedback.rounds.bursts import bursts_flag
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.proposals import ballot_load, ballot_weighed
from feedback.rounds.round import feedback_round
from feedback.rounds.voters import voter_weights_write
from ragsite.accounts.sign_ups import address_block, sign_up_remember
from ragsite.models import SignUp
from retrieval.models import Chunk
from tests.factories import UserFactory
from tests.feedback.rated import answered, passage, rate, regular

pytestmark = pytest.mark.django_db
QUESTION = "How many books may an undergraduate borrow?"


def joined(days_ago: int, **fields: object) -> User:
    user = UserFactory(**fields)
    User.objects.filter(pk=user.pk).update(date_joined=timezone.now() - timedelta(days=days_ago))
    return user


def weights() -> dict[int, tuple[float, float, str]]:
    evidence_gather()
    voter_weights_write(ballot_weighed(ballot_load())[1])
    return {row.voter_id: (row.up, row.down, row.reason) for row in VoterWeight.objects.all()}


# ------------------------------------------------------------------------------------------------ accounts
def test_new_accounts_count_less_and_staff_more_and_both_are_told_why() -> None:
    chunk = passage("Ten books.")
    new, old, staff = UserFactory(), regular(), regular(is_staff=True)
    for user in (new, old, staff):
        rate(answered(QUESTION, [chunk], user=user), 5)
    found = weights()
    # The only established voter is staff; the others agree, so nothing caps them.
    assert found[new.pk][0] == pytest.approx(0.3 * found[old.pk][0], abs=0.01)
    assert found[staff.pk][0] > 1.3 * found[old.pk][0]
    assert found[new.pk][2] == "new account: counts 0.3"
    assert found[staff.pk][2] == "staff: counts 1.5 times"


def test_weights_that_have_not_changed_are_not_written_again() -> None:
    rate(answered(QUESTION, [passage("Ten books.")]), 5)
    weights()
    assert voter_weights_write(ballot_weighed(ballot_load())[1]) == 0


def test_the_evidence_shows_what_a_vote_of_a_new_account_counts_and_why() -> None:
    chunk = passage("Ten books.")
    rate(answered(QUESTION, [chunk], user=UserFactory()), 5)
    weights()
    (row,) = votes_on(document=chunk.document)
    vote = vote_shown(row)
    assert vote.counts_now == pytest.approx(0.3, abs=0.02)
    assert vote.why == "new account: counts 0.3"


def test_before_the_first_round_a_vote_says_that_it_was_not_weighed() -> None:
    chunk = passage("Ten books.")
    rate(answered(QUESTION, [chunk]), 5)
    evidence_gather()
    vote = vote_shown(votes_on(document=chunk.document)[0])
    assert vote.voter_weight is None
    assert "no round has weighed" in vote.why


def test_what_voters_agree_with_golden_questions_is_counted() -> None:
    chunk, other = passage("Ten books."), passage("Fees are due in March.")
    golden = GoldenQuestion.objects.create(text=QUESTION, collection=chunk.document.collection)
    GoldenRelevance.objects.create(question=golden, document=chunk.document)
    right, wrong = regular(), regular()
    rate(answered(QUESTION, [chunk], user=right), 5)
    rate(answered(QUESTION, [other], user=wrong), 5)
    evidence_gather()
    voters = ballot_load().voters
    counts = dict(zip(voters.voter.tolist(), zip(voters.golden_right, voters.golden_wrong, strict=True), strict=True))
    assert (counts[right.pk], counts[wrong.pk]) == ((1, 0), (0, 1))


def test_a_golden_question_without_documents_says_nothing_of_voters() -> None:
    chunk, voter = passage("Ten books."), regular()
    GoldenQuestion.objects.create(text=QUESTION, collection=chunk.document.collection, expects="NO_ANSWER")
    rate(answered(QUESTION, [chunk], user=voter), 5)
    evidence_gather()
    voters = ballot_load().voters
    assert (voters.golden_right.sum(), voters.golden_wrong.sum()) == (0, 0)


# ------------------------------------------------------------------------------------------------ sign-ups
@pytest.mark.parametrize(
    ("address", "block"),
    [
        ("192.0.2.77", "192.0.2.0/24"), ("::ffff:192.0.2.77", "192.0.2.0/24"), ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("", ""), ("unix:", ""),
    ],
)  # fmt: skip
def test_a_block_is_the_network_of_an_address(address: str, block: str) -> None:
    assert address_block(address) == block


def test_of_a_sign_up_the_block_is_kept_as_a_keyed_hash_and_never_the_address() -> None:
    first, second, third = UserFactory(), UserFactory(), UserFactory()
    for user, address in ((first, "192.0.2.1"), (second, "192.0.2.200"), (third, "198.51.100.1")):
        sign_up_remember(RequestFactory().post("/", REMOTE_ADDR=address), user)
    blocks = dict(SignUp.objects.values_list("user_id", "block"))
    assert blocks[first.pk] == blocks[second.pk] != blocks[third.pk]
    assert "192" not in blocks[first.pk][:3]
    assert len(blocks[first.pk]) == 64


def test_accounts_without_a_sign_up_have_an_unknown_block() -> None:
    known, unknown = regular(), regular()
    sign_up_remember(RequestFactory().post("/", REMOTE_ADDR="192.0.2.1"), known)
    chunk = passage("Ten books.")
    for user in (known, unknown):
        rate(answered(QUESTION, [chunk], user=user), 5)
    evidence_gather()
    voters = ballot_load().voters
    assert dict(zip(voters.voter.tolist(), voters.block.tolist(), strict=True)) == {known.pk: 0, unknown.pk: UNKNOWN}


def test_signing_up_on_the_page_keeps_the_block() -> None:
    client = Client()
    form = {"username": "newcomer", "password1": "correct horse 9", "password2": "correct horse 9"}
    client.post("/accounts/signup/", form, REMOTE_ADDR="192.0.2.9")
    other = UserFactory()
    sign_up_remember(RequestFactory().post("/", REMOTE_ADDR="192.0.2.10"), other)
    assert SignUp.objects.get(user__username="newcomer").block == SignUp.objects.get(user=other).block


# ------------------------------------------------------------------------------------------------ bursts
def newcomers_like(chunk: Chunk, *, accounts: int, score: int = 1) -> None:
    for number in range(accounts):
        rate(answered(f"{QUESTION} {number}", [chunk], user=joined(2)), score, "wrong_source")


def with_older_people() -> None:
    for number in range(3):
        rate(answered(f"When is fee {number} due?", [passage(f"Fee {number} is due in March.")]), 5)


def test_new_accounts_that_all_say_the_same_once_are_a_burst_that_waits_for_a_person() -> None:
    with_older_people()
    chunk = passage("Ten books.")
    newcomers_like(chunk, accounts=8)
    evidence_gather()
    found, ballot = bursts_flag(ballot_load())
    burst = Burst.objects.get()
    assert (found, burst.kind, burst.accounts, burst.document_id) == (1, "newcomers", 8, chunk.document_id)
    assert len(ballot.counted) == 3
    assert Evidence.objects.filter(burst=burst).count() == 8
    event = RevisionEvent.objects.get(action="burst_flagged")
    assert "8 votes of 8 new accounts that all say the same" in event.why
    assert "New accounts voted the same way on this document within a few days" in event.why


def test_a_few_new_accounts_are_none() -> None:
    with_older_people()
    newcomers_like(passage("Ten books."), accounts=4)
    evidence_gather()
    assert bursts_flag(ballot_load())[0] == 0


def test_on_a_site_where_all_accounts_are_new_nobody_stands_out() -> None:
    newcomers_like(passage("Ten books."), accounts=8)
    evidence_gather()
    assert bursts_flag(ballot_load())[0] == 0


def test_new_accounts_that_disagree_are_none() -> None:
    with_older_people()
    chunk = passage("Ten books.")
    newcomers_like(chunk, accounts=4)
    newcomers_like(chunk, accounts=4, score=5)
    evidence_gather()
    assert bursts_flag(ballot_load())[0] == 0


def test_a_burst_that_was_accepted_counts() -> None:
    with_older_people()
    newcomers_like(passage("Ten books."), accounts=8)
    evidence_gather()
    bursts_flag(ballot_load())
    Burst.objects.update(status=Burst.Status.ACCEPTED)
    found, ballot = bursts_flag(ballot_load())
    assert (found, len(ballot.counted)) == (0, 11)


# ------------------------------------------------------------------------------------------------ the log
def test_a_revision_tells_how_many_voters_were_silenced_and_why() -> None:
    people, contrary = [regular() for _ in range(6)], regular()
    for number, letter in enumerate("abcdefghijkl"):
        good, bad = passage(f"Ten books of {letter}."), passage(f"Fees of {letter} are due in March.")
        for person in [*people, contrary]:
            mistaken = person is contrary or number % 6 == people.index(person)
            message = answered(f"How many books of {letter} may one borrow?", [good, bad], user=person)
            rate(message, 1 if mistaken else 5, marker=1)
            rate(message, 5 if mistaken else 1, marker=2)
    feedback_round()
    revision = Revision.objects.get()
    assert revision.summary["silenced_voters"] == 1
    event = RevisionEvent.objects.get(action="proposed")
    assert event.why == "Voters who count for nothing: 1 (agrees with others no more than by chance)."
    assert VoterWeight.objects.get(voter=contrary).up == 0.0
