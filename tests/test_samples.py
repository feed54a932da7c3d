"""The sample handbook: complete, readable, and loaded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name
from retrieval.knowledge.scopes import scope_for
from retrieval.knowledge.selectors import default_documents
from retrieval.knowledge.services.samples import (
    SAMPLES_DIR,
    read_manifest,
    read_questions,
    sample_questions,
    samples_load,
)
from retrieval.models import Collection, Document, IngestJob
from tests.clients import api_of, client_of
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory

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
    name = {"en": "Northlake University", "zh-Hans": "北湖大学", "zh-Hant": "北湖大學"}[
        document["language"]
    ]
    assert name in parsed.text


# ------------------------------------------------------------------------------------------------ loading
def test_loading_makes_public_collections_of_the_site_with_queued_documents(
    db: None, data_dir: Path
) -> None:
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


def test_samples_that_somebody_deleted_do_not_come_back_at_the_next_start(
    db: None, data_dir: Path
) -> None:
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
    suggested = {
        question["text"] for question in sample_questions(default_documents(UserFactory()))
    }
    needed = {
        entry["question"]: entry["documents"] for entry in QUESTIONS if entry["expects"] == "ANSWER"
    }
    assert len(suggested) > 9 and suggested <= needed.keys()
    gone = needed[next(iter(suggested))][0]
    Document.objects.get(file_name=gone.split("/")[1]).delete()
    left = {question["text"] for question in sample_questions(default_documents(UserFactory()))}
    assert left == {question for question in suggested if gone not in needed[question]}


def test_nothing_is_suggested_to_who_cannot_see_the_samples(ready: Callable[..., None]) -> None:
    ready()
    Collection.objects.update(visibility=Collection.Visibility.PRIVATE)
    assert sample_questions(default_documents(UserFactory())) == []


# ------------------------------------------------------------------------------------------------ stepping back
@pytest.fixture
def reader(db: None) -> Any:
    """Of a site with a sample that is ready."""
    sample = CollectionFactory(name="handbook", owner=None, visibility=Collection.Visibility.PUBLIC)
    Collection.objects.filter(pk=sample.pk).update(is_sample=True)
    DocumentFactory(collection=sample, title="Rules", status=Document.Status.READY)
    return UserFactory()


def add_own(user: Any, count: int) -> None:
    own, _ = Collection.objects.get_or_create(owner=user, name="mine")
    for _ in range(count):
        DocumentFactory(collection=own, title="Travel policy", status=Document.Status.READY)


def searched(user: Any) -> set[str]:
    return {ref.name for ref in scope_for(user=user).collections}


def test_samples_are_searched_until_the_third_own_document(reader: Any) -> None:
    add_own(reader, 2)
    assert searched(reader) == {"handbook", "mine"}
    add_own(reader, 1)
    assert searched(reader) == {"mine"}
    assert searched(UserFactory()) == {"handbook"}


def test_who_named_the_samples_still_searches_them(reader: Any) -> None:
    add_own(reader, 3)
    assert {ref.name for ref in scope_for(user=reader, names=["handbook"]).collections} == {
        "handbook"
    }


@pytest.mark.parametrize(("own", "left_out"), [(1, True), (3, False)])
def test_a_choice_counts_before_the_rule_and_can_be_taken_back(
    reader: Any, own: int, left_out: bool
) -> None:
    add_own(reader, own)
    api = api_of(reader)
    before = api.get("/api/samples").json()
    assert before == {
        "there": True,
        "left_out": not left_out,
        "chosen": False,
        "own_documents": own,
    }
    assert api.put("/api/samples", {"left_out": left_out}).json()["left_out"] is left_out
    assert ("handbook" in searched(reader)) is not left_out
    assert api.put("/api/samples", {"left_out": None}).json() == before


def test_a_new_reader_is_told_what_is_here_and_where_to_add_documents(reader: Any) -> None:
    page = client_of(reader).get("/").text
    assert (
        "a sample handbook of an invented university (1 document)" in page
        and "Upload documents" in page
    )


def test_the_readmes_question_is_the_first_that_is_offered(db: None) -> None:
    first = next(
        entry for entry in QUESTIONS if entry.get("suggested") and entry["language"] == "en"
    )
    assert f"“{first['question']}”" in readme() or f'"{first["question"]}"' in readme()


def test_owners_are_offered_what_their_own_documents_say(reader: Any) -> None:
    add_own(reader, 1)
    document = Document.objects.get(title="Travel policy")
    ChunkFactory(document=document, heading="Travel policy › Rail fares", token_count=90)
    ChunkFactory(document=document, heading="Travel policy › Hotels", token_count=20)
    page = client_of(reader).get("/").text
    assert "What does “Travel policy” say about “Rail fares”?" in page
    assert "invented university" not in page


def readme() -> str:
    return (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------ told apart
def test_documents_say_whether_they_are_samples(reader: Any) -> None:
    add_own(reader, 1)
    rows = api_of(reader).get("/api/documents").json()["results"]
    assert {row["title"]: row["is_sample"] for row in rows} == {
        "Rules": True,
        "Travel policy": False,
    }


def test_the_chat_page_knows_the_samples_for_their_badge(reader: Any) -> None:
    add_own(reader, 1)
    page = client_of(reader).get("/")
    assert page.context["boot"]["sample_documents"] == [str(Document.objects.get(title="Rules").pk)]
