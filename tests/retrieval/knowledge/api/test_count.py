"""POST /api/count and GET /api/count/columns: exact, over all that the caller may read."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from retrieval.engine.text.analysis import terms_text
from retrieval.engine.values.counting import CountFilter
from retrieval.knowledge.counting.count import count
from retrieval.knowledge.index_sync.rows import embedding_text
from retrieval.knowledge.scopes import scope_for_all
from retrieval.knowledge.term_search import stored_terms
from retrieval.models import Chunk, Collection, Document
from tests.factories import CollectionFactory, DocumentFactory
from tests.retrieval.read_documents import read_document_row

LEAVE = "Employees may take parental leave of six months."
CONTRACT = "# {title}\n\n- **Supplier:** {title}\n- **End date:** {ends}\n- **Value:** {value}\n"
SUPPLIERS = "Supplier,Ends,Score\nAcme,2026-01-31,90\nBeta,15 March 2026,20\nGamma,open,55\n"


@pytest.fixture
def collection(user: User) -> Collection:
    return CollectionFactory(owner=user, visibility="private", name="mine")


def written(collection: Collection, name: str, text: str | bytes, **fields: Any) -> Document:
    """A document as the ingest leaves it, but for its vectors."""
    fields = {"title": name, "tags": [], "status": Document.Status.READY} | fields
    data = text if isinstance(text, bytes) else text.encode()
    document = read_document_row(data, name, collection=collection, **fields)
    chunks = list(document.chunks.all())
    for chunk in chunks:
        chunk.terms = stored_terms(terms_text(embedding_text(document, chunk)))
    Chunk.objects.bulk_update(chunks, ["terms"])
    return document


def counted(client: APIClient, **body: Any) -> dict[str, Any]:
    response = client.post("/api/count", body, format="json")
    assert response.status_code == 200, response.json()
    found: dict[str, Any] = response.json()
    return found


def titles(found: dict[str, Any]) -> list[str]:
    return [row["title"] for row in found["rows"]]


def rule(column: str, operator: str, value: str, **more: str) -> list[dict[str, str]]:
    return [{"column": column, "operator": operator, "value": value, **more}]


# ------------------------------------------------------------------------------------------------ words
def test_documents_that_hold_a_phrase_are_counted_with_the_place_where_it_stands(
    client: APIClient, collection: Collection
) -> None:
    document = written(collection, "a.txt", LEAVE)
    written(collection, "b.txt", "On PARENTAL\nLEAVE nothing is said.")
    written(collection, "c.txt", "Parental consent is needed. Leave of absence is another matter.")
    found = counted(client, words="parental leave", match="phrase")
    assert (found["total"], found["complete"], titles(found)) == (2, True, ["a.txt", "b.txt"])
    assert found["said"] == ["2 of 2: every document was looked at."]
    evidence = found["rows"][0]["evidence"][0]
    assert evidence["text"] == LEAVE
    assert evidence["chunk_id"] == str(document.chunks.get().pk)


def test_all_words_may_stand_in_other_forms_and_in_several_passages(
    client: APIClient, collection: Collection
) -> None:
    filler = "\n\n".join(f"Paragraph {number} says nothing of it at all." for number in range(60))
    written(collection, "a.txt", f"Policies are public.\n\n{filler}\n\nIndemnities are paid.")
    written(collection, "b.txt", "A policy is public.")
    found = counted(client, words="policy indemnity")
    assert titles(found) == ["a.txt"]
    shown = [one["text"] for one in found["rows"][0]["evidence"]]
    assert "Policies" in shown[0] and "Indemnities" in shown[1]


def test_chinese_is_found_in_either_script(client: APIClient, collection: Collection) -> None:
    written(collection, "a.txt", "員工可申請育嬰假六個月。")
    written(collection, "b.txt", "员工请假须经批准，婴儿室在一楼。")
    assert titles(counted(client, words="育婴假")) == ["a.txt"]


def test_a_document_whose_terms_are_not_stored_yet_is_read_itself(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.txt", LEAVE).chunks.update(terms="")
    assert counted(client, words="parental")["total"] == 1


# ------------------------------------------------------------------------------------------------ metadata
def test_metadata_and_years_let_documents_through(
    client: APIClient, collection: Collection
) -> None:
    for year in (2023, 2024, 2025):
        written(collection, f"{year}.txt", LEAVE, policy_year=year, tags=["hr", str(year)])
    written(collection, "other.txt", LEAVE, department="Library", policy_year=2025)
    assert titles(counted(client, year_from=2024, filters={"department": "Registry"})) == [
        "2024.txt",
        "2025.txt",
    ]
    assert titles(counted(client, words="parental", filters={"tags": ["2023"]})) == ["2023.txt"]
    today = timezone.now().date()
    assert counted(client, added_from=str(today), added_to=str(today))["total"] == 4
    assert counted(client, added_to="2020-01-01")["total"] == 0
    assert counted(client, added_from="0001-01-01", added_to="9999-12-31")["total"] == 4


# ------------------------------------------------------------------------------------------------ columns
def test_rows_are_compared_by_date_and_number_and_each_is_shown(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    found = counted(client, columns=rule("Ends", "<", "2026-03"))
    assert (found["unit"], found["total"]) == ("row", 1)
    assert found["rows"][0]["cells"] == [
        {"column": "Supplier", "value": "Acme"},
        {"column": "Ends", "value": "2026-01-31"},
        {"column": "Score", "value": "90"},
    ]
    assert "Acme" in found["rows"][0]["evidence"][0]["text"]
    assert counted(client, columns=rule("score", "between", "20", upper="55"))["total"] == 2
    assert counted(client, columns=rule("Supplier", "contains", "amm"))["total"] == 1


def test_a_row_that_can_not_be_compared_is_told_of(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    found = counted(client, columns=rule("Ends", ">", "2026-03-01"))
    assert (found["total"], found["complete"], found["unread_cells"]) == (1, False, 1)
    assert found["unread"][0]["value"] == "open"
    assert found["said"][1].startswith("1 row could not be compared")


def test_fields_of_forms_count_documents_where_all_rules_hold(
    client: APIClient, collection: Collection
) -> None:
    for title, ends, value in [
        ("Acme", "28 February 2026", "EUR 120,000"),
        ("Beta", "2026-01-31", "EUR 9,000"),
        ("Gamma", "2027-01-31", "EUR 300,000"),
    ]:
        text = CONTRACT.format(title=title, ends=ends, value=value)
        written(collection, f"{title}.md", text, language="en")
    rules = [*rule("End date", "<", "2026-03-01"), *rule("Value", ">", "100000")]
    found = counted(client, unit="document", columns=rules)
    assert titles(found) == ["Acme.md"]
    assert any("28 February 2026" in one["text"] for one in found["rows"][0]["evidence"])


def test_columns_that_documents_have_are_offered_with_their_kind(
    client: APIClient, stranger: APIClient, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    columns = client.get("/api/count/columns").json()["columns"]
    assert {one["name"]: (one["kind"], one["rows"]) for one in columns} == {
        "Supplier": ("text", 3),
        "Ends": ("date", 3),
        "Score": ("number", 3),
    }
    assert stranger.get("/api/count/columns").json()["columns"] == []


# ------------------------------------------------------------------------------------------------ what is not counted
def test_nothing_that_the_caller_may_not_read_is_counted(
    client: APIClient, stranger: APIClient, collection: Collection
) -> None:
    written(collection, "a.txt", LEAVE)
    assert counted(client, words="parental")["total"] == 1
    assert counted(stranger, words="parental")["total"] == 0
    named = stranger.post("/api/count", {"collections": [str(collection.pk)]}, format="json")
    assert named.status_code == 404
    assert APIClient().post("/api/count", {}, format="json").status_code == 401


def test_what_is_not_read_is_said_and_what_is_replaced_is_left_out(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.txt", LEAVE)
    written(collection, "old.txt", LEAVE, superseded_at=timezone.now())
    DocumentFactory(collection=collection, status=Document.Status.PARSING)
    DocumentFactory(collection=collection, status=Document.Status.FAILED)
    found = counted(client, words="parental")
    assert titles(found) == ["a.txt"]
    assert found["said"] == [
        "1 of 1: every document was looked at.",
        "1 document is still being read and is not counted.",
        "1 document could not be read and is not counted.",
    ]


def test_rows_end_at_the_limit_and_the_total_is_of_all(
    client: APIClient, collection: Collection
) -> None:
    lines = "\n".join(f"Supplier {number},{number}" for number in range(1312))
    written(collection, "many.csv", f"Supplier,Score\n{lines}\n")
    found = counted(client, columns=rule("Score", ">=", "0"))
    assert (len(found["rows"]), found["total"]) == (200, 1312)
    assert found["said"][0] == "The first 200 of 1,312."
    assert len(counted(client, columns=rule("Score", ">=", "0"), limit=1)["rows"]) == 1


def test_a_count_whose_time_is_over_does_not_look_complete(collection: Collection) -> None:
    written(collection, "a.txt", LEAVE)
    result = count(scope_for_all(), CountFilter(words="parental"), timeout_s=0)
    assert (result.complete, result.looked_at, result.to_look_at) == (False, 0, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"unit": "row"},
        {"unit": "chapter"},
        {"words": "the of"},
        {"words": "a" * 201},
        {"words": " ".join(f"word{number}" for number in range(13))},
        {"columns": rule("Ends", "<", "soon")},
        {"columns": rule("Ends", "between", "1")},
        {"columns": rule("Ends", "like", "1")},
        {"columns": rule("", "<", "1")},
        {"columns": rule("Ends", "<", "1") * 6},
        {"year_from": "2024"},
        {"added_from": "01/02/2026"},
        {"limit": 201},
        {"filters": {"colour": "red"}},
        {"phrase": "x"},
    ],
)
def test_what_can_not_be_counted_is_refused(client: APIClient, body: dict[str, Any]) -> None:
    response = client.post("/api/count", body, format="json")
    assert response.status_code == 400
    assert response.json()["error"]["message"]
