"""What one user may take up, and what the site says when that is used up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from retrieval.knowledge.services import documents
from retrieval.knowledge.services.documents import document_create
from retrieval.knowledge.services.quotas import usage_of
from retrieval.models import Collection, Document
from tests.clients import api_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload

MIB = 1024 * 1024


def error_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def stored_files(settings: Any) -> list[Any]:
    return [path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()]


@pytest.fixture
def full(user: User, rag_settings: Callable[..., None]) -> Collection:
    """The user's collection, which holds as many documents as are allowed."""
    rag_settings(quotas={"documents": 1})
    collection = CollectionFactory(owner=user, name="mine", visibility="private")
    DocumentFactory(collection=collection)
    return collection


def test_one_document_too_many_is_refused_and_not_kept(
    client: APIClient, full: Collection, settings: Any
) -> None:
    response = upload(client, collection="mine")
    assert error_of(response) == (507, "quota_exceeded")
    assert "1 are allowed" in response.json()["error"]["message"]
    assert stored_files(settings) == [] and full.documents.count() == 1


def test_one_byte_too_many_is_refused(
    client: APIClient, user: User, rag_settings: Callable[..., None]
) -> None:
    rag_settings(quotas={"storage_mib": 1})
    upload(client, text_file(data=b"x" * (MIB - 1)))
    assert error_of(upload(client, text_file("b.txt", b"ab"))) == (507, "quota_exceeded")
    assert upload(client, text_file("c.txt", b"a")).status_code == 202
    assert usage_of(user)["storage_bytes"]["used"] == MIB


def test_upload_that_came_in_meanwhile_is_counted(
    client: APIClient,
    user: User,
    rag_settings: Callable[..., None],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rag_settings(quotas={"documents": 1})
    store = documents._file_store

    def store_beside_another_upload(document: Document, file: Any) -> None:
        store(document, file)
        DocumentFactory(collection=document.collection)

    monkeypatch.setattr(documents, "_file_store", store_beside_another_upload)
    assert error_of(upload(client)) == (507, "quota_exceeded")
    assert stored_files(settings) == [] and usage_of(user)["documents"]["used"] == 1


def test_staff_the_site_and_commands_are_not_bound(
    full: Collection, rag_settings: Callable[..., None]
) -> None:
    staff = UserFactory(is_staff=True)
    DocumentFactory(collection=CollectionFactory(owner=staff, name="own"))
    CollectionFactory(name="site", visibility="public")
    assert upload(api_of(staff), collection="own").status_code == 202
    assert upload(api_of(staff), collection="site").status_code == 202
    file = ContentFile(b"One.", name="a.txt")
    assert (
        document_create(collection=full, upload=file, file_name="a.txt", within_quota=False).outcome
        == "added"
    )


def test_each_file_of_an_upload_is_counted_once(client: APIClient, user: User) -> None:
    with CaptureQueriesContext(connection) as queries:
        upload(client, *(text_file(f"{name}.txt", name.encode()) for name in "abc"))
    assert user.collections.get().documents.count() == 3
    assert sum("SUM(" in query["sql"] for query in queries) == 3


def test_usage_is_told(client: APIClient, user: User, rag_settings: Callable[..., None]) -> None:
    rag_settings(quotas={"documents": 5, "storage_mib": 1})
    upload(client, text_file(data=b"Ten books."))
    DocumentFactory(collection=CollectionFactory(name="site"))
    assert client.get("/api/documents/usage").json() == {
        "documents": {"used": 1, "allowed": 5},
        "storage_bytes": {"used": 10, "allowed": MIB},
    }
