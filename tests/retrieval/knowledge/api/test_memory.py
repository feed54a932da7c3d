from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.models import Memory
from tests.clients import client_of
from tests.factories import MemoryFactory

pytestmark = pytest.mark.django_db


def texts(client: APIClient, **query: Any) -> list[str]:
    response = client.get("/api/memory", query)
    assert response.status_code == 200
    return [row["text"] for row in response.json()["results"]]


def test_the_list_holds_the_users_own_facts_latest_first(client: APIClient, user: User) -> None:
    older, newer = MemoryFactory(user=user), MemoryFactory(user=user)
    MemoryFactory()
    assert texts(client) == [newer.text, older.text]


def test_a_fact_is_told_with_its_question_and_use_and_nothing_internal(
    client: APIClient, user: User
) -> None:
    memory = MemoryFactory(user=user, use_count=2)
    [row] = client.get("/api/memory").json()["results"]
    assert (row["id"], row["question"], row["use_count"]) == (str(memory.pk), memory.question, 2)
    assert set(row) == {
        "id",
        "question",
        "text",
        "use_count",
        "last_used_at",
        "created_at",
        "updated_at",
    }


@pytest.mark.parametrize(
    ("search", "found"),
    [("lakeside", 1), ("EUR deposit", 1), ("ships", 0), ("100%", 0), ("書 12", 1), ("", 3)],
)
def test_it_is_searched_by_words_of_fact_and_question(
    client: APIClient, user: User, search: str, found: int
) -> None:
    MemoryFactory(user=user, question="What is the deposit?", text="EUR 300 in Lakeside hall.")
    MemoryFactory(user=user, question="How many books?", text="Twelve.")
    MemoryFactory(user=user, question="多少本书？", text="12")
    assert len(texts(client, search=search)) == found


def test_one_fact_is_deleted(client: APIClient, user: User) -> None:
    memory, kept = MemoryFactory(user=user), MemoryFactory(user=user)
    assert client.delete(f"/api/memory/{memory.pk}").status_code == 204
    assert list(Memory.objects.all()) == [kept]
    assert client.delete(f"/api/memory/{memory.pk}").status_code == 404


def test_all_are_deleted_and_other_peoples_stay(client: APIClient, user: User) -> None:
    MemoryFactory.create_batch(3, user=user)
    theirs = MemoryFactory()
    assert client.delete("/api/memory").status_code == 204
    assert list(Memory.objects.all()) == [theirs]


@pytest.mark.parametrize("who", ["stranger", "staff"])
def test_another_users_fact_is_not_there_not_even_for_staff(
    request: pytest.FixtureRequest, user: User, who: str
) -> None:
    memory = MemoryFactory(user=user)
    asking = request.getfixturevalue(who)
    theirs = asking.delete(f"/api/memory/{memory.pk}")
    none = asking.delete(f"/api/memory/{uuid.uuid4()}")
    assert theirs.status_code == none.status_code == 404
    assert theirs.json() == none.json()
    assert Memory.objects.filter(pk=memory.pk).exists()


def test_the_switch_is_on_until_the_user_says_otherwise(
    client: APIClient, stranger: APIClient, user: User
) -> None:
    MemoryFactory(user=user)
    assert client.get("/api/memory/settings").json() == {"enabled": True, "count": 1, "limit": 200}
    assert (
        client.patch("/api/memory/settings", {"enabled": False}, format="json").json()["enabled"]
        is False
    )
    assert client.get("/api/memory/settings").json()["enabled"] is False
    assert stranger.get("/api/memory/settings").json()["enabled"] is True


@pytest.mark.parametrize("body", [{"enabled": "perhaps"}, {"enabled": None}, [], "off"])
def test_a_switch_that_is_neither_on_nor_off_is_refused(client: APIClient, body: Any) -> None:
    response = client.patch("/api/memory/settings", body, format="json")
    assert response.status_code == 400
    assert response.json()["error"]["code"]


def test_the_page_finds_deletes_and_switches_off(user: User) -> None:
    memory, _other = (
        MemoryFactory(user=user, text="Ten books."),
        MemoryFactory(text="Of somebody else."),
    )
    page = client_of(user)
    assert "Ten books." in page.get("/memory/", {"search": "books"}).text
    assert "Nothing found" in page.get("/memory/", {"search": "zeppelin"}).text
    page.post("/memory/", {"action": "switch", "enabled": "0"})
    assert "nothing new is remembered" in page.get("/memory/").text
    page.post("/memory/", {"action": "forget", "memory": str(memory.pk)})
    assert "No memories yet" in page.get("/memory/").text and Memory.objects.count() == 1
