"""Of a collection that somebody may not know they learn nothing by golden questions, nor can they take them back."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from feedback.models import GoldenQuestion
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


def test_the_administration_shows_it_to_those_alone_who_know_it(question: GoldenQuestion, owner: User) -> None:
    few = UserFactory(is_staff=True)
    few.user_permissions.set(Permission.objects.filter(content_type__model__in=["goldenquestion"]))
    for user, seen in ((few, False), (UserFactory(is_superuser=True), True)):
        client = Client()
        client.force_login(user)
        assert ("Bob" in client.get(reverse("admin:feedback_goldenquestion_changelist")).text) == seen
