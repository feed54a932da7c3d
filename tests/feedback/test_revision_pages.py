"""What ratings do, at the desk: rounds, revisions, and what people decide."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from feedback.rounds.live import live_revision
from tests.factories import UserFactory
from tests.feedback import staff
from tests.feedback.staff import QUESTION, held_revision

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_questions_to_measure")]
LIST = "/review/ratings/"


@pytest.fixture
def curator() -> User:
    user: User = UserFactory(is_staff=True)
    user.groups.add(Group.objects.get(name="Curators"))
    return user


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def desk(client: Client, curator: User) -> Client:
    client.force_login(curator)
    return client


def page(desk: Client, address: str) -> str:
    response = desk.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_who_may_not_curate_decides_nothing(client: Client) -> None:
    staff.live_revision()
    client.force_login(UserFactory())
    assert client.get(LIST).status_code == 404
    reviewer = UserFactory(is_staff=True)
    reviewer.groups.add(Group.objects.get(name="Reviewers"))
    client.force_login(reviewer)
    assert client.post(f"{LIST}1/decide/", {"decision": "roll_back"}).status_code == 403
    assert live_revision() is not None


def test_a_revision_shows_what_it_changes_and_what_was_measured(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
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
    staff.live_revision()
    desk.post(f"{LIST}1/decide/", {"decision": "roll_back"})
    response = desk.post(f"{LIST}1/decide/", {"decision": "roll_back"}, follow=True)
    assert "Revision 1 is not live." in response.content.decode()


def test_a_question_is_shown_as_text(desk: Client) -> None:
    staff.live_revision(question=f"<script>alert(1)</script> {QUESTION}")
    assert "<script>alert" not in page(desk, f"{LIST}1/")
