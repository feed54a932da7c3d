"""PUT and DELETE /api/documents/by-key/…: idempotent, and each collection's own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from ragsite.accounts.tokens import token_create
from retrieval.knowledge.services.documents import document_move, document_supersede
from retrieval.models import Document, DocumentKey, IngestJob
from tests.factories import CollectionFactory
from tests.retrieval.knowledge.api.conftest import text_file, upload

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/api/documents/by-key/wiki/loans/rules.txt"


def put(
    client: APIClient, data: bytes = b"Ten books.", address: str = ADDRESS, **fields: Any
) -> Any:
    return client.put(address, {"file": text_file("rules.txt", data), **fields}, format="multipart")


def make_ready() -> None:
    """As the worker would."""
    for document in Document.objects.filter(status="queued"):
        Document.objects.filter(pk=document.pk).update(status="ready")
        IngestJob.objects.filter(document=document).update(state="done")
        if document.replaces_id:
            document_supersede(document_id=document.replaces_id)


def test_the_same_content_again_is_read_once(client: APIClient) -> None:
    first, again = put(client, title="Loans"), put(client)
    assert (first.status_code, first.json()["outcome"], first.json()["title"]) == (
        202,
        "added",
        "Loans",
    )
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")
    assert again.json()["id"] == first.json()["id"] and IngestJob.objects.count() == 1
    assert put(client, department="Library").json()["outcome"] == "unchanged"
    assert (Document.objects.get().department, Document.objects.get().title) == ("Library", "Loans")


def test_the_hash_alone_is_enough_where_nothing_changed(client: APIClient) -> None:
    digest = hashlib.sha256(b"Ten books.").hexdigest()
    assert client.put(ADDRESS, {"content_hash": digest}, format="multipart").status_code == 409
    assert put(client, content_hash="0" * 64).status_code == 400 and not Document.objects.exists()
    put(client, content_hash=digest)
    assert (
        client.put(ADDRESS, {"content_hash": digest}, format="multipart").json()["outcome"]
        == "unchanged"
    )


def test_changed_content_takes_the_place_and_one_earlier_version_stays(client: APIClient) -> None:
    ids = []
    for n in range(4):
        ids.append(put(client, f"{n} books.".encode()).json()["id"])
        make_ready()
    assert [
        str(pk) for pk in Document.objects.order_by("created_at").values_list("pk", flat=True)
    ] == ids[-2:]
    assert (
        str(Document.objects.get(superseded_at=None).pk)
        == ids[-1]
        == str(DocumentKey.objects.get().document_id)
    )


def test_content_that_comes_back_is_in_force_again(client: APIClient) -> None:
    for data in (b"A", b"B", b"A"):
        put(client, data)
        make_ready()
    assert Document.objects.get(superseded_at=None).content_hash == hashlib.sha256(b"A").hexdigest()


def test_content_that_comes_back_before_it_was_replaced_stays(client: APIClient) -> None:
    first = put(client, b"A").json()["id"]
    make_ready()
    put(client, b"B")
    assert put(client, b"A").json()["id"] == first and str(Document.objects.get().pk) == first


def test_what_is_not_read_yet_makes_no_version(client: APIClient) -> None:
    for n in range(3):
        put(client, f"{n} books.".encode())
    assert Document.objects.get().content_hash == hashlib.sha256(b"2 books.").hexdigest()


def test_keys_of_one_content_share_a_document_until_the_last_one_goes(client: APIClient) -> None:
    other = "/api/documents/by-key/wiki/copy.txt"
    assert put(client).json()["id"] == put(client, address=other).json()["id"]
    assert client.delete(ADDRESS).status_code == client.delete(ADDRESS).status_code == 204
    assert Document.objects.count() == 1
    client.delete(other)
    assert not Document.objects.exists() and not DocumentKey.objects.exists()


def test_a_deletion_takes_earlier_versions_along_but_nothing_that_a_person_uploaded(
    client: APIClient,
) -> None:
    uploaded = upload(client, text_file("mine.txt", b"Mine.")).json()["documents"][0]["id"]
    put(client, b"Mine.", "/api/documents/by-key/wiki/mine.txt")
    for data in (b"A", b"B"):
        put(client, data)
        make_ready()
    client.delete(ADDRESS)
    client.delete("/api/documents/by-key/wiki/mine.txt")
    assert str(Document.objects.get().pk) == uploaded


def test_a_document_that_moved_away_is_its_new_collections(client: APIClient) -> None:
    moved = put(client).json()["id"]
    make_ready()
    document = Document.objects.get()
    document_move(
        document=document,
        collection=CollectionFactory(name="archive", owner=document.collection.owner),
    )
    assert not DocumentKey.objects.exists()
    assert put(client, b"Eleven books.").json()["outcome"] == "added"
    make_ready()
    client.delete(ADDRESS)
    document = Document.objects.get()
    assert (str(document.pk), document.superseded_at, document.collection.name) == (
        moved,
        None,
        "archive",
    )


def test_a_key_is_the_collections_and_its_editors_own(
    client: APIClient, stranger: APIClient, user: User
) -> None:
    CollectionFactory(name="policies", visibility="public")
    mine = put(client, collection="policies").json()["id"]  # a plain name is one's own collection
    assert stranger.delete(f"{ADDRESS}?collection={user.username}/policies").status_code == 204
    assert put(stranger, collection=f"{user.username}/policies").status_code == 404
    assert put(client, collection="site:policies").status_code == 403
    assert client.delete(f"{ADDRESS}?collection=site:policies").status_code == 403
    assert str(Document.objects.get().pk) == mine


@pytest.mark.parametrize(
    "address", [f"/api/documents/by-key/wiki/{'x' * 501}", "/api/documents/by-key/wiki/a%00b"]
)
def test_an_impossible_key_is_refused(client: APIClient, address: str) -> None:
    assert put(client, address=address).status_code == client.delete(address).status_code == 400
    assert put(client, address="/api/documents/by-key/wiki/a", colour="red").status_code == 400


def test_the_example_pushes_a_folder_and_takes_out_what_is_gone(
    live_server: Any, user: User, tmp_path: Path
) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for name in ("fees.md", "loans 借阅.md"):
        (folder / name).write_text(f"# {name}")
    script = Path(__file__).parents[4] / "docs" / "examples" / "push_folder.py"
    key = {"RAGSITE_KEY": token_create(user=user, name="script"), "PYTHONIOENCODING": "utf-8"}

    def run() -> list[str]:
        command = [sys.executable, script, live_server.url, folder]
        done = subprocess.run(
            command, env=key, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    assert run() == ["fees.md: added", "loans 借阅.md: added"]
    (folder / "fees.md").unlink()
    assert run() == ["loans 借阅.md: unchanged", "fees.md: deleted"]
    assert Document.objects.get().file_name == "loans 借阅.md"
