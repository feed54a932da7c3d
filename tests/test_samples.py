"""The sample handbook: complete, readable, and loaded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name
from retrieval.knowledge.services.samples import (
    SAMPLES_DIR,
    read_manifest,
    read_questions,
    sample_questions,
    samples_load,
)
from retrieval.models import Collection, Document, IngestJob
from tests.factories import UserFactory

DOCUMENTS = read_manifest()["documents"]
QUESTIONS = read_questions()


@pytest.fixture
def data_dir(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "uploads"
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *args, **options: None)
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["file"])
async def test_every_file_can_be_read(document: dict[str, Any]) -> None:
    path = SAMPLES_DIR / document["file"]
    parsed = parse_file(path, kind=kind_by_name(path.name))
    assert len(parsed.text) > 600
    assert "\ufffd" not in parsed.text
    name = {"en": "Northlake University", "zh-Hans": "北湖大学", "zh-Hant": "北湖大學"}[document["language"]]
    assert name in parsed.text


# ------------------------------------------------------------------------------------------------ loading
def test_loading_makes_public_collections_of_the_site_with_queued_documents(db: None, data_dir: Path) -> None:
    assert len(samples_load()) == len(DOCUMENTS)
    assert {(c.name, c.owner, c.visibility) for c in Collection.objects.all()} == {
        ("handbook", None, "public"),
        ("staff-handbook", None, "public"),
    }
    assert IngestJob.objects.filter(state="waiting").count() == len(DOCUMENTS)
    document = Document.objects.get(file_name="examination-regulations-2025.md")
    assert (document.title, document.department, document.policy_year, document.tags) == (
        "Examination Regulations (2025)", "Registry", 2025, ["examinations"],
    )  # fmt: skip


def test_samples_that_somebody_deleted_do_not_come_back_at_the_next_start(db: None, data_dir: Path) -> None:
    samples_load()
    Collection.objects.all().delete()
    assert samples_load() == []
    assert not Collection.objects.exists()


# ------------------------------------------------------------------------------------------------ suggestions
@pytest.fixture
def ready(db: None, data_dir: Path) -> Callable[..., None]:
    def make(**which: Any) -> None:
        samples_load()
        Document.objects.filter(**which).update(status=Document.Status.READY)

    return make


def test_each_that_is_suggested_has_its_documents(ready: Callable[..., None]) -> None:
    ready()
    suggested = {question["text"] for question in sample_questions(UserFactory())}
    needed = {entry["question"]: entry["documents"] for entry in QUESTIONS if entry["expects"] == "ANSWER"}
    assert len(suggested) > 9 and suggested <= needed.keys()
    gone = needed[next(iter(suggested))][0]
    Document.objects.get(file_name=gone.split("/")[1]).delete()
    left = {question["text"] for question in sample_questions(UserFactory())}
    assert left == {question for question in suggested if gone not in needed[question]}


def test_nothing_is_suggested_to_who_cannot_see_the_samples(ready: Callable[..., None]) -> None:
    ready()
    Collection.objects.update(visibility=Collection.Visibility.PRIVATE)
    assert sample_questions(UserFactory()) == []
