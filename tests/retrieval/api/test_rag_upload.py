"""POST /api/rag/upload."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.api.documents import PERSONAL_COLLECTION
from retrieval.models import Collection, Document
from tests.factories import CollectionFactory, UserFactory
from tests.retrieval.api.conftest import text_file

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def send(client: APIClient, *files: Any) -> Any:
    return client.post("/api/rag/upload", {"file": list(files)}, format="multipart")


def test_a_file_goes_into_the_users_own_private_collection(client: APIClient, user: User) -> None:
    response = send(client, text_file("leave.txt"))
    assert response.status_code == 202
    (entry,) = response.json()["documents"]
    document = Document.objects.get(pk=entry["id"])
    assert (document.file_name, entry["status"]) == ("leave.txt", "queued")
    assert (document.collection.owner, document.collection.visibility) == (user, "private")


def test_the_same_collection_is_used_again_and_each_user_has_one(
    client: APIClient, stranger: APIClient, user: User
) -> None:
    for one, name in ((client, "a.txt"), (client, "b.txt"), (stranger, "c.txt")):
        send(one, text_file(name, name.encode()))
    assert Collection.objects.get(owner=user).documents.count() == 2
    assert Collection.objects.exclude(owner=user).get().documents.count() == 1


def test_a_public_collection_of_that_name_is_not_written_into(client: APIClient, user: User) -> None:
    public = CollectionFactory(name=PERSONAL_COLLECTION, owner=UserFactory())
    send(client, text_file())
    assert not public.documents.exists()
    assert Document.objects.get().collection.owner == user


def test_what_can_not_be_taken_is_refused(client: APIClient) -> None:
    nothing, picture = send(client), send(client, text_file("a.png", PNG))
    assert (nothing.status_code, list(nothing.json()["error"]["fields"])) == (400, ["file"])
    assert (picture.status_code, picture.json()["error"]["code"]) == (415, "unsupported_file_type")
    assert not Document.objects.exists()


@pytest.mark.django_db
def test_nobody_uploads_without_signing_in() -> None:
    assert send(APIClient(), text_file()).status_code in (401, 403)
    assert not Document.objects.exists()
