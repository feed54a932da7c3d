"""Clients of two users, and uploads that reach no broker."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from retrieval.compose import close_engine
from retrieval.knowledge.index_sync.repair import index_repair
from tests.clients import api_of
from tests.factories import UserFactory


@pytest.fixture(autouse=True)
def _nothing_leaves(queue: list[Any], uploads: None) -> None: ...


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


@pytest.fixture
def client(user: User) -> APIClient:
    return api_of(user)


@pytest.fixture
def stranger(db: None) -> APIClient:
    return api_of(UserFactory())


@pytest.fixture
def staff(db: None) -> APIClient:
    return api_of(UserFactory(is_staff=True))


def text_file(name: str = "rules.txt", data: bytes = b"Ten books.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def upload(client: APIClient, *files: SimpleUploadedFile, **fields: Any) -> Any:
    """The response of POST /api/documents."""
    return client.post(
        "/api/documents", {"file": list(files) or [text_file()], **fields}, format="multipart"
    )


def repair_index() -> None:
    """Whatever documents a test made are searchable then."""

    async def repair() -> None:
        try:
            await index_repair()
        finally:
            await close_engine()

    async_to_sync(repair)()
