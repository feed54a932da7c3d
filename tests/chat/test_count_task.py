"""Tasks "count" and "list" over all documents: a model reads the filter, the database counts."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from retrieval.knowledge.counting.columns import columns_of
from retrieval.knowledge.scopes import scope_for_all
from tests.chat.conftest import Api
from tests.factories import CollectionFactory, DocumentFactory
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
    assert (
        "**3** documents" in data["answer"]
        and "3 of 3: every document was looked at." in data["answer"]
    )
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
    assert "count_form" in data["offers"]


async def test_a_department_that_nobody_has_is_told_and_not_counted_as_none(
    api: Api, online: Any
) -> None:
    await write(api, "a.txt", LEAVE)
    online.reply(match=READS, json={**LEAVE_FILTER, "department": "Human Affairs"})
    data = (await api.ask("How many of Human Affairs mention leave?", task="count")).json()
    assert data["decision"] == "NO_ANSWER"
    assert "No document has this department: “Human Affairs”" in data["answer"]
    assert "There are: Registry." in data["answer"] and "**0**" not in data["answer"]
    assert "count" in [one["step"] for one in data["degraded"]]


async def test_without_documents_no_model_is_asked_and_that_is_said(api: Api, online: Any) -> None:
    data = (await api.ask("How many mention parental leave?", task="count")).json()
    assert data["decision"] == "NO_ANSWER"
    assert data["answer"] == "There are no documents to count."
    assert not any(READS in chat.prompt for chat in online.chats)


async def test_columns_that_can_not_be_read_are_no_question_without_columns(
    api: Api, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(api, "suppliers.csv", SUPPLIERS)

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr("retrieval.knowledge.counting.counter.columns_of", away)
    data = (await api.ask("Which suppliers end before April?", task="list")).json()
    assert data["decision"] == "NO_ANSWER" and "could not be counted" in data["answer"]
    assert [one["step"] for one in data["degraded"]] == ["count"]


async def test_a_column_that_is_gone_since_it_was_listed_is_no_count_of_none(
    api: Api, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await write(api, "suppliers.csv", SUPPLIERS)
    listed = await sync_to_async(columns_of)(await sync_to_async(scope_for_all)())
    monkeypatch.setattr("retrieval.knowledge.counting.counter.columns_of", lambda _scope: listed)
    await write(api, "a.txt", LEAVE)
    await sync_to_async(document.delete)()
    rule = {"column": "Score", "operator": ">", "value": "0", "upper": ""}
    online.reply(match=READS, json={"columns": [rule], "unit": "row"})
    data = (await api.ask("How many have a score?", task="count")).json()
    assert data["decision"] == "NO_ANSWER" and "has a column “Score”" in data["answer"]
    assert "**0**" not in data["answer"]


async def test_columns_of_documents_that_are_not_read_are_said_in_the_path(
    api: Api, online: Any
) -> None:
    document = await write(api, "suppliers.csv", SUPPLIERS)
    await sync_to_async(DocumentFactory)(collection=document.collection, status="failed")
    online.reply(match=READS, json={"words": "Acme"})
    data = (await api.ask("How many mention Acme?", task="count")).json()
    assert "1 document could not be read and is not counted." in data["answer"]
    [read] = [step for step in steps(data, "route") if step["status"] == "degraded"]
    assert read["detail"]["reason"].startswith("the columns of 1 of 2 documents are known")


async def test_of_many_columns_the_model_is_shown_those_that_fit_the_question(
    api: Api, online: Any
) -> None:
    names = [f"Column {number}" for number in range(70)] + ["Notice period"]
    await write(api, "wide.csv", f"{','.join(names)}\n{','.join('7' for _ in names)}\n")
    rule = {"column": "Notice period", "operator": "=", "value": "7", "upper": ""}
    online.reply(match=READS, json={"columns": [rule], "unit": "row"})
    data = (await api.ask("How many have a notice period of 7?", task="count")).json()
    assert "**1** row" in data["answer"] and "5 of 71 columns are shown" in data["answer"]
    [prompt] = [chat.prompt for chat in online.chats if READS in chat.prompt]
    assert prompt.count("- Column") == 59
    assert prompt.index("- Notice period") < prompt.index("- Column 0")
    [read] = [step for step in steps(data, "route") if "not_offered" in step["detail"]]
    assert read["detail"]["not_offered"] == {"columns": 11}


async def test_what_is_compared_as_it_stands_and_not_looked_for_is_said(
    api: Api, online: Any
) -> None:
    table = "| Supplier | Notice |\n|---|---|\n| Acme Ltd | 12 months |\n| Beta Ltd | 1 year |\n"
    await write(api, "a.md", table)
    rule = {"column": "Notice", "operator": "<", "value": "6", "upper": ""}
    online.reply(match=READS, json={"columns": [rule], "words": "the ltd", "unit": "row"})
    data = (await api.ask("Which suppliers?", task="count")).json()
    assert "| 1 | Beta Ltd | 1 year |" in data["answer"]
    assert "compared as they stand: “12 months”, “1 year”." in data["answer"]
    assert "Not looked for" in data["answer"]
    detail = steps(data, "count")[0]["detail"]
    assert (detail["other_units"], detail["words_left_out"]) == (["12 months", "1 year"], ["the"])


async def test_a_restriction_to_documents_stands_in_the_answer(api: Api, online: Any) -> None:
    document = await write(api, "a.txt", LEAVE)
    await write(api, "b.txt", LEAVE)
    online.reply(match=READS, json=LEAVE_FILTER)
    asked = {"task": "count", "documents": [str(document.pk)]}
    data = (await api.ask("How many mention parental leave?", **asked)).json()
    assert steps(data, "count")[0]["detail"]["filters"]["documents"] == [str(document.pk)]
    assert "**1** document ·" in data["answer"] and "in the 1 document chosen" in data["answer"]


async def test_the_words_stand_in_the_evidence_that_is_shown(api: Api, online: Any) -> None:
    filler = "It says nothing of the matter at hand. " * 12
    text = f"{filler}Policies are public. {filler}Indemnities are paid. {filler}"
    await write(api, "a.txt", text)
    online.reply(match=READS, json={"words": "policy indemnity"})
    data = (await api.ask("How many mention policies and indemnities?", task="count")).json()
    [row] = [line for line in data["answer"].splitlines() if line.startswith("| 1 ")]
    assert "Policies" in row and "Indemnities" in row


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


async def test_with_nothing_to_count_no_count_and_nobody_is_offered(api: Api, online: Any) -> None:
    empty = (await api.ask("How many policies are there?")).json()
    assert (empty["decision"], empty["offers"]) == ("NO_ANSWER", ["add_documents"])
    await write(api, "0.txt", LEAVE)
    there = (await api.ask("How many policies mention parental leave?")).json()
    assert "count" in there["offers"]
    online.reply(match=READS, json=LEAVE_FILTER)
    counted = (await api.ask("How many mention parental leave?", task="count")).json()
    assert (counted["decision"], counted["offers"]) == ("ANSWER", [])
