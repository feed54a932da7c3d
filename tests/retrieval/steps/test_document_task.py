"""Which questions want a whole document, and which one: by words and titles alone, in three scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval.steps.document.naming import Meant, hints_of, resolve
from retrieval.steps.document.task import read_task
from retrieval.values import DocumentRef

PROJECT = Path(__file__).resolve().parents[3]
QUESTIONS = [
    json.loads(line)
    for line in (PROJECT / "benchmarks/data/whole_documents/questions.jsonl").read_text(encoding="utf-8").splitlines()
]
SAMPLES = json.loads((PROJECT / "retrieval/samples/manifest.json").read_text(encoding="utf-8"))["documents"]
DOCUMENTS = [
    DocumentRef(
        id=one["file"], title=one["title"], file_name=one["file"].rpartition("/")[2], policy_year=one["policy_year"]
    )
    for one in SAMPLES
]


def looked_up(hints: tuple[str, ...]) -> list[DocumentRef]:
    """As the database does it."""
    return [
        one
        for one in DOCUMENTS
        if not hints or any(hint.lower() in f"{one.title} {one.file_name}".lower() for hint in hints)
    ]


@pytest.mark.parametrize("labelled", QUESTIONS, ids=lambda one: one["question"])
def test_labelled_questions(labelled: dict[str, Any]) -> None:
    wanted = read_task(labelled["question"])
    alone = labelled["outcome"] == "this"
    resolved = resolve(wanted, DOCUMENTS[:1] if alone else looked_up(hints_of(wanted))) if wanted else None
    if labelled["outcome"] in ("ordinary", "missing"):
        assert resolved is None
    if alone:
        assert isinstance(resolved, Meant)
    if labelled["outcome"] == "read":
        assert wanted is not None and isinstance(resolved, Meant)
        assert wanted.task == labelled["task"]
        assert sorted(one.title for one in resolved.documents) == sorted(labelled["documents"])


@pytest.mark.parametrize("one", DOCUMENTS, ids=lambda one: one.title)
def test_every_title_is_understood_as_it_stands(one: DocumentRef) -> None:
    for question in (f"Summarise {one.title}", f"Summarise “{one.title}”", f"总结《{one.title}》"):
        wanted = read_task(question)
        assert wanted is not None
        assert resolve(wanted, looked_up(hints_of(wanted))) == Meant((one,))


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ('List all deadlines in the document "Refund of Tuition Fees (2025)"', "Refund of Tuition Fees (2025)"),
        ("Summarise the attached file “annual-leave-policy-2025.md”", "Annual Leave and Other Leave for Staff (2025)"),
        ("总结文件《学籍管理规定》", "北湖大学学籍管理规定（2025年）"),
        ("列出《學生請假規定》中的所有期限", "學生請假規則（2023年）"),
    ],
)
def test_a_quoted_name_may_follow_a_word_for_a_document_or_end_in_another_one(question: str, title: str) -> None:
    wanted = read_task(question)
    assert wanted is not None
    resolved = resolve(wanted, looked_up(hints_of(wanted)))
    assert isinstance(resolved, Meant) and [one.title for one in resolved.documents] == [title]


@pytest.mark.parametrize(
    "text",
    ["", "?", "Summarise", "Summarise ", "总结", "List all", "what changed", "《》", "Summarise 2025", "compare and"],
)
def test_half_a_question_names_nothing(text: str) -> None:
    wanted = read_task(text)
    assert wanted is None or not isinstance(resolve(wanted, DOCUMENTS), Meant)


def test_a_pasted_text_is_no_name() -> None:
    assert read_task("Summarise this document:\n" + "The hall is open. " * 40) is None


@pytest.mark.parametrize("text", ["请" * 240, "写出" * 120 + "甲", "《" * 240, "summarise " + "the " * 55, "“" * 239])
def test_hostile_questions_are_read_at_once(text: str) -> None:
    wanted = read_task(text)
    assert wanted is None or not isinstance(resolve(wanted, DOCUMENTS), Meant)


def test_of_versions_of_one_name_the_newest_is_read() -> None:
    twins = [
        DocumentRef(id="a", title="House Rules", file_name="a.pdf", policy_year=2024),
        DocumentRef(id="b", title="House Rules", file_name="b.pdf", policy_year=2025),
    ]
    wanted = read_task("Summarise the House Rules")
    assert wanted is not None
    assert resolve(wanted, twins) == Meant((twins[1],))


def test_what_was_replaced_is_read_only_to_compare() -> None:
    former = DocumentRef(id="a", title="House Rules", file_name="a.pdf", superseded=True)
    current = DocumentRef(id="b", title="House Rules", file_name="b.pdf")
    summary, changes = read_task("Summarise the House Rules"), read_task("What has changed in the House Rules?")
    assert summary is not None and changes is not None
    assert resolve(summary, [current, former]) == Meant((current,))
    assert resolve(changes, [current, former]) == Meant((former, current))
