"""Golden questions: one by one, and as JSONL in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from feedback.curation.golden import Relevant, golden_delete, golden_save
from feedback.curation.golden_files import golden_export, golden_import
from feedback.models import GoldenQuestion
from feedback.rounds.guard import golden_questions
from ragsite.core.errors import InvalidInputError
from retrieval.models import Chunk, Collection
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory
from tests.review.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> User:
    return person("Curators")


@pytest.fixture
def policies() -> Collection:
    collection: Collection = CollectionFactory(name="policies")
    return collection


@pytest.fixture
def loans(policies: Collection) -> Chunk:
    chunk: Chunk = ChunkFactory(document=DocumentFactory(collection=policies, title="Loans", file_name="loans.md"))
    return chunk


def line(**changes: Any) -> dict[str, Any]:
    return {"question": "How many books?", "collection": "policies", "relevant": ["loans.md"], **changes}


def jsonl(*lines: Any) -> str:
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines)


def errors_of(content: str, by: User) -> dict[str, Any]:
    with pytest.raises(InvalidInputError) as raised:
        golden_import(content=content, by=by)
    assert not GoldenQuestion.objects.exists()
    return raised.value.fields


# ------------------------------------------------------------------------------------------------ one by one
def saved(by: User, loans: Chunk, **change: Any) -> GoldenQuestion:
    """One that the document of `loans` answers."""
    relevant = [Relevant(document_id=loans.document_id)]
    fields = {"text": "How many books?", "collection": loans.document.collection, "relevant": relevant, **change}
    return golden_save(by=by, **fields)


def refused(by: User, loans: Chunk, **change: Any) -> list[str]:
    with pytest.raises(InvalidInputError) as raised:
        saved(by, loans, **change)
    return list(raised.value.fields)


def test_the_same_question_is_refused_until_the_other_one_is_gone(staff: User, loans: Chunk) -> None:
    first = saved(staff, loans)
    assert refused(staff, loans, text=" How  many books? ") == ["text"]
    assert saved(staff, loans, question=first, enabled=False) == first
    golden_delete(question=first, by=staff)
    saved(staff, loans)


# ------------------------------------------------------------------------------------------------ in
def test_an_import_makes_questions_that_the_guard_measures(staff: User, loans: Chunk) -> None:
    document = str(loans.document_id)
    content = jsonl(
        line(),
        line(question="可以借几本书？", relevant=[{"document": document, "chunk": str(loans.pk), "grade": 3}]),
        "",
        line(question="By title?", relevant=[{"document": "Loans", "grade": 2}], enabled=False),
    )
    assert golden_import(content=content, by=staff) == (3, 0)
    asked = {one.text: (dict(one.documents), dict(one.chunks)) for one in golden_questions()}
    assert asked == {"How many books?": ({document: 1}, {}), "可以借几本书？": ({}, {str(loans.pk): 3})}


WRONG_LINES = [
    ("nonsense", "Invalid JSON"),
    ("[1]", "object"),
    ("[" * 5000, "Invalid JSON"),
    (line(question=" "), "Write the question"),
    (line(question=5), "question: "),
    (line(collection="nowhere"), "no collection nowhere"),
    (line(relevant=[]), "at least one document"),
    (line(relevant="loans.md"), "relevant: "),
    (line(relevant=[{"grade": 2}]), "has no document"),
    (line(relevant=[{"document": "loans.md", "grade": 4}]), "A grade is 1, 2 or 3"),
    (line(relevant=["fees.md"]), "has no document fees.md"),
    (line(relevant=[{"document": "loans.md", "chunk": "x"}]), "relevant.0.chunk: "),
    (line(relevant=[{"document": "loans.md", "chunk": str(uuid4())}]), "has no chunk"),
    (line(relevant=["loans.md", "Loans"]), "named twice"),
    (line(enabled="yes"), "enabled: "),
    (line(expects="REFINE"), "expects: "),
    (line(expects="NO_ANSWER"), "name none"),
    ({"question": "x", "collection": "policies"}, "at least one document"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG_LINES)
def test_a_wrong_line_is_named_by_its_number_and_nothing_is_imported(
    staff: User, loans: Chunk, wrong: Any, said: str
) -> None:
    fields = errors_of(jsonl(line(question="A good one"), "", wrong), staff)
    assert list(fields) == ["line 3"]
    assert said in fields["line 3"][0]


def test_an_export_is_read_back_as_it_was(staff: User, loans: Chunk) -> None:
    named = [{"document": "loans.md", "grade": 2}, {"document": "loans.md", "chunk": str(loans.pk), "grade": 3}]
    golden_import(content=jsonl(line(relevant=named), line(question="可以借几本书？", enabled=False)), by=staff)
    exported = list(golden_export(user=staff))
    GoldenQuestion.objects.all().delete()
    assert golden_import(content="\n".join(exported), by=staff) == (2, 0)
    again = [json.loads(one) for one in golden_export(user=staff)]
    assert again == [json.loads(one) for one in exported]


def test_the_command_reads_a_file_and_prints_what_its_person_may_know(
    staff: User, loans: Chunk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_bytes("\ufeff".encode() + jsonl(line(set="loans")).encode() + b"\r\n")
    call_command("golden", user=staff.username, file=str(file))
    assert GoldenQuestion.objects.get().source == "imported"
    capsys.readouterr()
    call_command("golden", user=staff.username, set="loans")
    assert json.loads(capsys.readouterr().out)["question"] == "How many books?"
    file.write_text("{}")
    with pytest.raises(CommandError, match="line 1: question"):
        call_command("golden", user=staff.username, file=str(file))
