"""What ratings do, at the desk: rounds, revisions, and what people decide."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.models import GoldenQuestion, Revision
from feedback.ranking.guard import GuardReport
from feedback.rounds import round as rounds
from feedback.rounds.live import live_revision
from feedback.rounds.round import feedback_round
from tests.clients import client_of, person
from tests.factories import DocumentFactory, UserFactory
from tests.feedback.rated import passage, rate_chunk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_questions_to_measure")]
LIST = "/review/ratings/"
QUESTION = "How many books may I borrow?"


@pytest.fixture
def curator() -> User:
    return person("Curators")


@pytest.fixture
def desk(curator: User) -> Client:
    return client_of(curator)


def made_live(question: str = QUESTION) -> None:
    """Two people liked a passage, and a round made a revision live."""
    rate_chunk(question, passage("Ten books."), by=2)
    feedback_round()


def held_revision(monkeypatch: pytest.MonkeyPatch) -> Revision:
    """The guard found that a golden question gets worse."""
    report = GuardReport(
        golden=4,
        recent=2,
        ndcg_before=0.81,
        ndcg_after=0.64,
        drop=0.17,
        worse=[{"question": "When does the library open?", "before": 1.0, "after": 0.43}],
        reason="nDCG@10 on the golden questions drops by 0.1700, more than 0.005",
    )
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "guard_measure", lambda *_, **__: report)
        rate_chunk("How long may I keep a book?", passage("Four weeks."), by=2)
        return Revision.objects.get(pk=feedback_round().revision)


def page(desk: Client, address: str) -> str:
    response = desk.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_who_may_not_curate_decides_nothing() -> None:
    made_live()
    assert client_of(UserFactory()).get(LIST).status_code == 404
    assert (
        client_of(person("Reviewers"))
        .post(f"{LIST}1/decide/", {"decision": "roll_back"})
        .status_code
        == 403
    )
    assert live_revision() is not None


def test_a_revision_shows_what_it_changes_and_what_was_measured(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_revision(monkeypatch)
    html = page(desk, f"{LIST}1/")
    assert "How long may I keep a book?" in html
    assert "When does the library open?" in html
    assert "0.81 → 0.64" in html
    assert "× 1.00 → × 2.00" in html


def test_a_held_revision_is_made_live_in_spite_of_the_guard(
    desk: Client, curator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = held_revision(monkeypatch)
    desk.post(f"{LIST}1/decide/", {"decision": "release", "why": "The golden set is old."})
    assert live_revision() == revision
    revision.refresh_from_db()
    assert (revision.live_by, revision.reason) == (curator, "The golden set is old.")


def test_a_decision_that_comes_too_late_is_told(desk: Client) -> None:
    made_live()
    desk.post(f"{LIST}1/decide/", {"decision": "roll_back"})
    response = desk.post(f"{LIST}1/decide/", {"decision": "roll_back"}, follow=True)
    assert "Ranking change 1 is not live." in response.content.decode()


def test_a_question_is_shown_as_text(desk: Client) -> None:
    made_live(question=f"<script>alert(1)</script> {QUESTION}")
    assert "<script>alert" not in page(desk, f"{LIST}1/")


def test_what_was_undone_is_no_longer_called_live(desk: Client) -> None:
    made_live()
    assert "To undo it brings the ranking before it back" in page(desk, f"{LIST}1/")
    desk.post(f"{LIST}1/decide/", {"decision": "roll_back"})
    html = page(desk, LIST)
    assert "Last time: ranking change 1. Since then: Rolled back." in html
    assert "the ranking change is live" not in html
    assert "The ranking before it is back for everybody. The ratings stay." in page(
        desk, f"{LIST}1/"
    )


def test_test_questions_of_every_kind_are_counted(desk: Client) -> None:
    document = DocumentFactory()
    GoldenQuestion.objects.create(
        text="Which one?", collection=document.collection, expects="CLARIFY"
    )
    golden = GoldenQuestion.objects.create(text="When?", collection=document.collection)
    golden.documents.add(document, DocumentFactory(collection=document.collection))
    html = page(desk, LIST)
    assert "name documents: 1;" in html and "is right: 1;" in html
