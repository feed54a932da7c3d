"""The drill: a site is backed up while it runs, everything is lost, and what was restored answers as before."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from chat.models import Message, Session, Source
from feedback.models import Rating
from ragsite.operations import backup
from ragsite.operations.backup import backups_in
from retrieval.compose import with_engine
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.knowledge.services.documents import document_create
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.models import Chunk, Collection, Document
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)
from tests.object_store import Bucket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("milvus", "offline")]
TEXTS = {
    "loans.md": "# Loans\n\nUndergraduates may borrow ten books for four weeks.\n",
    "halls.md": "# Halls\n\nA deposit of EUR 300 is due for a room in Lakeside hall.\n",
    "fees.md": "# Fees\n\nLate books cost a fee of one euro a day.\n",
}
QUESTIONS = (
    "How many books may undergraduates borrow?",
    "How much is the deposit for a room?",
)
APPS = ("chat", "feedback", "retrieval", "ragsite")


@pytest.fixture(autouse=True)
def _own_places(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.MEDIA_ROOT = tmp_path / "data" / "uploads"
    settings.DATA_DIR.mkdir()
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)


def make_site() -> None:
    """Three documents that were read, and an answer that was rated."""
    collection = CollectionFactory(name="library", visibility="public")
    for name, text in TEXTS.items():
        upload = ContentFile(text.encode(), name=name)
        document = document_create(
            collection=collection, upload=upload, file_name=name, queue=False
        ).document
        assert with_engine(lambda _, key=document.pk: document_ingest(key)) == "ready"  # type: ignore[misc]
    answer = answered(session=SessionFactory(user=UserFactory(username="ada")))
    chunk = Chunk.objects.first()
    assert chunk is not None
    source = SourceFactory(
        message=answer, marker=1, document_id=chunk.document_id, chunk_id=str(chunk.pk)
    )
    RatingFactory(message=answer, user=answer.session.user, source=source)


@pytest.fixture
def site() -> Iterator[None]:
    make_site()
    yield
    lose_index()


def lose_index() -> None:
    with_engine(lambda engine: engine.index.drop(BUILTIN_SPACE))


def lose_everything(settings: Any) -> None:
    for name in APPS:
        for model in apps.get_app_config(name).get_models():
            model._base_manager.all().delete()
    User.objects.all().delete()
    shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)
    lose_index()


def answers() -> list[Any]:
    """Of each question the answer and its sources, as `manage.py ask` prints them."""
    found = []
    for question in QUESTIONS:
        out = io.StringIO()
        call_command("ask", question, "--json", stdout=out)
        told = json.loads(out.getvalue())
        sources = [
            (source["document_id"], source["chunk_id"], source["text"])
            for source in told["sources"]
        ]
        found.append((told["decision"], told["answer"], sources))
    return found


def rows() -> dict[str, int]:
    return {
        model.__name__: model._base_manager.count()
        for model in (User, Document, Chunk, Message, Source, Rating)
    }


def made(folder: Path, *options: str) -> Path:
    call_command("backup", folder, *options, stdout=io.StringIO())
    return backups_in(folder)[-1]


def restore(folder: Path) -> str:
    """What it says is amiss."""
    told = io.StringIO()
    call_command("restore", folder, stdout=io.StringIO(), stderr=told)
    with_engine(lambda _: index_repair())  # a worker's first deed
    return told.getvalue()


# ------------------------------------------------------------------------------------------------ the drill
def test_a_site_that_lost_everything_answers_as_before(
    site: None, settings: Any, tmp_path: Path
) -> None:
    before = (answers(), rows())
    folder = made(tmp_path / "backups")
    lose_everything(settings)
    assert restore(folder) == ""
    assert (answers(), rows()) == before
    for document in Document.objects.all():
        with document.file.open() as content:
            assert content.read().decode() == TEXTS[document.file_name]


def test_a_temporary_conversation_is_not_restored(
    site: None, settings: Any, tmp_path: Path
) -> None:
    session = SessionFactory(kept=False, expires_at=timezone.now() + timedelta(hours=1))
    answered(session=session)
    attached = CollectionFactory(owner=session.user, conversation_id=session.pk)
    document = DocumentFactory(collection=attached)
    document.file.save("attached.md", ContentFile(b"Ms Ames is ill."))
    folder = made(tmp_path / "backups")
    assert not list(folder.rglob("attached*"))
    lose_everything(settings)
    assert restore(folder) == ""
    left = (Session.objects.filter(kept=False), Document.objects.filter(pk=document.pk))
    assert [rows.exists() for rows in left] == [False, False]


def test_a_bucket_that_was_lost_is_filled_again(
    bucket: Bucket, settings: Any, tmp_path: Path
) -> None:
    make_site()
    names = bucket.names()
    folder = made(tmp_path / "backups")
    lose_everything(settings)
    bucket.lose()
    bucket.make()
    assert restore(folder) == ""
    assert bucket.names() == names
    lose_index()


def test_without_the_files_a_backup_says_so_of_no_document(
    site: None, settings: Any, tmp_path: Path
) -> None:
    folder = made(tmp_path / "backups", "--no-uploads")
    assert not (folder / "uploads").exists()
    lose_everything(settings)
    assert restore(folder) == ""
    assert Document.objects.count() == len(TEXTS)


# ------------------------------------------------------------------------------------------------ a backup
def test_files_of_the_backup_before_are_linked_and_old_backups_go(
    site: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tmp_path / "backups"
    for day in range(1, 4):
        monkeypatch.setattr(backup, "NAMED_BY", f"2026-01-0{day}T02-30-00Z")
        made(parent, "--keep", "2")
    assert [folder.name[:10] for folder in backups_in(parent)] == ["2026-01-02", "2026-01-03"]
    name = Document.objects.first().file.name  # type: ignore[union-attr]
    copies = [(folder / "uploads" / name).stat().st_ino for folder in backups_in(parent)]
    assert copies[0] == copies[1]


def test_one_that_breaks_off_leaves_nothing(
    site: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path) -> None:
        raise backup.BackupError("pg_dump failed: no room")

    monkeypatch.setattr(backup, "_database_dump", broken)
    with pytest.raises(CommandError, match="no room"):
        made(tmp_path / "backups")
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_file_that_is_gone_is_named_and_the_rest_kept(
    site: None, settings: Any, tmp_path: Path
) -> None:
    document = Document.objects.get(file_name="fees.md")
    document.file.storage.delete(document.file.name)
    told = io.StringIO()
    call_command("backup", tmp_path / "backups", stdout=io.StringIO(), stderr=told)
    assert str(document.pk) in told.getvalue()
    lose_everything(settings)
    assert str(document.pk) in restore(backups_in(tmp_path / "backups")[0])
    assert Document.objects.count() == len(TEXTS)


def test_it_is_for_its_owner_alone_and_holds_the_key(
    site: None, settings: Any, tmp_path: Path
) -> None:
    (settings.DATA_DIR / "secret_key").write_text("the key of the folder")
    folder = made(tmp_path / "backups")
    assert folder.stat().st_mode & 0o777 == 0o700
    (settings.DATA_DIR / "secret_key").unlink()
    lose_everything(settings)
    restore(folder)
    assert (settings.DATA_DIR / "secret_key").read_text() == "the key of the folder"


# ------------------------------------------------------------------------------------------------ a restore
def test_a_site_with_people_is_not_overwritten(site: None, tmp_path: Path) -> None:
    folder = made(tmp_path / "backups")
    with pytest.raises(CommandError, match="not empty"):
        restore(folder)


def test_another_key_than_the_site_had_is_told(site: None, settings: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "backups")
    lose_everything(settings)
    settings.SECRET_KEY = "another"
    assert "another RAGSITE_SECRET_KEY" in restore(folder)


def test_a_damaged_file_is_named(site: None, settings: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "backups")
    document = Document.objects.get(file_name="fees.md")
    (folder / "uploads" / document.file.name).write_text("something else")
    lose_everything(settings)
    assert f"{document.pk}) is not the one" in restore(folder)


@pytest.mark.parametrize("damage", ["cut", "missing", "no backup"])
def test_a_damaged_backup_restores_nothing(
    site: None, settings: Any, tmp_path: Path, damage: str
) -> None:
    folder = made(tmp_path / "backups")
    lose_everything(settings)
    dump = folder / backup.DATABASES[connection.vendor]
    if damage == "cut":
        dump.write_bytes(dump.read_bytes()[: dump.stat().st_size // 2])
    elif damage == "missing":
        dump.unlink()
    else:
        (folder / "backup.json").write_text("{}")
    with pytest.raises(CommandError):
        restore(folder)
    assert not Collection.objects.exists() and not User.objects.exists()
