"""Golden questions: one by one, and as JSONL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from feedback.curation.golden import golden_import, golden_save
from feedback.models import GoldenQuestion
from feedback.rounds.guard import golden_questions
from ragsite.core.errors import InvalidInputError
from retrieval.models import Document
from tests.factories import CollectionFactory, DocumentFactory
from tests.review.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> User:
    return person("Curators")


@pytest.fixture
def loans() -> Document:
    collection = CollectionFactory(name="policies")
    document: Document = DocumentFactory(collection=collection, title="Loans", file_name="loans.md")
    return document


def line(**changes: Any) -> dict[str, Any]:
    return {"question": "How many books?", "collection": "policies", "documents": ["loans.md"], **changes}


def jsonl(*lines: Any) -> str:
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines)


def test_the_same_question_is_written_anew(staff: User, loans: Document) -> None:
    for text in ("How many books?", " How  many books? "):
        golden_save(by=staff, text=text, collection=loans.collection, documents=[loans])
    made = GoldenQuestion.objects.get()
    assert list(made.documents.all()) == [loans]


def test_an_import_makes_questions_that_the_guard_measures(staff: User, loans: Document) -> None:
    nothing = line(question="Who founded it?", documents=[], expects="NO_ANSWER")
    content = jsonl(line(), line(question="可以借几本书？", documents=[str(loans.pk)]), "", nothing)
    assert golden_import(content=content, by=staff) == 3
    asked = {one.text: one.documents for one in golden_questions()}
    assert asked == dict.fromkeys(["How many books?", "可以借几本书？"], frozenset([str(loans.pk)]))


WRONG_LINES = [
    ("nonsense", "Expecting value"),
    ("[1]", "dictionary"),
    ("[" * 5000, "recursion"),
    (line(question=" "), "blank"),
    (line(collection="nowhere"), "no collection nowhere"),
    (line(documents=[]), "at least one document"),
    (line(documents="loans.md"), "list"),
    (line(documents=["fees.md"]), "document fees.md"),
    (line(expects="REFINE"), "not a valid choice"),
    (line(expects="NO_ANSWER"), "name none"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG_LINES)
def test_a_wrong_line_is_named_by_its_number_and_nothing_is_imported(
    staff: User, loans: Document, wrong: Any, said: str
) -> None:
    with pytest.raises(InvalidInputError) as raised:
        golden_import(content=jsonl(line(question="A good one"), "", wrong), by=staff)
    assert not GoldenQuestion.objects.exists()
    assert list(raised.value.fields) == ["line 3"]
    assert said in " ".join(raised.value.fields["line 3"])


def test_the_command_reads_a_file(staff: User, loans: Document, tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_bytes("\ufeff".encode() + jsonl(line()).encode() + b"\r\n")
    call_command("golden", str(file), user=staff.username)
    assert GoldenQuestion.objects.get().created_by == staff
    file.write_text("{}")
    with pytest.raises(CommandError, match="line 1"):
        call_command("golden", str(file), user=staff.username)
