"""Searching one's conversations shows the words that were found."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.clients import client_of
from tests.factories import MessageFactory, SessionFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "search", "shown"),
    [
        ("How long may I keep a book?", "keep a", "How long may I keep a book?"),
        (
            "x" * 50 + " overdue books cost " + "y" * 50,
            "Overdue",
            "…" + "x" * 29 + " overdue books cost " + "y" * 18 + "…",
        ),
        ("圖書館幾點開門？", "图书馆", "圖書館幾點開門？"),
    ],
)
def test_with_a_little_around_them(text: str, search: str, shown: str) -> None:
    user: User = UserFactory()
    MessageFactory(session=SessionFactory(user=user, title="Books"), question=True, text=text)
    client = client_of(user)
    assert [
        row["found"] for row in client.get("/api/sessions", {"search": search}).json()["results"]
    ] == [shown]
    assert client.get("/api/sessions").json()["results"][0]["found"] == ""
