"""The sample handbook: complete, readable, and loaded once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from django.utils import timezone

from retrieval.ingest.encodings import decode_text, detect_encoding
from retrieval.ingest.limits import ParseLimits
from retrieval.ingest.reading import parse_file
from retrieval.ingest.sniff import kind_by_name
from retrieval.models import Collection, Document, IngestJob
from retrieval.services.samples import (
    SAMPLES_DIR,
    read_manifest,
    read_questions,
    sample_questions,
    samples_load,
)
from tests.factories import UserFactory

DOCUMENTS = read_manifest()["documents"]
QUESTIONS = read_questions()
FILES = {document["file"] for document in DOCUMENTS}


@pytest.fixture
def data_dir(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "uploads"
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *args, **options: None)
    return tmp_path


# ------------------------------------------------------------------------------------------------ the files
def test_every_file_stands_in_the_manifest_and_the_other_way_round() -> None:
    there = {path.relative_to(SAMPLES_DIR).as_posix() for path in SAMPLES_DIR.glob("*/*")}
    assert there == FILES


def test_every_document_has_its_metadata() -> None:
    names = {entry["name"] for entry in read_manifest()["collections"]}
    for document in DOCUMENTS:
        assert document["collection"] in names
        assert document["title"] and document["department"] and document["doc_type"] and document["tags"]
        assert 2021 <= document["policy_year"] <= 2026
        assert document["supersedes"] is None or document["supersedes"] in FILES


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["file"])
async def test_every_file_can_be_read(document: dict[str, Any]) -> None:
    path = SAMPLES_DIR / document["file"]
    parsed = parse_file(path, kind=kind_by_name(path.name), limits=ParseLimits())
    assert len(parsed.text) > 600
    assert "\ufffd" not in parsed.text
    name = {"en": "Northlake University", "zh-Hans": "北湖大学", "zh-Hant": "北湖大學"}[document["language"]]
    assert name in parsed.text


@pytest.mark.parametrize(
    ("file", "codec", "word"),
    [
        ("library-seats-2024-zh-hans.txt", "gb18030", "研讨室"),
        ("network-use-2024-zh-hant.txt", "big5hkscs", "電子郵件"),
    ],
)
def test_the_two_text_files_keep_their_old_encodings(file: str, codec: str, word: str) -> None:
    data = (SAMPLES_DIR / "handbook" / file).read_bytes()
    with pytest.raises(UnicodeDecodeError):
        data.decode("utf-8")
    assert detect_encoding(data) == codec
    assert word in decode_text(data)


def test_the_pdf_has_text_on_every_page() -> None:
    pdf = pypdfium2.PdfDocument(SAMPLES_DIR / "handbook" / "thesis-submission-guide-2025.pdf")
    texts = [page.get_textpage().get_text_range() for page in pdf]
    assert len(texts) == 4
    assert "EUR 420" in texts[3]


# ------------------------------------------------------------------------------------------------ the questions
def test_every_question_names_documents_that_exist() -> None:
    for entry in QUESTIONS:
        assert set(entry["documents"]) <= FILES, entry["question"]
        assert (entry["expects"] == "NO_ANSWER") == (not entry["documents"])
        assert len(entry["documents"]) > 1 or entry["expects"] != "CLARIFY"
        assert bool(entry["answer"]) == (entry["expects"] == "ANSWER")


@pytest.mark.parametrize("entry", [entry for entry in QUESTIONS if entry["answer"]], ids=lambda entry: entry["answer"])
async def test_the_answer_stands_in_every_document_that_is_named(entry: dict[str, Any]) -> None:
    for file in entry["documents"]:
        path = SAMPLES_DIR / file
        parsed = parse_file(path, kind=kind_by_name(path.name), limits=ParseLimits())
        assert entry["answer"] in " ".join(parsed.text.split())


def test_there_are_questions_of_every_kind_in_every_language() -> None:
    assert {entry["expects"] for entry in QUESTIONS} == {"ANSWER", "CLARIFY", "NO_ANSWER"}
    for language in ("en", "zh-Hans", "zh-Hant"):
        assert sum(entry["language"] == language for entry in QUESTIONS) >= 5
    assert len({entry["question"] for entry in QUESTIONS}) == len(QUESTIONS)


# ------------------------------------------------------------------------------------------------ loading
def test_loading_makes_public_collections_of_the_site_with_queued_documents(db: None, data_dir: Path) -> None:
    loaded = samples_load()
    assert loaded.added == len(DOCUMENTS)
    assert {(c.name, c.owner, c.visibility) for c in Collection.objects.all()} == {
        ("handbook", None, "public"),
        ("staff-handbook", None, "public"),
    }
    assert IngestJob.objects.filter(state="waiting").count() == len(DOCUMENTS)
    document = Document.objects.get(file_name="examination-regulations-2025.md")
    assert (document.title, document.department, document.policy_year, document.tags) == (
        "Examination Regulations (2025)", "Registry", 2025, ["examinations"],
    )  # fmt: skip


def test_loading_by_hand_a_second_time_adds_nothing(db: None, data_dir: Path) -> None:
    samples_load()
    again = samples_load(force=True)
    assert (again.added, again.unchanged) == (0, len(DOCUMENTS))
    assert Document.objects.count() == IngestJob.objects.count() == len(DOCUMENTS)


def test_samples_that_somebody_deleted_do_not_come_back_at_the_next_start(db: None, data_dir: Path) -> None:
    samples_load()
    Collection.objects.all().delete()
    assert samples_load().skipped is True
    assert not Collection.objects.exists()


def test_samples_that_somebody_deleted_do_not_come_back_with_a_restored_backup(db: None, data_dir: Path) -> None:
    UserFactory(date_joined=timezone.now() - timedelta(days=30))
    assert samples_load().skipped is True
    assert not Collection.objects.exists()


def test_a_load_that_broke_off_goes_on_where_it_was(db: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = iter(range(5))
    read = Path.read_bytes

    def break_off(path: Path) -> bytes:
        if path.is_relative_to(SAMPLES_DIR) and next(files, None) is None:
            raise OSError("disk gone")
        return read(path)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk gone"):
        patch.setattr(Path, "read_bytes", break_off)
        samples_load()
    again = samples_load()
    assert (again.added, again.unchanged) == (len(DOCUMENTS) - 5, 5)


# ------------------------------------------------------------------------------------------------ suggestions
@pytest.fixture
def ready(db: None, data_dir: Path) -> Callable[..., None]:
    def make(**which: Any) -> None:
        samples_load()
        Document.objects.filter(**which).update(status=Document.Status.READY)

    return make


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_the_readers_language_comes_first_and_each_has_an_answer(ready: Callable[..., None], language: str) -> None:
    ready()
    suggested = sample_questions(UserFactory(), language=language.lower())
    assert suggested[0]["language"] == language and len(suggested) == 9
    answered = {entry["question"] for entry in QUESTIONS if entry["expects"] == "ANSWER"}
    assert {question["text"] for question in suggested} <= answered


def test_nothing_is_suggested_before_a_document_is_ready(db: None, data_dir: Path) -> None:
    samples_load()
    assert sample_questions(UserFactory()) == []


def test_nothing_is_suggested_to_who_cannot_see_the_samples(ready: Callable[..., None]) -> None:
    ready()
    Collection.objects.update(visibility=Collection.Visibility.PRIVATE)
    assert sample_questions(UserFactory()) == []


def test_questions_about_a_hidden_collection_are_left_out(ready: Callable[..., None]) -> None:
    ready(collection__name="handbook")
    suggested = {question["text"] for question in sample_questions(UserFactory())}
    staff_only = {
        entry["question"] for entry in QUESTIONS if any(file.startswith("staff-") for file in entry["documents"])
    }
    assert suggested
    assert not suggested & staff_only
