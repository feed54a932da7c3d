"""A new account tries to speak to everybody by taking a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from retrieval.models import Collection, Document
from retrieval.providers.embeddings import LEXICAL_SPACE
from retrieval.services.samples import read_manifest
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.retrieval.api.conftest import repair_index, upload

SAMPLES = [entry["name"] for entry in read_manifest()["collections"]]


@pytest.fixture
def attacker(db: None) -> User:
    return UserFactory(username="mallory")


@pytest.mark.parametrize("name", ["documents", *SAMPLES])
def test_nobody_elses_uploads_and_names_are_taken(
    client: APIClient, user: User, attacker: User, client_of: Callable[[User], APIClient], name: str
) -> None:
    hostile = client_of(attacker)
    assert hostile.post("/api/collections", {"name": name, "visibility": "public"}).status_code == 403
    CollectionFactory(name=name, owner=attacker)  # one from before the permission was asked for
    sites = CollectionFactory(name=name)
    assert client.get(f"/api/collections/{name}").json()["id"] == str(sites.pk)
    assert upload(client, collection=name).status_code == upload(client).status_code == 202
    assert {document.collection.owner for document in Document.objects.all()} == {user}


@pytest.mark.django_db(transaction=True)
def test_his_text_is_found_only_where_it_is_named(
    milvus: Any, offline: None, client: APIClient, attacker: User
) -> None:
    space = {"embedding_model": LEXICAL_SPACE.model, "embedding_dim": LEXICAL_SPACE.dim}
    taken = CollectionFactory(name="documents", owner=attacker, **space)
    ChunkFactory(document=DocumentFactory(collection=taken, title="Lies"), text="Ten thousand books may be borrowed.")
    rules = DocumentFactory(collection=CollectionFactory(name="rules", **space), title="Loans")
    ChunkFactory(document=rules, text="Ten books may be borrowed.")
    repair_index()

    def titles(**body: Any) -> list[str]:
        found = client.post("/api/search", {"query": "borrow ten books", **body}, format="json").json()["candidates"]
        return [candidate["title"] for candidate in found]

    assert titles() == ["Loans"]
    assert titles(collections=["mallory/documents"]) == ["Lies"]
    Collection.objects.filter(pk=taken.pk).update(approved=True)
    assert sorted(titles()) == ["Lies", "Loans"]
