"""A disk without room: nothing half-written stays, the reason is told, and everything goes on by itself."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from ragsite.core import storage
from ragsite.operations import health
from retrieval.models import Document
from tests.clients import api_of
from tests.factories import UserFactory


@pytest.fixture
def small_disk(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """1 MiB for the uploads, all of which may be used."""
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(uploads)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    settings.MEDIA_ROOT = uploads
    monkeypatch.setattr(storage, "MIN_FREE_MIB", 0)
    yield uploads
    subprocess.run(["umount", str(uploads)], check=True)


def upload(user: User, data: bytes) -> Any:
    return api_of(user).post(
        "/api/documents", {"file": SimpleUploadedFile("a.txt", data)}, format="multipart"
    )


@pytest.mark.django_db
def test_upload_on_a_full_disk_is_507_and_the_next_one_that_fits_is_stored(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = UserFactory()
    monkeypatch.setattr(
        storage, "free_mib", lambda: 1000.0
    )  # somebody else fills it after the look
    response = upload(user, b"Ten books. " * 150_000)
    assert (response.status_code, response.json()["error"]["code"]) == (507, "storage_full")
    assert "disk of the site is full" in response.json()["error"]["message"]
    assert (
        not [path for path in small_disk.rglob("*") if path.is_file()]
        and not Document.objects.exists()
    )
    assert upload(user, b"Ten books.").status_code == 202


@pytest.mark.django_db
def test_room_is_kept_free(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MIN_FREE_MIB", 1)
    assert upload(UserFactory(), b"Ten books.").status_code == 507
    assert list(small_disk.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_a_full_database_is_507() -> None:
    user = UserFactory()
    if connection.vendor != "sqlite":
        pytest.skip("its disk cannot be made small here")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        try:
            api = api_of(user)
            status, tries = 201, 0
            while status == 201 and (tries := tries + 1) < 200:
                answer = api.post(
                    "/api/collections", {"name": f"{tries}-{'x' * 90}"}, format="json"
                )
                status = answer.status_code
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert (status, answer.json()["error"]["code"]) == (507, "storage_full")


async def test_readyz_tells_that_the_disk_is_full(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "MIN_FREE_MIB", 64)
    told = await health._state("storage", health._storage)
    assert told["state"] == "down"
    assert told["reason"] == "the disk is full: 1 MiB are left"


def test_a_data_folder_that_is_not_made_yet_has_the_room_of_the_disk(
    settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = settings.MEDIA_ROOT = tmp_path / "not" / "made"
    assert storage.free_mib() == pytest.approx(
        shutil.disk_usage(tmp_path).free / storage.MIB, rel=0.1
    )
