"""Of a collection that somebody may not know they learn nothing by golden questions, nor by trying to make some."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from feedback.curation.golden import golden_import
from feedback.models import GoldenQuestion
from ragsite.core.errors import InvalidInputError
from retrieval.models import Document
from tests.factories import CollectionFactory, DocumentFactory, UserFactory
from tests.review.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return person("Curators", username="alice")


@pytest.fixture
def wages(owner: User) -> Document:
    private = CollectionFactory(name="wages", owner=owner, visibility="private")
    document: Document = DocumentFactory(collection=private, title="Wages of Bob", file_name="bob.md")
    return document


@pytest.fixture
def question(wages: Document) -> GoldenQuestion:
    made: GoldenQuestion = GoldenQuestion.objects.create(text="What does Bob earn?", collection=wages.collection)
    made.documents.add(wages)
    return made


def _errors(by: User, content: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(InvalidInputError) as raised:
        golden_import(content=json.dumps(content), by=by)
    return raised.value.fields


def test_an_import_knows_no_more_of_it_than_of_one_that_is_not_there(wages: Document, owner: User) -> None:
    line = {"question": "x", "documents": ["bob.md"]}
    for name in ("wages", "alice/wages", str(wages.collection_id)):
        told = _errors(person("Curators"), {**line, "collection": name})
        assert told == {"line 1": [f"There is no collection {name}.", name]}
    assert golden_import(content=json.dumps({**line, "collection": "wages"}), by=owner) == 1


def test_by_a_name_that_several_have_each_means_the_one_they_know(wages: Document) -> None:
    own = DocumentFactory(collection=CollectionFactory(name="wages"), file_name="own.md")
    line = {"question": "x", "collection": "wages", "documents": ["own.md"]}
    assert golden_import(content=json.dumps(line), by=person("Curators")) == 1
    assert GoldenQuestion.objects.get().collection == own.collection


def test_the_administration_shows_it_to_those_alone_who_know_it(question: GoldenQuestion, owner: User) -> None:
    few = UserFactory(is_staff=True)
    few.user_permissions.set(Permission.objects.filter(content_type__model__in=["goldenquestion"]))
    for user, seen in ((few, False), (UserFactory(is_superuser=True), True)):
        client = Client()
        client.force_login(user)
        assert ("Bob" in client.get(reverse("admin:feedback_goldenquestion_changelist")).text) == seen
