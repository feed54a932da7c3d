"""Tokens on the dashboard: by model and by person, with prices where the model server is somebody else's."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.models import DeskEvent, UsageDay
from tests.clients import client_of, person
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
DAY = date(2026, 3, 10)
SPAN = {"from": "2026-03-01", "to": "2026-03-31"}
PATH = "/api/review/tokens"


def used(user: User | None, *, model: str = "gpt-4o", day: date = DAY, **tokens: int) -> None:
    figures = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, **tokens}
    UsageDay.objects.create(user=user, day=day, model=model, **figures)


@pytest.fixture
def elsewhere(rag_settings: Any) -> None:
    """A model server whose prices are known."""
    rag_settings(ollama={"server": "openai", "url": "https://api.openai.com/v1"})


def test_each_model_and_person_has_its_tokens_and_what_they_cost(elsewhere: None) -> None:
    ann = UserFactory(username="ann")
    used(ann)
    used(ann, model="our-own", prompt_tokens=5, completion_tokens=5)
    used(None, prompt_tokens=10, completion_tokens=0)
    used(ann, day=date(2026, 4, 1))
    client = client_of(person("Administrators"))
    by_model = client.get(PATH, SPAN).json()
    assert by_model["has_prices"] is True
    first, second = by_model["rows"]
    assert (first["key"], first["prompt_tokens"], first["completion_tokens"]) == (
        "gpt-4o",
        1_000_010,
        100_000,
    )
    assert first["usd"] == pytest.approx(3.5, abs=0.001) and first["without_price"] == []
    assert second["usd"] is None and second["without_price"] == ["our-own"]
    by_person = client.get(PATH, {**SPAN, "by": "person"}).json()["rows"]
    assert [(row["key"], row["without_price"]) for row in by_person] == [
        ("ann", ["our-own"]),
        ("", []),
    ]


def test_a_day_of_many_prompts_is_not_priced_as_one_large_prompt(elsewhere: None) -> None:
    """gpt-5.4 costs $2.50 and $15 per million tokens, and more in prompts of over 272,000 tokens."""
    used(UserFactory(), model="gpt-5.4")
    used(UserFactory(), model="gpt-5.4", prompt_tokens=200_000, completion_tokens=0)
    client = client_of(person("Administrators"))
    by_model = client.get(PATH, SPAN).json()["rows"]
    assert (by_model[0]["usd"], by_model[0]["usd_at_least"]) == (pytest.approx(4.5), True)
    by_person = client.get(PATH, {**SPAN, "by": "person"}).json()["rows"]
    assert [row["usd_at_least"] for row in by_person] == [True, False]
    assert "≥ $4.50" in client.get("/review/dashboard/", SPAN).content.decode()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://vllm:8000/v1", "http://10.0.0.5/v1"]
)
def test_a_server_in_the_house_has_no_price(rag_settings: Any, url: str) -> None:
    rag_settings(ollama={"server": "openai", "url": url})
    used(None)
    told = client_of(person("Administrators")).get(PATH, SPAN).json()
    assert told["has_prices"] is False and told["rows"][0]["usd"] is None


def test_people_are_for_those_who_see_names_and_files_are_logged() -> None:
    used(UserFactory(username="=ann"))
    reviewer = client_of(person("Reviewers"))
    assert reviewer.get(PATH, {**SPAN, "by": "person"}).status_code == 403
    assert "By person" not in reviewer.get("/review/dashboard/", SPAN).content.decode()
    file = client_of(person("Administrators")).get(PATH, {**SPAN, "by": "person", "format": "csv"})
    lines = file.content.decode("utf-8-sig").splitlines()
    assert lines == [
        "person,prompt_tokens,completion_tokens,usd,usd_at_least",
        "'=ann,1000000,100000,,",
    ]
    assert DeskEvent.objects.get().detail["with_names"] is True
    assert client_of(UserFactory()).get(PATH, SPAN).status_code == 404


def test_the_dashboard_shows_both_tables(elsewhere: None) -> None:
    used(UserFactory(username="ann"))
    page = client_of(person("Administrators")).get("/review/dashboard/", SPAN).content.decode()
    assert "By person" in page and "≈ $3.50" in page
    empty = client_of(person("Reviewers")).get(
        "/review/dashboard/", {"from": "2020-01-01", "to": "2020-01-02"}
    )
    assert "No tokens were used in this time." in empty.content.decode()
