"""The page that counts and lists, and its CSV."""

from __future__ import annotations

import csv
import io

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
    assert "0 of 0, complete." in body and "Nothing matches" in body


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
    assert rows[-1] == ["250 of 250, complete."]


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
