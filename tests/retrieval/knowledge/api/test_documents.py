"""GET, PATCH and DELETE of documents, their chunks and files."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from retrieval.models import Chunk, Collection, Document, IngestJob
from tests.clients import api_of
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload


@pytest.fixture
def document(user: User) -> Document:
    """A ready document of the user's with two chunks, in a private collection with an embedding model."""
    collection = CollectionFactory(
        name="mine", owner=user, visibility="private", embedding_model="some-model", embedding_dim=8
    )
    document = DocumentFactory(collection=collection, title="Loans", chunk_count=2)
    ChunkFactory(document=document, seq=0)
    ChunkFactory(document=document, seq=1)
    return document


@pytest.mark.parametrize("page", ["", "0", "2", "first"])
def test_a_page_that_is_none_is_not_there(client: APIClient, document: Document, page: str) -> None:
    assert client.get("/api/documents", {"page": page}).status_code == 404


def test_list_is_paged_and_newest_first(client: APIClient, document: Document) -> None:
    newest = DocumentFactory(collection=document.collection)
    body = client.get("/api/documents").json()
    assert (body["count"], body["next"], body["previous"]) == (2, None, None)
    assert [item["id"] for item in body["results"]] == [str(newest.pk), str(document.pk)]


def test_list_is_filtered(client: APIClient, document: Document) -> None:
    other = DocumentFactory(
        collection=CollectionFactory(name="public"), title="Fines", status="failed"
    )
    for query, expected in [
        ("collection=mine", document),
        ("status=failed", other),
        ("search=fin", other),
        ("search=loa&collection=mine", document),
    ]:
        results = client.get(f"/api/documents?{query}").json()["results"]
        assert [item["id"] for item in results] == [str(expected.pk)], query
    assert client.get("/api/documents?collection=nothere").json()["count"] == 0


@pytest.mark.parametrize("query", ["status=lost", "search=%00", "collection=%00"])
def test_impossible_filter_is_400(client: APIClient, query: str) -> None:
    assert client.get(f"/api/documents?{query}").status_code == 400


CALLS = [("get", ""), ("patch", ""), ("delete", ""), ("get", "/chunks"), ("get", "/file")]


@pytest.mark.parametrize("who", ["stranger", "staff"])
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_private_document_of_another_is_not_there_for_any_call(
    request: pytest.FixtureRequest, document: Document, who: str, method: str, path: str
) -> None:
    call = getattr(request.getfixturevalue(who), method)
    response = call(f"/api/documents/{document.pk}{path}", {"title": "Mine now"})
    missing = call("/api/documents/00000000-0000-4000-8000-000000000000" + path, {"title": "x"})
    assert response.status_code == missing.status_code == 404
    assert response.json() == missing.json()
    assert Document.objects.get(pk=document.pk).title == "Loans"


def test_stranger_and_staff_do_not_see_private_documents_in_lists(
    stranger: APIClient, staff: APIClient, document: Document
) -> None:
    for client in (stranger, staff):
        assert client.get("/api/documents").json()["count"] == 0
        assert client.get("/api/documents?collection=mine").json()["count"] == 0
        assert client.get("/api/documents?search=Loans").json()["count"] == 0


@pytest.mark.parametrize(("method", "status"), [("get", 200), ("patch", 403), ("delete", 403)])
def test_reader_of_a_shared_collection_may_not_write(
    document: Document, method: str, status: int
) -> None:
    reader = UserFactory()
    group = Group.objects.create(name="library")
    reader.groups.add(group)
    document.collection.groups.add(group)
    Collection.objects.update(visibility="shared")
    response = getattr(api_of(reader), method)(
        f"/api/documents/{document.pk}", {"title": "Mine now"}
    )
    assert response.status_code == status
    assert Document.objects.get(pk=document.pk).title == "Loans"


def test_changed_metadata_are_brought_to_the_index_again(
    client: APIClient, document: Document
) -> None:
    response = client.patch(
        f"/api/documents/{document.pk}", {"department": "Finance", "tags": ["a", "b"]}
    )
    assert response.json()["department"] == "Finance"
    assert response.json()["tags"] == ["a", "b"]
    assert not Chunk.objects.filter(indexed=True).exists()
    assert IngestJob.objects.get(document=document).state == "waiting"
    assert Collection.objects.get().version == 1


@pytest.mark.parametrize(
    "body",
    [
        {"title": ""},
        {"policy_year": 12},
        {"tags": "a"},
        {"tags": ["x" * 51]},
        {"title": None},
        [],
    ],
)
def test_bad_changes_are_400(client: APIClient, document: Document, body: Any) -> None:
    response = client.patch(f"/api/documents/{document.pk}", body)
    assert response.status_code == 400
    assert response.json()["error"]["fields"]


