"""Documents, accounts and ratings that are deleted between rounds, and in the midst of one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from feedback.models import Boost, Evidence, RatedQuestion, Rating, Revision
from feedback.ranking.guard import GuardReport
from feedback.rounds import round as rounds
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.live import feedback_state
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk, Document
from tests.feedback.rated import answered, liked, passage, rate, regular

QUESTION = "How many books may I borrow?"
alone = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


# ------------------------------------------------------------------------------------------------ between rounds
@pytest.mark.django_db
def test_rounds_go_on_when_the_only_account_that_asked_a_boosted_question_is_deleted() -> None:
    user, chunk = regular(), passage("Ten books.")
    rate(answered(QUESTION, [chunk], user=user), 5)
    assert feedback_round().status == "live"
    user.delete()
    assert feedback_round().status == "unchanged"
    liked("How long may I keep them?", passage("Four weeks."), by=2)
    assert feedback_round().status == "live"
    assert not RatedQuestion.objects.filter(text=QUESTION).exists()
    assert set(Boost.objects.filter(revision=feedback_state().live).values_list("question__text", flat=True)) == {
        "How long may I keep them?"
    }


# ------------------------------------------------------------------------------------------------ in a round
@alone
@pytest.mark.parametrize("goes", ["document", "account", "asker"])
def test_what_is_deleted_while_the_guard_measures_is_left_out(goes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, stays = passage("Ten books."), passage("Four weeks.")
    asker, staff = regular(), regular(is_staff=True)
    rate(answered(QUESTION, [gone], user=asker), 5)
    liked("How long may I keep them?", stays, by=2)

    def measure(*_: Any, **__: Any) -> GuardReport:
        {"document": gone.document, "account": staff, "asker": asker}[goes].delete()
        return GuardReport()

    monkeypatch.setattr(rounds, "guard_measure", measure)
    outcome = feedback_round(by=staff)
    revision = Revision.objects.get()
    left = {boost.document_id for boost in revision.boosts.all()}
    assert outcome.status == "live"
    assert left == {stays.document_id} | ({gone.document_id} if goes == "account" else set())
    assert revision.made_by == (None if goes == "account" else staff)


# ------------------------------------------------------------------------------------------------ at the same time
@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[list[BaseException]]:
    """`work` runs in a thread with a connection of its own. Gives what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # shown by the test
            raised.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield raised
    finally:
        thread.join()


def void(_: object) -> None:
    """For a thread, whose work returns nothing."""


def rated_site() -> tuple[list[User], list[Document]]:
    """12 documents, rated by 12 people who ask 4 questions each."""
    chunks: list[Chunk] = [passage(f"Rule {number}: {number} books.") for number in range(12)]
    users = [regular() for _ in range(12)]
    for at, user in enumerate(users):
        for number in range(4):
            shown = [chunks[(at + number) % 12], chunks[(at * 3 + number) % 12]]
            message = answered(f"May group {number} borrow {at % 5} books?", shown[: 2 if shown[0] != shown[1] else 1])
            message.session.user = user
            message.session.save()
            rate(message, 5 if number % 3 else 1, "accurate" if number % 3 else "outdated")
            rate(message, 4, marker=1)
    return users, [chunk.document for chunk in chunks]


@alone
@pytest.mark.parametrize("what", ["documents", "accounts", "ratings"])
def test_rounds_and_deletions_at_the_same_time_do_not_stop_each_other(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.rounds.evidence.BATCH", 2)
    users, documents = rated_site()
    feedback_state()
    ratings = list(Rating.objects.order_by("pk"))
    rows = dict[str, list[Any]](documents=documents, accounts=users, ratings=ratings)[what]
    first, second = rows[: len(rows) // 3], rows[len(rows) // 3 : 2 * len(rows) // 3]

    def delete(some: list[Any]) -> None:
        for row in some:
            row.delete()

    with meanwhile(lambda: delete(first)) as one, meanwhile(lambda: delete(second)) as two:
        for _ in range(3):
            Rating.objects.update(attributed_at=None)
            feedback_round()
    assert (one, two) == ([], [])
    feedback_round()
    _is_as_drawn_anew()


def _is_as_drawn_anew() -> None:
    columns = ("rating", "question", "passage", "voter", "weight", "document_weight")
    before = sorted(map(str, Evidence.objects.values_list(*columns)))
    Rating.objects.update(attributed_at=None)
    evidence_gather()
    assert before == sorted(map(str, Evidence.objects.values_list(*columns)))
    assert before


@alone
@pytest.mark.postgres
def test_a_deletion_waits_for_a_batch_in_place_of_locking_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch holds a rating and goes on to its evidence; the deletion goes the other way."""
    if connection.vendor != "postgresql":
        pytest.skip("DATABASE_URL names no PostgreSQL")
    user, chunk = regular(), passage("Ten books.")
    rate(answered(QUESTION, [chunk], user=user), 5)
    feedback_round()
    Rating.objects.update(attributed_at=None)
    held, go_on = threading.Event(), threading.Event()
    name = "feedback.rounds.evidence._evidence"
    from feedback.rounds import evidence

    drawn = evidence._evidence

    def slowly(ratings: Any) -> Any:
        rows = drawn(ratings)
        held.set()
        go_on.wait(10)
        return rows

    monkeypatch.setattr(name, slowly)
    with meanwhile(lambda: void(feedback_round())) as failed:
        assert held.wait(10)
        with meanwhile(lambda: void(user.delete())) as deletion:
            _until_somebody_waits()
            go_on.set()
    assert (failed, deletion) == ([], [])
    assert not Evidence.objects.exists()
    assert not RatedQuestion.objects.exists()


def _until_somebody_waits() -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    for _ in range(400):
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
        threading.Event().wait(0.02)
    pytest.fail("The deletion waits for nothing.")
