"""POST /api/documents."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from ragsite.core.text import clean_file_name
from retrieval.knowledge.api.personal_uploads import PERSONAL_COLLECTION
from retrieval.knowledge.services import documents
from retrieval.models import Collection, Document, IngestJob
from tests.factories import CollectionFactory, UserFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def test_upload_is_accepted_and_queued_after_the_commit(
    client: APIClient, queue: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = upload(client, collection="policies")
        assert queue == []
    assert response.status_code == 202
    (entry,) = response.json()["documents"]
    assert (entry["title"], entry["status"], entry["collection"]) == ("rules", "queued", "policies")
    assert queue == [("retrieval.tasks.ingest_next",)]


def test_upload_without_a_collection_goes_to_the_default_one(client: APIClient) -> None:
    assert upload(client).json()["documents"][0]["collection"] == "documents"


@pytest.mark.django_db(transaction=True)
def test_collection_deleted_during_an_upload_is_404_and_leaves_no_file(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    digest = documents.content_digest

    def digest_then_delete(upload: Any) -> str:
        Collection.objects.all().delete()
        return digest(upload)

    monkeypatch.setattr(documents, "content_digest", digest_then_delete)
    response = upload(client, collection="policies")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
    assert [path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()] == []


def test_metadata_is_stored(client: APIClient) -> None:
    upload(
        client,
        department=" Registry ",
        doc_type="规定",
        policy_year="2025",
        tags="exams, 考试 ,exams",
    )
    document = Document.objects.get()
    assert (document.department, document.doc_type, document.policy_year) == (
        "Registry",
        "规定",
        2025,
    )
    assert document.tags == ["exams", "考试"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("policy_year", "soon"),
        ("policy_year", "-1"),
        ("policy_year", "２０２５x"),
        ("department", "x" * 101),
        ("tags", "x" * 51),
        ("tags", ",".join(f"t{n}" for n in range(21))),
        ("collection", "a:b"),
        ("collection", "nul\0"),
    ],
)
def test_bad_metadata_is_refused_and_nothing_is_stored(
    client: APIClient, field: str, value: str
) -> None:
    response = upload(client, **{field: value})
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]
    assert not Document.objects.exists()


def test_same_content_in_the_same_collection_is_one_document(client: APIClient) -> None:
    first = upload(client, text_file("a.txt")).json()["documents"][0]
    again = upload(client, text_file("b.txt")).json()["documents"][0]
    assert again["id"] == first["id"]
    assert again["outcome"] == "unchanged"
    assert Document.objects.count() == IngestJob.objects.count() == 1


def test_failed_document_is_retried_by_a_new_upload(client: APIClient) -> None:
    upload(client)
    Document.objects.update(status="failed", error="It broke.")
    IngestJob.objects.update(state="failed")
    entry = upload(client).json()["documents"][0]
    assert (entry["outcome"], entry["status"], entry["error"]) == ("retried", "queued", "")
    assert IngestJob.objects.filter(state="waiting").count() == 1


def test_one_refused_file_keeps_the_others_in(client: APIClient) -> None:
    response = upload(client, text_file("a.exe"), text_file("b.txt"))
    assert response.status_code == 202
    refused, added = response.json()["documents"]
    assert (refused["id"], refused["status"], refused["code"]) == (
        None,
        "failed",
        "unsupported_file_type",
    )
    assert added["outcome"] == "added"


@pytest.mark.parametrize(
    "file", [text_file("a.exe"), text_file("noname"), text_file("picture.txt", PNG)]
)
def test_unreadable_type_is_415(client: APIClient, file: Any) -> None:
    response = upload(client, file)
    assert response.status_code == 415
    assert response.json()["error"]["code"] == "unsupported_file_type"


def test_file_over_the_limit_is_413(client: APIClient, settings: Any) -> None:
    ingest = settings.RAG.ingest.replace(max_file_mib=1)
    settings.RAG = settings.RAG.replace(ingest=ingest)
    response = upload(client, text_file("big.txt", b"x" * (1024 * 1024 + 1)))
    assert response.status_code == 413
    assert "1 MiB" in response.json()["error"]["message"]


@pytest.mark.parametrize("count", [101, 150])
def test_more_than_a_hundred_files_are_413(client: APIClient, count: int) -> None:
    response = upload(client, *(text_file(f"{n}.txt", str(n).encode()) for n in range(count)))
    assert response.status_code == 413
    assert not Document.objects.exists()


def test_upload_without_a_file_is_400(client: APIClient) -> None:
    response = client.post("/api/documents", {"collection": "x"}, format="multipart")
    assert response.status_code == 400
    assert "file" in response.json()["error"]["fields"]


def test_public_collection_of_the_site_takes_uploads_from_staff_only(
    client: APIClient, staff: APIClient
) -> None:
    handbook = CollectionFactory(name="handbook")
    assert upload(client, collection=handbook.address).status_code == 403
    assert upload(staff, collection="handbook").status_code == 202
    assert handbook.documents.count() == 1


@pytest.mark.parametrize("address", ["address", "pk"])
def test_an_exact_address_of_what_one_may_only_read_is_403(client: APIClient, address: str) -> None:
    shown = CollectionFactory(name="open", owner=UserFactory())
    response = upload(client, collection=str(getattr(shown, address)))
    assert (response.status_code, response.json()["error"]["code"]) == (403, "permission_denied")


def test_an_exact_address_of_what_is_not_there_is_404(client: APIClient, user: User) -> None:
    hidden = CollectionFactory(name="hidden", owner=UserFactory(), visibility="private")
    for address in (hidden.address, str(hidden.pk), "nobody/x", "site:x", str(uuid.uuid4())):
        assert upload(client, collection=address).status_code == 404
    assert upload(client, collection=f"{user.username}/new").status_code == 202
    assert Collection.objects.get(owner=user).name == "new"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Users\\me\\rules.txt", "rules.txt"),
        ("<script>.txt", "<script>.txt"),
        ("..txt", "document.txt"),
    ],
)
def test_hostile_file_names_become_plain_ones(client: APIClient, name: str, kept: str) -> None:
    file = text_file()
    file._name = name  # as a client sends it: the attribute cleans it
    response = upload(client, file)
    assert response.status_code == 202
    document = Document.objects.get()
    assert document.file_name == kept
    assert document.file.name == f"{document.collection_id}/{document.pk}.txt"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ('a"b\r\nX-Evil: 1.txt', 'a"bX-Evil: 1.txt'), ("\u202enul\0.txt", "nul.txt"), ("///", "document"),
        ("规章" * 200 + ".txt", "规章" * 148 + ".txt"),
    ],
)  # fmt: skip
def test_file_names_are_cleaned_of_control_characters_and_cut(name: str, kept: str) -> None:
    assert clean_file_name(name) == kept


# ------------------------------------------------------------------------------------------------ the older front
def send(client: APIClient, *files: Any) -> Any:
    return client.post("/api/rag/upload", {"file": list(files)}, format="multipart")


def test_a_file_goes_into_the_users_own_private_collection(client: APIClient, user: User) -> None:
    response = send(client, text_file("leave.txt"))
    assert response.status_code == 202
    (entry,) = response.json()["documents"]
    document = Document.objects.get(pk=entry["id"])
    assert (document.file_name, entry["status"]) == ("leave.txt", "queued")
    assert (document.collection.owner, document.collection.visibility) == (user, "private")


def test_a_public_collection_of_that_name_is_not_written_into(
    client: APIClient, user: User
) -> None:
    public = CollectionFactory(name=PERSONAL_COLLECTION, owner=UserFactory())
    send(client, text_file())
    assert not public.documents.exists()
    assert Document.objects.get().collection.owner == user