def test_deleted_document_is_gone_with_its_chunks_file_and_index_rows(
    client: APIClient, queue: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    document_id = upload(client).json()["documents"][0]["id"]
    Collection.objects.update(embedding_model="some-model", embedding_dim=8)
    document = Document.objects.get()
    ChunkFactory(document=document)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.delete(f"/api/documents/{document_id}").status_code == 204
    assert not Document.objects.exists()
    assert not Chunk.objects.exists()
    assert not document.file.storage.exists(document.file.name)
    assert queue == [("retrieval.tasks.document_unindex", document_id, "some-model", 8)]


def test_file_comes_back_as_a_download_that_no_browser_runs(client: APIClient) -> None:
    page = b"<!DOCTYPE html><script>alert(1)</script>"
    entry = upload(client, text_file('规章"x.html', page)).json()["documents"][0]
    response = client.get(f"/api/documents/{entry['id']}/file?inline=1")
    assert b"".join(response.streaming_content) == page
    assert response["Content-Disposition"].startswith("attachment; filename*=utf-8''")
    assert "\n" not in response["Content-Disposition"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("text", "encoding", "charset"),
    [
        ("Ten books. " * 9, "utf-8", "utf-8"),
        ("学生借阅图书不得超过十册，逾期每日罚款一元。" * 9, "gbk", "gb18030"),
    ],
)
def test_text_is_shown_as_text_whatever_it_holds(
    client: APIClient, text: str, encoding: str, charset: str
) -> None:
    page = f"<script>alert(1)</script> {text}".encode(encoding)
    entry = upload(client, text_file("a.md", page)).json()["documents"][0]
    response = client.get(f"/api/documents/{entry['id']}/file?inline=1")
    assert response["Content-Type"] == f"text/plain; charset={charset}"
    assert response["Content-Disposition"] == 'inline; filename="a.md"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert b"".join(response.streaming_content) == page


# ------------------------------------------------------------------------------------------------ many at once
@pytest.fixture
def mine(user: User) -> Collection:
    return CollectionFactory(owner=user, name="mine", visibility="private")


@pytest.fixture
def foreign() -> Document:
    return DocumentFactory(title="Foreign")


def bulk(client: APIClient, action: str, *documents: Any, **fields: Any) -> Any:
    ids = [str(getattr(document, "pk", document)) for document in documents]
    return client.post(
        "/api/documents/bulk", {"action": action, "ids": ids, **fields}, format="json"
    )


def outcomes(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["outcome"] for row in response.json()["results"]]


def titles(client: APIClient, **query: Any) -> list[str]:
    response = client.get("/api/documents", query)
    assert response.status_code == 200, response.content
    return [row["title"] for row in response.json()["results"]]


def test_each_document_is_deleted_or_says_why_not(
    client: APIClient, mine: Collection, foreign: Document
) -> None:
    first, second = DocumentFactory(collection=mine), DocumentFactory(collection=mine)
    private = DocumentFactory(collection=CollectionFactory(visibility="private"))
    response = bulk(client, "delete", first, foreign, private, second, uuid.uuid4())
    assert outcomes(response) == ["done", "refused", "refused", "done", "refused"]
    assert [row["code"] for row in response.json()["results"]] == [
        "", "permission_denied", "not_found", "", "not_found",
    ]  # fmt: skip
    assert set(Document.objects.all()) == {foreign, private}


def test_documents_move_where_the_user_may_put_them(
    client: APIClient, user: User, mine: Collection
) -> None:
    document, target = DocumentFactory(collection=mine), CollectionFactory(owner=user, name="other")
    assert outcomes(bulk(client, "move", document, collection="other")) == ["done"]
    document.refresh_from_db()
    assert document.collection == target
    assert (
        bulk(client, "move", document, collection=CollectionFactory(name="site").name).status_code
        == 403
    )
    assert bulk(client, "move", document, collection="nowhere").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"action": "burn", "ids": [str(uuid.uuid4())]},
        {"action": "delete", "ids": []},
        {"action": "delete", "ids": [str(uuid.uuid4())] * 201},
        {"action": "move", "ids": [str(uuid.uuid4())]},
        {"action": "metadata", "ids": [str(uuid.uuid4())]},
        {"action": "delete", "ids": [str(uuid.uuid4())], "collection": "mine"},
        {"action": "metadata", "ids": [str(uuid.uuid4())], "changes": {"title": "x"}},
    ],
)
def test_a_body_that_means_nothing_is_bad_input(client: APIClient, body: dict[str, Any]) -> None:
    assert client.post("/api/documents/bulk", body, format="json").status_code == 400


def test_the_list_comes_in_the_order_asked_for(client: APIClient, mine: Collection) -> None:
    for title, year, size in (("b", None, 1), ("A", 2020, 3), ("c", 2024, 2)):
        DocumentFactory(collection=mine, title=title, policy_year=year, size_bytes=size)
    orders = {
        sort: titles(client, sort=sort)
        for sort in ("title", "-title", "size", "-year", "created_at", "")
    }
    assert orders == {
        "title": ["A", "b", "c"], "-title": ["c", "b", "A"], "size": ["b", "c", "A"], "-year": ["c", "A", "b"],
        "created_at": ["b", "A", "c"], "": ["c", "A", "b"],
    }  # fmt: skip
    assert client.get("/api/documents", {"sort": "owner"}).status_code == 400
