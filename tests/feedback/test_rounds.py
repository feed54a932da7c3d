"""A round, from ratings to a revision; and the life of revisions."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from feedback.curation.manual import manual_boost_end, manual_boost_set
from feedback.models import Boost, Evidence, Rating, Revision
from feedback.rounds import round as rounds
from feedback.rounds.live import feedback_state, live_revision, snapshot_load
from feedback.rounds.revisions import revision_go_live, revision_roll_back
from feedback.rounds.round import RoundOutcome, feedback_round
from ragsite.core.leases import NamedLease, NamedLock
from retrieval.engine.text.same_question import wording
from tests.clients import client_of
from tests.factories import UserFactory
from tests.feedback.rated import make_answer, passage, rate, rate_chunk, regular

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_questions_to_measure")]
QUESTION = "How many books may I borrow?"


@pytest.fixture
def staff() -> User:
    user: User = UserFactory(is_staff=True)
    return user


def live_boosts() -> list[Boost]:
    return list(Boost.objects.filter(revision=live_revision()).select_related("passage"))


# ------------------------------------------------------------------------------------------------ a round
def test_a_round_makes_a_live_revision_with_its_boosts() -> None:
    chunk = passage("Ten books.")
    rate_chunk(QUESTION, chunk, by=2)
    outcome = feedback_round()
    revision = Revision.objects.get()
    boost = Boost.objects.get()
    assert (outcome.status, outcome.ratings, outcome.number) == ("live", 2, 1)
    assert revision.status == "live"
    assert live_revision() == revision
    assert boost.raters_up == 2
    assert boost.multiplier == 2.0
    assert (boost.question.text, boost.passage.chunk_id) == (QUESTION, chunk.pk)


def test_a_second_round_without_new_ratings_makes_no_revision() -> None:
    rate_chunk(QUESTION, passage("Ten books."), by=2)
    feedback_round()
    version = feedback_state().version
    assert feedback_round().status == "unchanged"
    assert Revision.objects.count() == 1
    assert feedback_state().version == version


def test_a_withdrawn_rating_takes_its_boost_along_at_once() -> None:
    message = make_answer(QUESTION, [passage("Ten books.")])
    rating = rate(message, 5)
    feedback_round()
    version = feedback_state().version
    rating.delete()
    assert live_boosts() == []
    assert feedback_state().version > version


def test_enough_people_lift_or_lower_a_document() -> None:
    good, bad = passage("Ten books."), passage("Five books, in 2001.")
    for number in range(4):
        rate_chunk(f"Question {number} on loans?", good)
        rate_chunk(f"Question {number} on loans?", bad, score=1, tags=["outdated"])
    feedback_round()
    priors = {boost.document_id: boost for boost in live_boosts() if boost.passage_id is None}
    assert priors[good.document_id].multiplier > 1.0 > priors[bad.document_id].multiplier


def test_only_one_round_runs_at_a_time() -> None:
    NamedLease(rounds.LEASE, seconds=60).take()
    rate_chunk(QUESTION, passage("Ten books."))
    assert feedback_round().status == "busy"
    assert not Evidence.objects.exists()


def test_the_round_of_a_killed_worker_is_taken_over_and_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate_chunk(QUESTION, passage("Ten books."), by=2)

    class KilledError(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> RoundOutcome:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(NamedLease, "release", lambda _: False)  # a killed process gives nothing back
        patch.setattr(rounds, "guard_measure", killed)
        with pytest.raises(KilledError):
            feedback_round()
    assert feedback_round().status == "busy"
    NamedLock.objects.filter(name=rounds.LEASE).update(
        lease_expires_at=timezone.now() - timedelta(seconds=1)
    )
    outcome = feedback_round()
    assert (outcome.status, outcome.ratings, outcome.counts["query_boosts"]) == ("live", 0, 1)
    assert Evidence.objects.count() == 2


def test_without_auto_live_a_good_revision_waits_for_a_person(
    rag_settings: Any, staff: User
) -> None:
    rag_settings(feedback={"auto_live": False})
    rate_chunk(QUESTION, passage("Ten books."), by=2)
    assert feedback_round().status == "proposed"
    revision_go_live(revision=Revision.objects.get(), by=staff)
    assert live_revision() is not None


# ------------------------------------------------------------------------------------------------ rolled back


def test_rolling_back_makes_the_one_before_live(staff: User) -> None:
    for question in (QUESTION, "How long may I keep them?"):
        rate_chunk(question, passage("Ten books, four weeks."), by=2)
        feedback_round()
    first, second = Revision.objects.order_by("number")
    version = feedback_state().version
    assert revision_roll_back(revision=second, by=staff, why="Wrong results.") == first
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status, second.reason) == ("live", "rolled_back", "Wrong results.")
    assert live_revision() == first
    assert feedback_state().version > version
    assert len(live_boosts()) == 1


def test_many_people_on_one_document_on_one_day_hold_the_revision_and_say_so() -> None:
    chunk = passage("Ten books.", title="Loans")
    rate_chunk(QUESTION, chunk)  # by somebody established
    for number in range(6):
        rate(make_answer(f"Question {number} on fees?", [chunk], user=regular()), 1, "outdated")
    outcome = feedback_round()
    assert outcome.status == "held"
    assert "7 people rated “Loans” on one day" in outcome.reason


# ------------------------------------------------------------------------------------------------ by hand
def test_a_boost_by_hand_holds_at_once_and_until_it_ends(staff: User) -> None:
    chunk = passage("Ten books.")
    version = feedback_state().version
    boost = manual_boost_set(document=chunk.document, by=staff, why="Withdrawn.", hide=True)
    hit = type("Hit", (), {"chunk_id": str(chunk.pk), "document_id": str(chunk.document_id)})()
    assert snapshot_load().boosts(wording(""), [hit], now=0.0).by_chunk[str(chunk.pk)].hide
    assert feedback_state().version > version
    manual_boost_end(boost=boost, by=staff)
    assert snapshot_load().is_empty


def test_the_commands_json_is_the_outcome() -> None:
    rate_chunk(QUESTION, passage("Ten books."), by=2)
    out = StringIO()
    call_command("reindex_feedback", "--dry-run", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["status"], told["dry_run"], told["ratings"], told["counts"]["query_boosts"]) == (
        "live",
        True,
        2,
        1,
    )
    assert live_revision() is None


@pytest.mark.parametrize(("score", "way"), [(5, "up"), (1, "down")])
def test_who_rated_sees_at_the_source_what_it_did(score: int, way: str) -> None:
    message = make_answer(QUESTION, [passage("Ten books.")])
    client, address = client_of(message.session.user), f"/api/messages/{message.pk}"
    rate(message, score, "wrong_source" if way == "down" else "accurate")
    assert client.get(address).json()["sources"][0]["moved"] is None
    feedback_round()
    assert client.get(address).json()["sources"][0]["moved"] == way
    Rating.objects.all().delete()
    assert client.get(address).json()["sources"][0]["moved"] is None
