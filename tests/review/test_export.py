"""Answers as a file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from chat.models import DeskEvent, Message
from chat.review import export
from chat.review.export import anonymised
from chat.review.records import answers_record
from tests.clients import person
from tests.factories import SessionFactory, SourceFactory, UserFactory, answered

pytestmark = pytest.mark.django_db(transaction=True)


def ask(question: str, **fields: Any) -> Message:
    answer = answered(question, **fields)
    answers_record([answer.pk])
    return answer


@pytest.fixture
def administrator(db: None) -> User:
    return person("Administrators")


async def exported(by: User, **query: str) -> tuple[int, list[str]]:
    """The status, and the pieces in which it comes."""
    client = AsyncClient()
    await client.aforce_login(by)
    response = await client.get("/api/review/export", query)
    if not response.streaming:
        return response.status_code, [response.content.decode()]
    return response.status_code, [part.decode() async for part in response.streaming_content]


@pytest.fixture
def answers(administrator: User) -> list[Message]:
    return [
        ask(f"Question {number}?", workflow="react" if number == 1 else "corrective")
        for number in range(5)
    ]


async def test_it_comes_in_batches_with_every_answer_once(
    administrator: User, answers: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "BATCH", 2)
    _, parts = await exported(administrator, format="jsonl")
    rows = [json.loads(line) for part in parts for line in part.splitlines()]
    assert [len(part.splitlines()) for part in parts] == [2, 2, 1]
    assert [row["question"] for row in rows] == [
        f"Question {number}?" for number in reversed(range(5))
    ]
    assert rows[0]["user"] == answers[4].session.user.username


async def test_it_has_the_queues_filters_and_order(
    administrator: User, answers: list[Message]
) -> None:
    _, (line,) = await exported(administrator, format="jsonl", workflow="react")
    assert json.loads(line)["message_id"] == str(answers[1].pk)
    _, parts = await exported(administrator, format="jsonl", sort="oldest")
    assert json.loads(parts[0].splitlines()[0])["question"] == "Question 0?"
    event = await DeskEvent.objects.filter(kind="export").afirst()
    assert event is not None
    assert event.detail["with_names"] is True


@pytest.fixture
def formulas(administrator: User) -> None:
    for text in (
        '=HYPERLINK("http://x.example","y")',
        "+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        " =1",
        "＝1",
        'Plain, "it"\nis.',
    ):
        SourceFactory(message=ask(text, text=text), marker=1, title=text)


async def test_no_cell_of_a_csv_is_a_formula(administrator: User, formulas: None) -> None:
    _, parts = await exported(administrator, format="csv")
    rows = list(csv.reader(io.StringIO("".join(parts).lstrip("\ufeff"))))
    assert len(rows) == 9
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.strip()[:1] in {"=", "+", "-", "@", "＝"}]
    assert any(cell == 'Plain, "it"\nis.' for cell in cells)


@pytest.fixture
def reviewer(db: None) -> User:
    return person("Reviewers")


async def test_a_role_that_is_taken_away_ends_the_export(
    reviewer: User, answers: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "BATCH", 2)
    client = AsyncClient()
    await client.aforce_login(reviewer)
    response = await client.get("/api/review/export", {"format": "jsonl"})
    parts = response.streaming_content.__aiter__()
    assert await anext(parts)
    await reviewer.groups.aclear()
    with pytest.raises(Exception, match="review desk"):
        await anext(parts)


def test_names_and_addresses_are_masked() -> None:
    text = "I am Zebedee (ZEBEDEE), write to z.q+1@mail.example.org, not to zebedees or @zq."
    assert anonymised(text, ["Zebedee"]) == "I am … (…), write to …, not to …s or @zq."


@pytest.fixture
def own_name(administrator: User) -> Message:
    user = UserFactory(username="quartermaine", first_name="Zebedee", last_name="Li")
    answer = ask(
        "I, Zebedee Li, ask.", session=SessionFactory(user=user), text="Yes, quartermaine [1]."
    )
    SourceFactory(message=answer, title="CV of Quartermaine", cited=True)
    return answer


async def test_without_names_an_askers_own_name_is_masked(
    administrator: User, own_name: Message
) -> None:
    _, (line,) = await exported(administrator, format="jsonl", names="0")
    row = json.loads(line)
    assert (row["question"], row["answer"], row["user"]) == ("I, …, ask.", "Yes, … [1].", None)
    assert row["sources"] == ["CV of …"]
