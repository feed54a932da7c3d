"""What a count says beside its number: what was read in two ways, compared as it stands, left out or not known."""

from __future__ import annotations

import io
from typing import Any

import openpyxl
import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.knowledge.counting import columns
from retrieval.knowledge.scopes import scope_for_all
from retrieval.models import Collection, Document
from tests.factories import CollectionFactory, DocumentFactory
from tests.retrieval.knowledge.api.test_count import LEAVE, SUPPLIERS, counted, rule, written

GERMAN = "# Lieferanten\n\nDie folgenden Lieferanten haben in diesem Jahr Verträge mit unserer Abteilung.\n\n"
ENGLISH = (
    "# Suppliers\n\nThe following suppliers have had contracts with our department this year.\n\n"
)


@pytest.fixture
def collection(user: User) -> Collection:
    return CollectionFactory(owner=user, visibility="private", name="mine")


def table(head: str, *rows: str) -> str:
    names = head.split("|")
    lines = [head, "|".join(["---"] * len(names)), *rows]
    return "".join(f"| {line.replace('|', ' | ')} |\n" for line in lines)


def suppliers(found: dict[str, Any]) -> list[str]:
    return [row["cells"][0]["value"] for row in found["rows"]]


# ------------------------------------------------------------------------------------------------ numbers
def test_a_number_is_read_by_the_convention_of_its_documents_language(
    client: APIClient, collection: Collection
) -> None:
    rows = table("Supplier|Value", "A|1.234", "B|1.234,50", "C|12")
    written(collection, "de.md", GERMAN + rows)
    rows = table("Supplier|Value", "D|1.234", "E|1,234.50", "F|1,234")
    written(collection, "en.md", ENGLISH + rows)
    found = counted(client, columns=rule("Value", ">", "1000"))
    assert (suppliers(found), found["complete"]) == (["A", "B", "E", "F"], True)


def test_numbers_of_a_workbook_are_read_as_its_reader_writes_them(
    client: APIClient, collection: Collection
) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Die folgenden Lieferanten haben Verträge mit unserer Abteilung."])
    book.active.append([])
    book.active.append(["Lieferant", "Betrag"])
    for name, value in [("A", 1234), ("B", 900), ("C", "1.234")]:
        book.active.append([name, value])
        book.active.cell(book.active.max_row, 2).number_format = "#,##0"
    file = io.BytesIO()
    book.save(file)
    written(collection, "a.xlsx", file.getvalue())
    found = counted(client, columns=rule("Betrag", ">", "1000"))
    assert suppliers(found) == [
        "A"
    ]  # what is a text there may be written as in German, or be 1.234
    assert (found["ambiguous_cells"], found["unread"][0]["value"]) == (1, "1.234")


