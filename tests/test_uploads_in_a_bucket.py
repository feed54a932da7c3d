"""Uploaded files in a bucket of S3 in place of a folder: everything that is done with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import AsyncClient
from rest_framework.test import APIClient

from chat.services.sessions import session_delete
from ragsite.checks import findings
from ragsite.core.settings_group import SettingsError
from ragsite.core.site_settings import SiteSettings, uploads_storage
from ragsite.runtime import presence
from retrieval import tasks
from retrieval.models import Document, IngestJob
from tests.clients import api_of
from tests.factories import CollectionFactory, DocumentFactory, SessionFactory, UserFactory
from tests.object_store import Bucket
from tests.retrieval.knowledge.ingest.files import pdf_bytes
from tests.test_checks import process

TEXT = b"Students may borrow ten books."


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Those that would have gone to the broker."""
    sent: list[tuple[Any, ...]] = []

    def send(_: Any, task: str, arguments: tuple[Any, ...] = (), **__: Any) -> None:
        sent.append((task, *arguments))

    monkeypatch.setattr("celery.app.base.Celery.send_task", send)
    return sent


@pytest.fixture
def client(db: None, bucket: Bucket, messages: list[Any]) -> APIClient:
    return api_of(UserFactory())


def upload(client: APIClient, data: bytes = TEXT, name: str = "loans.txt") -> Any:
    return client.post(
        "/api/documents", {"file": SimpleUploadedFile(name, data)}, format="multipart"
    )


def uploaded(client: APIClient, data: bytes = TEXT, name: str = "loans.txt") -> Document:
    answer = upload(client, data, name)
    assert answer.status_code == 202, answer.json()
    return Document.objects.get()


# ------------------------------------------------------------------------------------------------ a file's life
def test_an_upload_lies_in_the_bucket_alone_and_is_opened_as_it_was_sent(
    client: APIClient, bucket: Bucket, settings: Any
) -> None:
    document = uploaded(client)
    name = f"site/{document.collection_id}/{document.pk}.txt"
    assert bucket.names() == [name] and bucket.content(name) == TEXT
    assert not any(path.is_file() for path in Path(settings.MEDIA_ROOT).rglob("*.txt"))
    answer = client.get(f"/api/documents/{document.pk}/file")
    assert b"".join(answer.streaming_content) == TEXT


@pytest.mark.django_db(transaction=True)
def test_a_worker_reads_it(client: APIClient, milvus: Any, offline: None) -> None:
    document = uploaded(client)
    assert tasks.ingest_next() == "ready"
    assert document.chunks.get().text == TEXT.decode()


def test_its_pages_are_drawn(client: APIClient) -> None:
    document = uploaded(client, pdf_bytes(["Loans"]), "loans.pdf")
    picture = client.get(f"/api/documents/{document.pk}/pages/1/picture", {"width": "306"})
    assert picture.status_code == 200 and picture.content.startswith(b"\x89PNG")


@pytest.mark.django_db(transaction=True)
def test_it_goes_with_its_document(client: APIClient, bucket: Bucket) -> None:
    client.delete(f"/api/documents/{uploaded(client).pk}")
    assert bucket.names() == []


@pytest.mark.django_db(transaction=True)
def test_files_of_a_conversation_go_with_it(bucket: Bucket, messages: list[Any]) -> None:
    user = UserFactory()
    sent = {"file": [SimpleUploadedFile("loans.txt", TEXT)]}
    session_id = (
        api_of(user).post("/api/attachments", sent, format="multipart").json()["session_id"]
    )
    assert len(bucket.names()) == 1
    async_to_sync(session_delete)(user=user, session_id=SessionFactory(user=user, id=session_id).pk)
    assert bucket.names() == []


def test_a_site_is_carried_from_bucket_to_bucket(
    db: None, bucket: Bucket, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    document = DocumentFactory(
        collection=CollectionFactory(owner=UserFactory()), file_name="loans.txt"
    )
    document.file.save("loans.txt", ContentFile(TEXT))
    call_command("export_site", tmp_path / "site.zip")
    document.collection.owner.delete()
    document.collection.delete()
    for name in bucket.names():
        bucket.bucket.Object(name).delete()
    call_command("import_site", tmp_path / "site.zip")
    assert [bucket.content(name) for name in bucket.names()] == [TEXT]


# ------------------------------------------------------------------------------------------------ a store that is away
def test_a_file_that_is_gone_is_told_from_a_store_that_is_away(
    client: APIClient, bucket: Bucket
) -> None:
    document = uploaded(client)
    bucket.bucket.objects.delete()
    assert client.get(f"/api/documents/{document.pk}/file").status_code == 404
    bucket.lose()
    answer = client.get(f"/api/documents/{document.pk}/file")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    bucket.make()


def test_an_upload_to_a_store_that_is_away_is_refused_whole(
    client: APIClient, bucket: Bucket
) -> None:
    bucket.lose()
    assert upload(client).status_code == 503
    assert not Document.objects.exists()
    bucket.make()
    assert upload(client).status_code == 202


@pytest.mark.django_db(transaction=True)
def test_a_document_whose_store_is_away_waits(
    client: APIClient, bucket: Bucket, milvus: Any, offline: None
) -> None:
    document = uploaded(client)
    bucket.lose()
    assert tasks.ingest_next() == "waiting"
    bucket.make()
    bucket.bucket.Object(f"site/{document.file.name}").put(Body=TEXT)
    IngestJob.objects.update(not_before=None)
    assert tasks.ingest_next() == "ready"


@pytest.mark.django_db(transaction=True)
def test_a_file_that_could_not_be_deleted_is_deleted_by_a_worker(
    client: APIClient, bucket: Bucket, messages: list[tuple[Any, ...]]
) -> None:
    document = uploaded(client)
    bucket.lose()
    assert client.delete(f"/api/documents/{document.pk}").status_code == 204
    [(_, name)] = [message for message in messages if message[0] == tasks.file_delete.name]
    bucket.make()
    bucket.bucket.Object(f"site/{name}").put(Body=TEXT)
    tasks.file_delete(name)
    assert bucket.names() == []


@pytest.mark.django_db(transaction=True)
async def test_readyz_says_that_the_store_is_away(
    bucket: Bucket, async_client: AsyncClient
) -> None:
    assert (await async_client.get("/readyz")).json()["dependencies"]["uploads"]["state"] == "ok"
    bucket.lose()
    assert (await async_client.get("/readyz")).json()["dependencies"]["uploads"]["state"] == "down"
    bucket.make()


# ------------------------------------------------------------------------------------------------ set-up
@pytest.mark.django_db
@pytest.mark.parametrize(("other", "told"), [("", set()), ("/elsewhere", {"uploads_not_shared"})])
def test_processes_that_use_different_places_are_told(
    bucket: Bucket, settings: Any, other: str, told: set[str]
) -> None:
    mark = presence.facts()["uploads"]
    settings.SITE = settings.SITE.replace(uploads=settings.SITE.uploads + other)
    process(pid=1, uploads=mark)
    process("worker", uploads=presence.facts()["uploads"])
    assert {finding.code for finding in findings()} & {"uploads_not_shared"} == told


@pytest.mark.parametrize(
    "address", ["bucket", "https://s3.example.org/bucket", "s3://", "s3://b?x=1"]
)
def test_a_bucket_s_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="RAGSITE_UPLOADS"):
        SiteSettings.from_env({"RAGSITE_UPLOADS": address})


def test_a_bucket_without_its_packages_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(SettingsError, match=r"\[s3\]"):
        uploads_storage(SiteSettings(uploads="s3://documents"))
