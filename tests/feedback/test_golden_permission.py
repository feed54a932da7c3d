"""Of a collection that somebody may not know they learn nothing by golden questions, nor by trying to make some."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from feedback.curation.golden_files import golden_import
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
    made.relevant.create(document=wages)
    return made


def _errors(by: User, content: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(InvalidInputError) as raised:
        golden_import(content=json.dumps(content).encode(), by=by)
    return raised.value.fields


def test_an_import_knows_no_more_of_it_than_of_one_that_is_not_there(wages: Document, owner: User) -> None:
    line = {"question": "x", "relevant": ["bob.md"]}
    for name in ("wages", "alice/wages", str(wages.collection_id)):
        told = _errors(person("Curators"), {**line, "collection": name})
        assert told == {"line 1": [f"collection: There is no collection {name}."]}
    assert golden_import(content=json.dumps({**line, "collection": "wages"}).encode(), by=owner).added == 1


def test_by_a_name_that_several_have_each_means_the_one_they_know(wages: Document) -> None:
    own = DocumentFactory(collection=CollectionFactory(name="wages"), file_name="own.md")
    line = {"question": "x", "collection": "wages", "relevant": ["own.md"]}
    assert golden_import(content=json.dumps(line).encode(), by=person("Curators")).added == 1
    assert GoldenQuestion.objects.get().collection == own.collection


def test_the_desk_takes_it_back_for_those_alone_who_know_it(question: GoldenQuestion, owner: User) -> None:
    undo = reverse("review_golden_undo", args=[question.pk])
    for by, status in ((person("Curators"), 404), (person("Reviewers"), 403), (owner, 302)):
        client = Client()
        client.force_login(by)
        assert client.post(undo).status_code == status


def test_a_job_of_replays_leaves_it_out(question: GoldenQuestion) -> None:
    for role, status in (("Reviewers", 400), ("Administrators", 202)):
        client = APIClient()
        client.force_authenticate(person(role))
        assert client.post("/api/review/replay-batches", {"golden": "*", "workflow": "react"}).status_code == status


def test_the_administration_shows_it_to_superusers_alone(question: GoldenQuestion, wages: Document) -> None:
    few = UserFactory(is_staff=True)
    few.user_permissions.set(Permission.objects.filter(content_type__model__in=["goldenquestion", "goldenrelevance"]))
    pages = [reverse("admin:feedback_goldenquestion_changelist"), reverse("admin:feedback_golden_export")]
    for user, seen in ((few, False), (UserFactory(is_superuser=True), True)):
        client = Client()
        client.force_login(user)
        assert ["Bob" in client.get(page).text for page in pages] == [seen] * 2
        added = client.post(
            reverse("admin:feedback_goldenquestion_add"),
            {"text": "x", "collection": str(wages.collection_id), "expects": "NO_ANSWER", "relevant-TOTAL_FORMS": 0,
             "relevant-INITIAL_FORMS": 0},
        )  # fmt: skip
        assert (added.status_code == 302) == seen
