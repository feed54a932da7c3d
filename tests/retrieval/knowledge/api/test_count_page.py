"""The page that counts and lists, and its CSV."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from retrieval.models import Collection
from tests.factories import CollectionFactory, UserFactory
from tests.retrieval.knowledge.api.test_count import SUPPLIERS, written


@pytest.fixture
def page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def collection(user: User) -> Collection:
    return CollectionFactory(owner=user, visibility="private", name="mine")


RULE = {"column": "Ends", "operator": "<", "value": "2026-04", "upper": ""}


def test_an_address_holds_the_whole_count(page: Client, collection: Collection) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    body = page.get("/documents/count/", RULE).content.decode()
    assert "Acme" in body and "Beta" in body and "Gamma" not in body
    assert "2 of 2 that could be compared." in body
    assert "1 row could not be compared" in body and "Ends: open" in body
    assert 'value="2026-04"' in body and "#chunk-" in body


def test_an_empty_form_counts_nothing_and_an_empty_result_says_so(
    page: Client, collection: Collection
) -> None:
    assert "count-result" not in page.get("/documents/count/").content.decode()
    written(collection, "a.txt", "Nothing of that kind.")
    body = page.get("/documents/count/", {"words": "unicorn"}).content.decode()
    assert "0 of 0: every document was looked at." in body and "Nothing matches" in body


def test_all_rows_come_as_csv_with_how_many_they_are(page: Client, collection: Collection) -> None:
    lines = "\n".join(f"=Supplier {number},{number}" for number in range(250))
    written(collection, "many.csv", f"Supplier,Score\n{lines}\n")
    rule = {"column": "Score", "operator": ">=", "value": "0"}
    response = page.get("/documents/count/", {**rule, "csv": "1"})
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["Document", "Page", "Heading", "Evidence", "Link", "Supplier", "Score"]
    assert len(rows) == 252
    assert rows[1][5:] == ["'=Supplier 0", "0"]
    assert rows[-1] == ["250 of 250: every document was looked at."]


def csv_rows(page: Client, given: dict[str, str]) -> list[list[str]]:
    response = page.get("/documents/count/", {**given, "csv": "1"})
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def test_csv_names_the_columns_and_rows_that_it_leaves_out(
    page: Client, collection: Collection
) -> None:
    names = ["Score", *(f"Column {number}" for number in range(104))]
    lines = [",".join([score, *("x" for _ in range(104))]) for score in ("7", "none")]
    written(collection, "wide.csv", "\n".join([",".join(names), *lines]))
    rows = csv_rows(page, {"column": "Score", "operator": ">", "value": "0"})
    assert len(rows[0]) == 105
    assert rows[-2] == [
        "Columns left out: Column 99, Column 100, Column 101, Column 102, Column 103"
    ]
    assert rows[-1] == ["wide.csv", "", "", "Score: none", "Could not be compared"]


def test_of_rows_that_could_not_be_compared_the_page_says_how_many_it_shows(
    page: Client, collection: Collection
) -> None:
    lines = "\n".join(f"Supplier {number},none" for number in range(7))
    written(collection, "a.csv", f"Supplier,Score\n{lines}\n")
    given = {"column": "Score", "operator": ">", "value": "0"}
    body = page.get("/documents/count/", given).content.decode()
    assert "The first 5 of 7; the CSV file has more." in body
    assert len([row for row in csv_rows(page, given) if "Could not be compared" in row]) == 7


def test_csv_keeps_both_columns_of_one_name(page: Client, collection: Collection) -> None:
    table = "| Item | Price | Price |\n|---|---|---|\n| A | 5 | 7 |\n"
    written(collection, "prices.md", table)
    rows = csv_rows(page, {"column": "Item", "operator": "=", "value": "A"})
    assert (rows[0][5:], rows[1][5:]) == (["Item", "Price", "Price (2)"], ["A", "5", "7"])


def test_the_words_of_a_question_stand_in_the_form_and_are_not_counted(page: Client) -> None:
    body = page.get("/documents/count/", {"question": 'How many "fees"?'}).content.decode()
    assert 'value="How many &quot;fees&quot;?"' in body
    assert "count-result" not in body


def test_the_collections_that_are_counted_in_are_named(
    page: Client, user: User, collection: Collection
) -> None:
    written(collection, "a.txt", "Nothing.")
    CollectionFactory(name="not mine", visibility="private")
    body = page.get("/documents/count/").content.decode()
    assert "Counted in: mine" in body and "not mine" not in body


def test_a_value_that_no_document_has_is_said_once_with_those_that_there_are(
    page: Client, collection: Collection
) -> None:
    written(collection, "a.txt", "Nothing.")
    response = page.get("/documents/count/", {"department": "Nowhere"})
    body = response.content.decode()
    assert response.status_code == 400
    assert body.count("No document has this department: “Nowhere”. There are: Registry.") == 1


def test_without_documents_no_number_is_shown(page: Client, collection: Collection) -> None:
    body = page.get("/documents/count/", {"words": "leave"}).content.decode()
    assert "There are no documents to count." in body and "<strong>0</strong>" not in body


def test_a_long_cell_is_shown_where_the_words_stand(page: Client, collection: Collection) -> None:
    remark = "nothing of note " * 30 + "except indemnity " + "nothing of note " * 30
    written(collection, "a.csv", f"Supplier,Remark\nAcme,{remark}\n")
    body = page.get("/documents/count/", {"words": "indemnity", "unit": "row"}).content.decode()
    assert "except indemnity" in body


@pytest.mark.parametrize(
    "wrong",
    [
        {**RULE, "value": "soon"},
        {**RULE, "column": ""},
        {"year_from": "last year"},
        {"unit": "row"},
        {"words": "a\0"},
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(
    page: Client, wrong: dict[str, str]
) -> None:
    response = page.get("/documents/count/", wrong)
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()


def test_a_problem_names_its_field(page: Client) -> None:
    body = page.get("/documents/count/", {**RULE, "value": ""}).content.decode()
    assert re.search(r'role="alert">Value: [A-Z]', body)


def test_what_shows_a_word_is_read_without_its_markup(page: Client, collection: Collection) -> None:
    written(collection, "leave.md", "# Parental leave\n\nIt is **fourteen** weeks.\n")
    body = page.get("/documents/count/", {"words": "fourteen"}).content.decode()
    (shown,) = re.findall(r'<p class="hit-text"[^>]*>(.*?)</p>', body, re.DOTALL)
    assert "fourteen weeks" in shown and "*" not in shown and "#" not in shown


def test_others_documents_are_not_counted_and_nobody_else_comes_in(
    page: Client, collection: Collection
) -> None:
    written(collection, "suppliers.csv", SUPPLIERS)
    stranger = Client()
    stranger.force_login(UserFactory())
    assert "Acme" not in stranger.get("/documents/count/", RULE).content.decode()
    named = stranger.get("/documents/count/", {"collection": str(collection.pk)})
    assert named.status_code == 400
    assert Client().get("/documents/count/").status_code == 302
