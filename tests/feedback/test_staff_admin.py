"""The staff's pages of the feedback loop in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from feedback.models import Evidence, GoldenQuestion, ManualBoost, Rating, Revision, RevisionEvent
from feedback.rounds.round import feedback_round
from tests.factories import UserFactory
from tests.feedback.rated import liked, passage
from tests.feedback.staff import QUESTION, held_revision, live_revision

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
MODELS: list[type[Model]] = [Revision, RevisionEvent, Evidence, ManualBoost, GoldenQuestion, Rating]


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def admin_user() -> User:
    user: User = UserFactory(username="keeper", is_superuser=True)
    return user


@pytest.fixture
def staff(admin_user: User) -> Client:
    client = Client()
    client.force_login(admin_user)
    return client


def url(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def row_url(row: Model, page: str = "change") -> str:
    return url(f"{row._meta.app_label}_{row._meta.model_name}_{page}", row.pk)


def html_of(client: Client, address: str, **query: Any) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


def test_lists_and_rows_open_and_show_hostile_text_as_text(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = passage("Ten books.", title=HOSTILE)
    liked(HOSTILE, chunk, by=2)
    feedback_round()
    held_revision(monkeypatch, HOSTILE + "?")
    document = chunk.document
    ManualBoost.objects.create(document=document, why=HOSTILE, multiplier=1.5)
    golden = GoldenQuestion.objects.create(text=HOSTILE, collection=document.collection)
    golden.relevant.create(document=document)
    addresses = [url(f"feedback_{model._meta.model_name}_changelist") for model in MODELS]
    addresses += [row_url(row) for model in MODELS for row in model._default_manager.all()[:2]]
    for address in addresses:
        html = html_of(staff, address)
        assert "<script>alert" not in html
        assert "<img src=x" not in html


@pytest.mark.parametrize("model", [Revision, RevisionEvent, Evidence, GoldenQuestion])
def test_history_is_neither_added_to_nor_edited_nor_deleted(staff: Client, model: type[Model]) -> None:
    chunk = passage("Four.")
    liked(QUESTION, chunk, by=2)
    feedback_round()
    GoldenQuestion.objects.create(text=QUESTION, collection=chunk.document.collection)
    row = model._default_manager.first()
    assert row is not None
    assert staff.get(url(f"feedback_{model._meta.model_name}_add")).status_code == 403
    assert staff.post(row_url(row), {"why": "forged"}).status_code == 403
    assert staff.post(row_url(row, "delete"), {"post": "yes"}).status_code == 403


def test_a_rated_conversation_and_a_rated_document_can_still_be_deleted(staff: Client) -> None:
    _, chunk = live_revision()
    session = Rating.objects.all()[0].message.session
    assert staff.post(row_url(session, "delete"), {"post": "yes"}).status_code == 302
    assert Evidence.objects.count() == 1
    assert staff.post(row_url(chunk.document, "delete"), {"post": "yes"}).status_code == 302
    assert not Evidence.objects.exists()
