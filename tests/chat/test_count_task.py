"""Tasks "count" and "list" over all documents: a model reads the filter, the database counts."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from tests.chat.conftest import Api
from tests.factories import CollectionFactory
from tests.retrieval.knowledge.api.test_count import LEAVE, SUPPLIERS, written

READS = "what a question wants counted"
LEAVE_FILTER = {"words": "parental leave", "phrase": True, "year_from": 0}


@pytest.fixture(autouse=True)
def _files(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path


async def write(api: Api, name: str, text: str, **fields: Any) -> Any:
    def create() -> Any:
        own = CollectionFactory(owner=api.user, visibility="private", name=f"of {name}")
        return written(own, name, text, **fields)

    return await sync_to_async(create)()


def steps(data: Any, name: str) -> list[Any]:
    return [step for step in data["decision_path"] if step["name"] == name]


async def test_the_number_and_the_rows_are_the_databases_and_cite_their_places(
    api: Api, other_api: Api, online: Any
) -> None:
    for number in range(3):
        await write(api, f"{number}.txt", LEAVE)
    await write(api, "other.txt", "Nothing of it.")
    await write(other_api, "secret.txt", LEAVE)
    online.reply(match=READS, json=LEAVE_FILTER)
    data = (await api.ask("How many policies mention parental leave?", task="count")).json()
    assert data["decision"] == "ANSWER"
    assert "**3** documents" in data["answer"] and "3 of 3, complete." in data["answer"]
    assert "| 1 | 0.txt |" in data["answer"] and "[3]" in data["answer"]
    assert [(one["title"], one["cited"]) for one in data["sources"]] == [
        ("0.txt", True),
        ("1.txt", True),
        ("2.txt", True),
    ]
    detail = steps(data, "count")[0]["detail"]
    assert (detail["total"], detail["complete"], detail["looked_at"]) == (3, True, 4)
    assert "secret.txt" not in str(data)


async def test_rows_are_listed_with_the_columns_that_were_compared(api: Api, online: Any) -> None:
    await write(api, "suppliers.csv", SUPPLIERS)
    rule = {"column": "Ends", "operator": "<", "value": "2026-04", "upper": ""}
    online.reply(match=READS, json={"columns": [rule], "unit": "row"})
    data = (await api.ask("Which suppliers end before April 2026?", task="list")).json()
    assert "| # | Supplier | Ends | Score | Document |" in data["answer"]
    assert "| 1 | Acme | 2026-01-31 | 90 | suppliers.csv [1] |" in data["answer"]
    assert "1 row could not be compared" in data["answer"]
    assert steps(data, "count")[0]["detail"]["unread_cells"] == 1


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"columns": [{"column": "Colour", "operator": "=", "value": "red", "upper": ""}]},
        {"columns": [{"column": "Ends", "operator": "<", "value": "soon", "upper": ""}]},
    ],
)
async def test_what_a_model_can_not_say_exactly_is_not_counted(
    api: Api, online: Any, reply: dict[str, Any]
) -> None:
    await write(api, "suppliers.csv", SUPPLIERS)
    online.reply(match=READS, json=reply)
    data = (await api.ask("How many?", task="count")).json()
    assert data["decision"] == "NO_ANSWER" and "Count and list" in data["answer"]
    assert steps(data, "count") == []


async def test_without_a_model_it_names_the_form_that_needs_none(api: Api, offline: None) -> None:
    await write(api, "a.txt", LEAVE)
    data = (await api.ask("How many mention parental leave?", task="count")).json()
    assert data["decision"] == "NO_ANSWER" and "Count and list" in data["answer"]
    assert [one["step"] for one in data["degraded"]] == ["route"]


async def test_a_database_that_can_not_be_asked_is_no_zero(
    api: Api, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(api, "a.txt", LEAVE)
    online.reply(match=READS, json=LEAVE_FILTER)

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr("retrieval.knowledge.counting.counter.count", away)
    data = (await api.ask("How many mention parental leave?", task="count")).json()
    assert data["decision"] == "NO_ANSWER" and "could not be counted" in data["answer"]
    assert "count" in [one["step"] for one in data["degraded"]]
