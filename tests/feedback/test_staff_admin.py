"""The staff's pages of the feedback loop in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from feedback.models import Evidence, GoldenQuestion, Revision
from feedback.rounds.round import feedback_round
from tests.factories import UserFactory
from tests.feedback.rated import liked, passage
from tests.feedback.staff import QUESTION

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_questions_to_measure")]


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


@pytest.mark.parametrize("model", [Revision, Evidence, GoldenQuestion])
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
