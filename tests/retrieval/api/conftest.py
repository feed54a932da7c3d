"""Clients of two users, and uploads that reach no broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from retrieval.services import queueing
from tests.factories import UserFactory


@pytest.fixture(autouse=True)
def queued(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The messages that would have gone to the broker."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    messages: list[tuple[Any, ...]] = []
    monkeypatch.setattr(queueing, "_send", lambda *message: messages.append(message))
    return messages


@pytest.fixture
def client_of() -> Callable[[User], APIClient]:
    def client(user: User) -> APIClient:
        api = APIClient()
        api.force_authenticate(user)
        return api

    return client


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


@pytest.fixture
def client(client_of: Callable[[User], APIClient], user: User) -> APIClient:
    return client_of(user)


@pytest.fixture
def stranger(db: None, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(UserFactory())


@pytest.fixture
def staff(db: None, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(UserFactory(is_staff=True))


def text_file(name: str = "rules.txt", data: bytes = b"Ten books.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def upload(client: APIClient, *files: SimpleUploadedFile, **fields: Any) -> Any:
    """The response of POST /api/documents."""
    return client.post("/api/documents", {"file": list(files) or [text_file()], **fields}, format="multipart")