def test_what_can_be_read_in_two_ways_is_said_and_not_counted(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.csv", "Supplier;Value\nA;1.234\nB;7000\nC;12,5\n")
    found = counted(client, columns=rule("Value", ">", "1000"))
    assert suppliers(found) == ["A", "B"]  # 12,5 shows that a comma is before decimals
    written(collection, "b.csv", "Supplier;Value\nD;1.234\nE;7000\n")
    found = counted(client, columns=rule("Value", ">", "1000"))
    assert (suppliers(found), found["complete"]) == (["A", "B", "E"], False)
    assert (found["unread_cells"], found["ambiguous_cells"]) == (1, 1)
    assert (found["unread"][0]["value"], found["unread"][0]["fault"]) == ("1.234", "ambiguous")
    assert (
        "1 row could not be compared: what it holds there can be read in two ways." in found["said"]
    )
    found = counted(client, columns=rule("Value", "<", "5000"))  # both readings are
    assert (found["total"], found["complete"]) == (3, True)


def test_numbers_with_other_units_beside_them_are_said(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.md", ENGLISH + table("Supplier|Notice", "A|12 months", "B|1 month"))
    found = counted(client, columns=rule("Notice", ">", "0"))
    assert found["other_units"] == []
    document = written(collection, "b.md", ENGLISH + table("Supplier|Notice", "C|1 year"))
    found = counted(client, columns=rule("Notice", ">", "2"))
    assert suppliers(found) == ["A"]
    assert [cell["value"] for cell in found["other_units"]] == ["12 months", "1 year"]
    assert found["other_units"][1]["document_id"] == str(document.pk)
    assert (
        "Numbers with different units or words beside them were compared as they stand: “12 months”, “1 year”."
        in found["said"]
    )


def test_units_of_rows_that_other_conditions_leave_out_are_not_said(
    client: APIClient, collection: Collection
) -> None:
    rows = table("Supplier|Notice|Land", "A|12 months|DE", "B|1 year|FR", "C|2 weeks|DE")
    written(collection, "a.md", ENGLISH + rows)
    rules = [*rule("Notice", ">", "5"), *rule("Land", "=", "DE")]
    found = counted(client, columns=rules)
    assert [cell["value"] for cell in found["other_units"]] == ["12 months", "2 weeks"]
    found = counted(client, columns=rule("Notice", ">", "5"), words="FR")
    assert found["other_units"] == []


def test_two_columns_of_one_name_have_to_say_the_same(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.md", table("Item|Price|Price", "A|5|7", "B|5|50"))
    found = counted(client, columns=rule("Price", "<", "10"))
    assert (suppliers(found), found["ambiguous_cells"]) == (["A"], 1)


# ------------------------------------------------------------------------------------------------ rows and columns
def test_rows_with_an_empty_compared_cell_are_said(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.csv", "Supplier,Ends,Score\nA,2026-01-31,1\nB,,2\nC,,90\n")
    rules = [*rule("Ends", "<", "2027"), *rule("Score", "<", "50")]
    found = counted(client, columns=rules)
    assert (suppliers(found), found["empty_cells"]) == (["A"], 1)
    assert "1 row is not counted: a compared column is empty there." in found["said"]


def test_a_field_that_nobody_filled_in_does_not_end_a_form(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.md", "# A\n\n- **Supplier:** Acme\n- **End date:**\n- **Value:** 300\n")
    both = [*rule("Supplier", "=", "Acme"), *rule("Value", ">", "100")]
    assert counted(client, columns=both)["total"] == 1
    assert counted(client, columns=rule("End date", "<", "2030"))["empty_cells"] == 1


def test_a_column_that_nothing_has_is_no_count_of_none(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    found = counted(client, columns=rule("Colour", "=", "red"))
    assert (found["complete"], found["unknown_columns"]) == (False, ["Colour"])
    assert found["said"] == ["No table or form that was looked at has a column “Colour”."]


def test_words_that_are_not_looked_for_are_said(client: APIClient, collection: Collection) -> None:
    written(collection, "a.txt", LEAVE)
    found = counted(client, words="the leave of")
    assert (found["total"], found["words_left_out"]) == (1, ["the", "of"])
    assert any(
        "Not looked for" in sentence and "“the”, “of”" in sentence for sentence in found["said"]
    )
    assert counted(client, words="the leave", match="phrase")["words_left_out"] == []


def test_the_same_file_in_two_collections_is_said(
    client: APIClient, user: User, collection: Collection
) -> None:
    first = written(collection, "a.txt", LEAVE)
    other = CollectionFactory(owner=user, visibility="private", name="other")
    written(other, "b.txt", LEAVE, content_hash=first.content_hash)
    found = counted(client, words="parental")
    assert (found["total"], found["copies"]) == (2, 1)
    assert "1 of these documents is the same file as another one of them." in found["said"]


def test_a_table_that_is_read_as_a_form_too_counts_once(
    client: APIClient, collection: Collection
) -> None:
    rows = table("Field|Value", "Supplier|Acme", "Value|300", "Notice|12")
    written(collection, "a.md", ENGLISH + rows)
    found = counted(client, columns=rule("Value", ">", "100"))
    assert found["total"] == 1


def test_rows_whose_first_column_has_no_name_are_rows(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.csv", ",2024,2025\nRevenue,5,7\nCosts,3,4\n")
    found = counted(client, columns=rule("2024", ">", "4"))
    assert found["total"] == 1
    assert found["rows"][0]["cells"] == [
        {"column": "", "value": "Revenue"},
        {"column": "2024", "value": "5"},
        {"column": "2025", "value": "7"},
    ]
    assert counted(client, words="costs", unit="row")["total"] == 1
    names = [one["name"] for one in client.get("/api/count/columns").json()["columns"]]
    assert names == ["2024", "2025"]


def test_a_table_of_names_and_values_whose_names_have_no_head_is_a_form(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.md", ENGLISH + table(" |Value", "Supplier|Acme", "Notice|12", "Land|DE"))
    both = [*rule("Supplier", "=", "Acme"), *rule("Notice", ">", "6")]
    assert counted(client, columns=both)["total"] == 1


def test_a_form_below_a_table_of_the_same_names_is_one_record(
    client: APIClient, collection: Collection
) -> None:
    rows = table("Supplier|Value|Land", "A|5|DE", "B|900|FR")
    written(collection, "a.md", f"{ENGLISH}{rows}\nSupplier: Beta\nValue: 500\n")
    both = [*rule("Supplier", "=", "Beta"), *rule("Value", ">", "100")]
    found = counted(client, columns=both)
    assert (found["total"], found["empty_cells"]) == (1, 0)


def test_the_words_of_a_row_that_two_passages_share_are_shown(
    client: APIClient, collection: Collection
) -> None:
    remark = "nothing of note " * 60 + "indemnity agreed"
    written(collection, "a.csv", f"Supplier,Remark\nAcme,{remark}\n")
    assert collection.documents.get().chunks.count() > 1
    [row] = counted(client, unit="row", words="indemnity")["rows"]
    assert any("indemnity agreed" in one["text"] for one in row["evidence"])


def test_a_head_that_a_page_repeats_is_no_row(client: APIClient, collection: Collection) -> None:
    rows = table("Supplier|Score", "A|5", "Supplier|Score", "B|7")
    written(collection, "a.md", ENGLISH + rows)
    found = counted(client, columns=rule("Score", ">", "1"))
    assert (suppliers(found), found["complete"]) == (["A", "B"], True)
    assert counted(client, words="Supplier", unit="row")["total"] == 0


def test_documents_without_what_is_filtered_by_are_said(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "a.txt", LEAVE, policy_year=2025, doc_type="policy")
    written(collection, "b.txt", LEAVE, policy_year=None, doc_type="policy")
    written(collection, "c.txt", LEAVE, policy_year=2020, doc_type="policy")
    written(collection, "d.txt", LEAVE, policy_year=None, doc_type="letter")
    found = counted(client, words="parental", year_from=2024, filters={"doc_type": "policy"})
    assert (found["total"], found["unset"]) == (1, 1)
    assert "1 document is not looked at: what is filtered by is not set there." in found["said"]
    assert counted(client, words="parental")["unset"] == 0


# ------------------------------------------------------------------------------------------------ places
def test_an_excerpt_shows_the_phrase_that_was_counted_and_not_its_first_word(
    client: APIClient, collection: Collection
) -> None:
    filler = "It says nothing of the matter at hand. " * 9
    text = f"Parental consent is needed. {filler}Then **parental\nleave** is granted. {filler}"
    written(collection, "a.txt", text)
    evidence = counted(client, words="parental leave", match="phrase")["rows"][0]["evidence"]
    assert "leave" in evidence[0]["text"]


def test_an_excerpt_shows_each_word_and_either_script(
    client: APIClient, collection: Collection
) -> None:
    filler = "It says nothing of the matter at hand. " * 9
    written(
        collection, "a.txt", f"{filler}Policies are public. {filler}Indemnities are paid. {filler}"
    )
    shown = [
        one["text"] for one in counted(client, words="policy indemnity")["rows"][0]["evidence"]
    ]
    assert any("Policies" in text for text in shown) and any(
        "Indemnities" in text for text in shown
    )
    assert max(map(len, shown)) <= 240
    written(
        collection,
        "b.txt",
        f"{'本規定適用於全體同仁。' * 40}員工可申請育嬰假六個月。{'本規定自公布日起施行。' * 20}",
    )
    [row] = counted(client, words="育婴假")["rows"]
    assert "育嬰假" in row["evidence"][0]["text"]


def test_a_form_is_shown_by_the_line_with_the_words(
    client: APIClient, collection: Collection
) -> None:
    fields = "\n".join(f"- **Field {number}:** {number}" for number in range(6))
    written(collection, "a.md", f"# A\n\n{fields}\n- **Remark:** indemnity agreed\n")
    [row] = counted(client, unit="row", words="indemnity")["rows"]
    assert [one["text"] for one in row["evidence"]] == ["- **Remark:** indemnity agreed"]


# ------------------------------------------------------------------------------------------------ filters and scope
@pytest.mark.parametrize(
    ("filters", "known"),
    [
        ({"department": "Nowhere"}, "There are: Library, Registry."),
        ({"doc_type": "novel"}, "There are: policy."),
        ({"tags": ["hr", "invented"]}, "There are: hr."),
    ],
)
def test_a_value_that_no_document_has_is_told_with_those_that_there_are(
    client: APIClient, collection: Collection, filters: dict[str, Any], known: str
) -> None:
    written(collection, "a.txt", LEAVE, tags=["hr"], doc_type="policy")
    written(collection, "b.txt", LEAVE, department="Library", doc_type="policy")
    response = client.post("/api/count", {"filters": filters}, format="json")
    assert (response.status_code, response.json()["error"]["code"]) == (400, "unknown_value")
    assert known in response.json()["error"]["message"]
    assert list(response.json()["error"]["fields"]["filters"]) == list(filters)


def test_others_values_are_not_among_those_that_are_told(
    client: APIClient, collection: Collection
) -> None:
    written(
        CollectionFactory(visibility="private", name="theirs"), "s.txt", LEAVE, department="Secret"
    )
    written(collection, "a.txt", LEAVE)
    response = client.post("/api/count", {"filters": {"department": "Secret"}}, format="json")
    assert response.status_code == 400
    assert "There are: Registry." in response.json()["error"]["message"]


def test_where_there_are_no_documents_that_is_said(
    client: APIClient, collection: Collection
) -> None:
    found = counted(client, words="parental", filters={"department": "Registry"})
    assert (found["in_scope"], found["said"]) == (0, ["There are no documents to count."])
    DocumentFactory(collection=collection, status=Document.Status.PARSING)
    found = counted(client, words="parental")
    assert found["said"] == [
        "There are no documents to count.",
        "1 document is still being read and is not counted.",
    ]
    written(collection, "a.txt", LEAVE)
    assert counted(client, added_to="2020-01-01")["said"][0] == "No document fits the filters."


@pytest.mark.parametrize(
    "body",
    [
        {"columns": rule("Value", "between", "9", upper="5")},
        {"columns": rule("Ends", "between", "2026-03", upper="2025")},
        {"columns": rule("Ends", "between", "5", upper="2025-03")},
        {"columns": rule("Value", ">", "1,234")},
        {"columns": rule("Value", "=", "1,234")},
        {"year_from": 2025, "year_to": 2024},
        {"added_from": "2026-02-01", "added_to": "2026-01-01"},
    ],
)
def test_what_could_only_count_none_or_be_misread_is_refused(
    client: APIClient, body: dict[str, Any]
) -> None:
    response = client.post("/api/count", body, format="json")
    assert response.status_code == 400 and response.json()["error"]["fields"]


# ------------------------------------------------------------------------------------------------ columns
def test_columns_of_documents_that_are_not_read_are_said_to_be_missing(
    client: APIClient, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    found = client.get("/api/count/columns").json()
    assert (found["complete"], found["all"], found["not_read"]) == (True, 3, 0)
    DocumentFactory(collection=collection, status=Document.Status.FAILED)
    found = client.get("/api/count/columns").json()
    assert (found["complete"], found["not_read"]) == (False, 1)


def test_columns_of_a_part_of_the_documents_are_not_kept(collection: Collection) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    scope = scope_for_all()
    part = columns.columns_of(scope, timeout_s=0)
    assert (part.is_whole, part.looked_at, part.documents) == (False, 0, 1)
    assert len(columns.columns_of(scope).columns) == 3
