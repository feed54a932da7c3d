"""Pages of a PDF: their pictures, and the boxes of a text on them."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from rest_framework.test import APIClient

from retrieval.knowledge.services import document_pages
from retrieval.models import Document
from tests.factories import CollectionFactory, DocumentFactory
from tests.retrieval.knowledge.ingest.files import pdf_bytes
from tests.retrieval.read_documents import read_document_row

PAGES = [
    "Loans\nStudents may borrow ten books.\nBooks are kept for four\nweeks, and can be",
    "renewed twice.\nFines are 20 cents a day.",
]


def stored(
    user: User, data: bytes, name: str = "loans.pdf", media_type: str = "application/pdf"
) -> Document:
    collection = CollectionFactory(owner=user, visibility="private")
    document = DocumentFactory(collection=collection, file_name=name, media_type=media_type)
    document.file.save(name, ContentFile(data))
    return document


@pytest.fixture
def document(user: User) -> Document:
    collection = CollectionFactory(owner=user, visibility="private")
    return read_document_row(pdf_bytes(PAGES), "loans.pdf", collection=collection)


def page(client: APIClient, document: Document, number: int = 1, quote: str = "") -> Any:
    return client.get(f"/api/documents/{document.pk}/content", {"part": number, "quote": quote})


def picture(client: APIClient, document: Document) -> Any:
    return client.get(f"/api/documents/{document.pk}/pages/1/picture", {"width": "306"})


def test_a_page_says_where_a_sentence_stands(client: APIClient, document: Document) -> None:
    body = page(client, document, quote="Students may  borrow TEN books.").json()
    assert (body["page"], body["part_count"], body["width"], body["height"]) == (1, 2, 612, 792)
    [(left, top, right, bottom)] = body["marks"]
    assert left == pytest.approx(60 / 612, abs=0.01)
    assert top == pytest.approx((792 - 740 - 12) / 792, abs=0.02)
    assert 0.2 < right - left < 0.4 and 0.005 < bottom - top < 0.03


def test_of_a_sentence_over_two_pages_each_page_shows_its_part(
    client: APIClient, document: Document
) -> None:
    quote = "Books are kept for four weeks, and can be renewed twice."
    assert [len(page(client, document, number, quote).json()["marks"]) for number in (1, 2)] == [
        2,
        1,
    ]


@pytest.mark.parametrize("quote", ["", "Masters may borrow forty journals.", "...", "be renewed"])
def test_what_is_not_on_the_page_has_no_box(
    client: APIClient, document: Document, quote: str
) -> None:
    assert page(client, document, quote=quote).json()["marks"] == []


def test_a_documents_page_says_that_one_of_its_pages_could_not_be_read(
    client: APIClient, user: User
) -> None:
    broken = b"/Type /Wreck".join(pdf_bytes(PAGES).rsplit(b"/Type /Page ", 1))
    collection = CollectionFactory(owner=user, visibility="private")
    document = read_document_row(broken, "loans.pdf", collection=collection)
    client.force_login(user)
    assert (
        "1 page that could not be recognised (page "
        in client.get(f"/documents/{document.pk}/").content.decode()
    )


def test_a_picture_is_a_png_of_the_width_asked_for_that_browsers_keep(
    client: APIClient, document: Document
) -> None:
    response = client.get(f"/api/documents/{document.pk}/pages/2/picture", {"width": "306"})
    assert (response.status_code, response["Content-Type"]) == (200, "image/png")
    assert response.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(response.content[at : at + 4], "big") for at in (16, 20)] == [306, 396]
    assert "private" in response["Cache-Control"]


@pytest.mark.parametrize("number", [0, 3, 10**9])
def test_a_page_that_the_file_does_not_have_is_404(
    client: APIClient, document: Document, number: int
) -> None:
    assert client.get(f"/api/documents/{document.pk}/pages/{number}/picture").status_code == 404


def test_a_stranger_gets_no_page(stranger: APIClient, document: Document) -> None:
    assert APIClient().get(f"/api/documents/{document.pk}/pages/1/picture").status_code in (
        401,
        403,
    )
    assert page(stranger, document).status_code == 404
    assert stranger.get(f"/api/documents/{document.pk}/pages/1/picture").status_code == 404


def test_a_file_without_pages_is_refused_with_a_reason(client: APIClient, user: User) -> None:
    response = picture(client, stored(user, b"# Loans", "loans.md", "text/markdown"))
    assert (response.status_code, response.json()["error"]["message"]) == (
        404, "Only PDF files and pictures have pages that can be shown.",
    )  # fmt: skip


def test_a_damaged_file_and_one_that_is_gone_say_so(
    client: APIClient, user: User, document: Document
) -> None:
    damaged = picture(client, stored(user, b"%PDF-1.4 nothing"))
    assert (damaged.status_code, damaged.json()["error"]["code"]) == (422, "document_unreadable")
    document.file.storage.delete(document.file.name)
    assert (
        picture(client, document).json()["error"]["message"] == "The file of this document is gone."
    )


@pytest.mark.parametrize("query", ["width=99", "width=2401", "width=x", "width=1&width=2"])
def test_an_impossible_width_is_400(client: APIClient, document: Document, query: str) -> None:
    assert client.get(f"/api/documents/{document.pk}/pages/1/picture?{query}").status_code == 400


def test_a_page_that_takes_too_long_is_given_up(client: APIClient, document: Document) -> None:
    with patch.multiple(document_pages, TIMEOUT_S=0.0001):
        assert picture(client, document).status_code in (422, 503)
    assert picture(client, document).status_code == 200
