"""Golden questions: one by one, and as JSONL in and out."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from feedback.curation.golden import Relevant, golden_delete, golden_save, golden_switch
from feedback.curation.golden_files import golden_export, golden_import
from feedback.models import GoldenQuestion
from feedback.rounds.guard import golden_questions
from ragsite.core.errors import InvalidInputError, TooLargeError
from retrieval.models import Chunk, Collection
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
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


def jsonl(*lines: Any) -> bytes:
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines).encode()


def errors_of(content: bytes, by: User) -> dict[str, Any]:
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


def test_a_set_is_switched_as_one(staff: User, loans: Chunk) -> None:
    for text, name in (("One?", "loans"), ("Two?", " loans "), ("Three?", "fees"), ("Four?", "")):
        assert saved(staff, loans, text=text, set_name=name).set_name == name.strip()
    assert golden_switch(questions=GoldenQuestion.objects.filter(set_name="loans"), enabled=False, by=staff) == 2
    assert sorted(question.text for question in golden_questions()) == ["Four?", "Three?"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 4001}, "text"),
        ({"relevant": []}, "relevant"),
        ({"relevant": [Relevant(document_id=uuid4())]}, "relevant"),
        ({"set_name": "x" * 101}, "set"),
        ({"expects": "REFINE", "relevant": []}, "expects"),
        ({"expects": "NO_ANSWER"}, "relevant"),
    ],
)
def test_a_wrong_question_is_refused(staff: User, loans: Chunk, change: dict[str, Any], field: str) -> None:
    assert field in refused(staff, loans, **change)
    assert not GoldenQuestion.objects.exists()


@pytest.mark.parametrize("expects", ["NO_ANSWER", "CLARIFY"])
def test_a_question_may_expect_a_decision_in_place_of_documents(staff: User, loans: Chunk, expects: str) -> None:
    saved(staff, loans, expects=expects, relevant=[])
    assert golden_questions() == [], "no search can be measured on it"


@pytest.mark.parametrize("change", [{"grade": 4}, {"grade": 0}, {"chunk_id": uuid4()}])
def test_a_wrong_grade_or_chunk_is_refused(staff: User, loans: Chunk, change: dict[str, Any]) -> None:
    assert refused(staff, loans, relevant=[Relevant(document_id=loans.document_id, **change)]) == ["relevant"]


def test_a_document_of_another_collection_is_refused(staff: User, loans: Chunk) -> None:
    assert refused(staff, loans, relevant=[Relevant(document_id=DocumentFactory().pk)]) == ["relevant"]


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


def test_a_mark_of_byte_order_and_windows_line_ends_are_no_part_of_a_line(staff: User, loans: Chunk) -> None:
    golden_import(content="\ufeff".encode() + jsonl(line()) + b"\r\n", by=staff)
    assert GoldenQuestion.objects.get().source == "imported"


def test_a_second_import_writes_the_same_questions_anew(staff: User, loans: Chunk) -> None:
    golden_import(content=jsonl(line()), by=staff)
    graded = line(relevant=[{"document": "loans.md", "grade": 3}], enabled=False)
    outcome = golden_import(content=jsonl(graded, line(question="Another?")), by=staff)
    assert (outcome.added, outcome.updated) == (1, 1)
    question = GoldenQuestion.objects.get(text="How many books?")
    assert (question.enabled, [one.grade for one in question.relevant.all()]) == (False, [3])


WRONG_LINES = [
    ("nonsense", "not a JSON object"),
    ("[1]", "dictionary"),
    ("[" * 5000, "not a JSON object"),
    (line(question=" "), "text: "),
    (line(question=5), "question: "),
    (line(collection="nowhere"), "no collection nowhere"),
    (line(relevant=[]), "relevant: "),
    (line(relevant="loans.md"), "relevant: "),
    (line(relevant=[{"grade": 2}]), "has no document"),
    (line(relevant=[{"document": "loans.md", "grade": 4}]), "A grade is"),
    (line(relevant=["fees.md"]), "has no document fees.md"),
    (line(relevant=[{"document": "loans.md", "chunk": "x"}]), "has no chunk x"),
    (line(relevant=["loans.md", "Loans"]), "named twice"),
    (line(enabled="yes"), "enabled: "),
    (line(expects="REFINE"), "expects: "),
    (line(expects="NO_ANSWER"), "name none"),
    ({"question": "x", "collection": "policies"}, "relevant: "),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG_LINES)
def test_a_wrong_line_is_named_by_its_number_and_nothing_is_imported(
    staff: User, loans: Chunk, wrong: Any, said: str
) -> None:
    fields = errors_of(jsonl(line(question="A good one"), "", wrong), staff)
    assert list(fields) == ["line 3"]
    assert said in fields["line 3"][0]


def test_names_that_several_have_are_refused(staff: User, policies: Collection) -> None:
    for number in range(2):
        DocumentFactory(collection=policies, title="Loans", file_name=f"{number}.md")
        CollectionFactory(name="notes", owner=UserFactory())
    fields = errors_of(jsonl(line(relevant=["Loans"]), line(collection="notes")), staff)
    assert "Several documents" in fields["line 1"][0]
    assert "Several collections" in fields["line 2"][0]


def test_only_the_first_errors_are_listed(staff: User) -> None:
    assert len(errors_of(jsonl(*["x"] * 200), staff)) == 50


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(staff: User, content: bytes) -> None:
    assert "file" in errors_of(content, staff)


def test_a_file_in_another_encoding_is_refused_with_its_line(staff: User) -> None:
    assert list(errors_of(jsonl(line()) + "\n书".encode("gbk"), staff)) == ["line 2"]


def test_a_huge_file_is_refused(staff: User, loans: Chunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.curation.golden_files.GOLDEN_IMPORT_BYTES", 2000)
    with pytest.raises(TooLargeError):
        golden_import(content=jsonl(*(line(question=f"Question {number}?") for number in range(100))), by=staff)


def test_an_export_is_read_back_as_it_was(staff: User, loans: Chunk) -> None:
    named = [{"document": "loans.md", "grade": 2}, {"document": "loans.md", "chunk": str(loans.pk), "grade": 3}]
    golden_import(content=jsonl(line(relevant=named), line(question="可以借几本书？", enabled=False)), by=staff)
    exported = list(golden_export())
    GoldenQuestion.objects.all().delete()
    assert golden_import(content="".join(exported).encode(), by=staff).added == 2
    again = [json.loads(one) for one in golden_export()]
    assert [{**one, "source": ""} for one in again] == [{**json.loads(one), "source": ""} for one in exported]


def test_a_set_goes_out_and_comes_in_as_jsonl(staff: User, loans: Chunk) -> None:
    golden_import(content=jsonl(line(set="loans"), line(question="Fees?")), by=staff)
    (exported,) = golden_export(GoldenQuestion.objects.filter(set_name="loans"))
    assert json.loads(exported)["set"] == "loans"
    golden_import(content=jsonl(line()), by=staff)
    assert GoldenQuestion.objects.get(text="How many books?").set_name == "loans"
    golden_import(content=jsonl(line(set="")), by=staff)
    assert GoldenQuestion.objects.get(text="How many books?").set_name == ""


def test_expected_decisions_go_out_and_come_in(staff: User, loans: Chunk) -> None:
    nothing = {"question": "And on Mars?", "collection": "policies", "expects": "NO_ANSWER"}
    golden_import(content=jsonl(line(), nothing, {**nothing, "question": "Which?", "expects": "CLARIFY"}), by=staff)
    exported = "".join(golden_export())
    GoldenQuestion.objects.all().delete()
    golden_import(content=exported.encode(), by=staff)
    expected = dict(GoldenQuestion.objects.values_list("text", "expects"))
    assert expected == {"How many books?": "ANSWER", "And on Mars?": "NO_ANSWER", "Which?": "CLARIFY"}
    golden_import(content=jsonl({**line(), "question": "And on Mars?"}), by=staff)
    assert GoldenQuestion.objects.get(text="And on Mars?").expects == "ANSWER", "as a file of an earlier version says"


def test_an_export_is_read_on_another_site_by_file_names(staff: User, loans: Chunk) -> None:
    golden_import(content=jsonl(line()), by=staff)
    (told,) = map(json.loads, golden_export())
    GoldenQuestion.objects.all().delete()
    told["collection_id"] = str(uuid4())
    told["relevant"][0]["document"] = str(uuid4())
    golden_import(content=jsonl(told), by=staff)
    assert GoldenQuestion.objects.get().relevant.get().document == loans.document
