"""Golden questions: over HTTP one by one, and as JSONL in and out."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from feedback.curation.golden_files import golden_export, golden_import
from feedback.models import GoldenQuestion
from feedback.rounds.guard import golden_questions
from ragsite.core.errors import InvalidInputError, TooLargeError
from retrieval.models import Chunk, Collection
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.staff import client_of
from tests.review.people import person

pytestmark = pytest.mark.django_db
URL = "/api/feedback/golden-questions"


@pytest.fixture
def staff() -> User:
    return person("Curators")


@pytest.fixture
def client(staff: User) -> APIClient:
    return client_of(staff)


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
def test_the_same_question_is_refused_until_the_other_one_is_gone(client: APIClient, loans: Chunk) -> None:
    wanted = {"text": "How many books?", "collection": "policies", "relevant": [{"document": str(loans.document_id)}]}
    first, again = client.post(URL, wanted), client.post(URL, wanted | {"text": " How  many books? "})
    assert (first.status_code, again.status_code, list(again.json()["error"]["fields"])) == (201, 400, ["text"])
    one = f"{URL}/{first.json()['id']}"
    assert client.patch(one, {"text": "How many books?", "enabled": False}).status_code == 200
    client.delete(one)
    assert client.post(URL, wanted).status_code == 201


def test_a_question_is_made_read_changed_and_deleted(client: APIClient, staff: User, loans: Chunk) -> None:
    relevant = [{"document": str(loans.document_id), "chunk_id": str(loans.pk), "grade": 3}]
    made = client.post(URL, {"text": " How many\nbooks? ", "collection": "policies", "relevant": relevant})
    assert made.status_code == 201
    told = made.json()
    assert (told["text"], told["source"], told["created_by"]) == ("How many books?", "manual", staff.username)
    assert told["relevant"] == [{**relevant[0], "document_title": "Loans"}]
    one = f"{URL}/{told['id']}"
    changed = client.patch(one, {"enabled": False}).json()
    assert (changed["enabled"], changed["relevant"]) == (False, told["relevant"])
    assert client.get(f"{URL}?enabled=true").json()["count"] == 0
    assert client.get(f"{URL}?collection=policies&search=books").json()["count"] == 1
    GoldenQuestion.objects.update(text="可以借多少本书？")
    assert client.get(f"{URL}?search=多少本書").json()["count"] == 1
    assert client.delete(one).status_code == 204
    assert [client.get(one).status_code, client.patch(one, {}).status_code, client.delete(one).status_code] == [404] * 3


def test_a_set_is_named_listed_filtered_and_switched_as_one(client: APIClient, loans: Chunk) -> None:
    relevant = [{"document": str(loans.document_id)}]
    for text, name in (("One?", "loans"), ("Two?", " loans "), ("Three?", "fees"), ("Four?", "")):
        made = client.post(URL, {"text": text, "collection": "policies", "relevant": relevant, "set": name})
        assert (made.status_code, made.json()["set"]) == (201, name.strip())
    assert client.get(f"{URL}?set=loans").json()["count"] == 2
    assert client.get(f"{URL}?set=").json()["count"] == 1
    switched = client.patch(f"{URL}/sets", {"set": "loans", "enabled": False})
    assert switched.json() == {"set": "loans", "questions": 2, "enabled": 0}
    assert [(row["set"], row["enabled"]) for row in client.get(f"{URL}/sets").json()["results"]] == [
        ("", 1), ("fees", 1), ("loans", 0),
    ]  # fmt: skip
    assert sorted(question.text for question in golden_questions(10)) == ["Four?", "Three?"]


def test_a_set_that_is_not_there_cannot_be_switched(client: APIClient) -> None:
    assert client.patch(f"{URL}/sets", {"set": "nothing", "enabled": True}).status_code == 404


def test_a_change_that_names_no_set_leaves_it_as_it_is(client: APIClient, loans: Chunk) -> None:
    body = {
        "text": "One?",
        "collection": "policies",
        "relevant": [{"document": str(loans.document_id)}],
        "set": "loans",
    }
    made = client.post(URL, body).json()
    assert client.patch(f"{URL}/{made['id']}", {"text": "Two?"}).json()["set"] == "loans"
    assert client.patch(f"{URL}/{made['id']}", {"set": "fees"}).json()["set"] == "fees"
    assert client.patch(f"{URL}/{made['id']}", {"set": "x" * 101}).status_code == 400


def test_a_set_goes_out_and_comes_in_as_jsonl(client: APIClient, staff: User, loans: Chunk) -> None:
    golden_import(content=jsonl(line(set="loans"), line(question="Fees?")), by=staff)
    (exported,) = client.get(f"{URL}/export?set=loans").content.decode().splitlines()
    assert json.loads(exported)["set"] == "loans"
    golden_import(content=jsonl(line()), by=staff)
    assert GoldenQuestion.objects.get(text="How many books?").set_name == "loans"
    golden_import(content=jsonl(line(set="")), by=staff)
    assert GoldenQuestion.objects.get(text="How many books?").set_name == ""
    assert "line 1" in errors_with_some(jsonl(line(set="x" * 101)), staff)


def errors_with_some(content: bytes, by: User) -> dict[str, Any]:
    with pytest.raises(InvalidInputError) as raised:
        golden_import(content=content, by=by)
    return raised.value.fields


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 4001}, "text"),
        ({"collection": "nowhere"}, "collection"),
        ({"relevant": []}, "relevant"),
        ({"relevant": [{"document": str(uuid4())}]}, "relevant"),
        ({"relevant": [{"document": "x"}]}, "relevant"),
        ({"relevant": "loans.md"}, "relevant"),
    ],
)
def test_a_wrong_question_is_refused(client: APIClient, loans: Chunk, change: dict[str, Any], field: str) -> None:
    body = {"text": "x", "collection": "policies", "relevant": [{"document": str(loans.document_id)}], **change}
    response = client.post(URL, body)
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert not GoldenQuestion.objects.exists()


@pytest.mark.parametrize("expects", ["NO_ANSWER", "CLARIFY"])
def test_a_question_may_expect_a_decision_in_place_of_documents(client: APIClient, loans: Chunk, expects: str) -> None:
    made = client.post(URL, {"text": "And on Mars?", "collection": "policies", "expects": expects})
    assert (made.status_code, made.json()["expects"], made.json()["relevant"]) == (201, expects, [])
    assert client.get(f"{URL}?expects={expects}").json()["count"] == 1
    assert client.get(f"{URL}?expects=ANSWER").json()["count"] == 0
    assert golden_questions(10) == [], "no search can be measured on it"


def test_what_expects_no_document_may_name_none(client: APIClient, loans: Chunk) -> None:
    relevant = [{"document": str(loans.document_id)}]
    body = {"text": "x", "collection": "policies", "expects": "NO_ANSWER", "relevant": relevant}
    assert "relevant" in client.post(URL, body).json()["error"]["fields"]
    assert "expects" in client.post(URL, {**body, "expects": "REFINE"}).json()["error"]["fields"]


def test_a_question_that_expects_no_answer_from_now_on_loses_its_documents(client: APIClient, loans: Chunk) -> None:
    relevant = [{"document": str(loans.document_id)}]
    made = client.post(URL, {"text": "x", "collection": "policies", "relevant": relevant}).json()
    one = f"{URL}/{made['id']}"
    assert client.patch(one, {"expects": "NO_ANSWER"}).json()["relevant"] == []
    assert "relevant" in client.patch(one, {"expects": "ANSWER"}).json()["error"]["fields"]
    assert len(client.patch(one, {"expects": "ANSWER", "relevant": relevant}).json()["relevant"]) == 1


@pytest.mark.parametrize("change", [{"grade": 4}, {"grade": 0}, {"chunk_id": str(uuid4())}])
def test_a_wrong_grade_or_chunk_is_refused(client: APIClient, loans: Chunk, change: dict[str, Any]) -> None:
    relevant = [{"document": str(loans.document_id), **change}]
    assert client.post(URL, {"text": "x", "collection": "policies", "relevant": relevant}).status_code == 400


def test_a_document_of_another_collection_is_refused(client: APIClient, loans: Chunk) -> None:
    body = {"text": "x", "collection": "policies", "relevant": [{"document": str(DocumentFactory().pk)}]}
    assert "relevant" in client.post(URL, body).json()["error"]["fields"]


# ------------------------------------------------------------------------------------------------ in
def test_an_import_makes_questions_that_the_guard_measures(client: APIClient, loans: Chunk) -> None:
    document = str(loans.document_id)
    content = jsonl(
        line(),
        line(question="可以借几本书？", relevant=[{"document": document, "chunk": str(loans.pk), "grade": 3}]),
        "",
        line(question="By title?", relevant=[{"document": "Loans", "grade": 2}], enabled=False),
    )
    response = client.post(f"{URL}/import", content, content_type="application/x-ndjson")
    assert (response.status_code, response.json()) == (200, {"added": 3, "updated": 0})
    asked = {one.text: (dict(one.documents), dict(one.chunks)) for one in golden_questions(10)}
    assert asked == {"How many books?": ({document: 1}, {}), "可以借几本书？": ({}, {str(loans.pk): 3})}


def test_a_file_is_imported_by_its_form_field(client: APIClient, loans: Chunk) -> None:
    file = SimpleUploadedFile("golden.jsonl", "\ufeff".encode() + jsonl(line()) + b"\r\n")
    response = client.post(f"{URL}/import", {"file": file}, format="multipart")
    assert response.json() == {"added": 1, "updated": 0}
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
    ("[1]", "has to be an object"),
    ("[" * 5000, "not a JSON object"),
    (line(question=" "), "question: "),
    (line(question=5), "question: "),
    (line(question="a\x00b"), "cannot be stored"),
    (line(collection="nowhere"), "no collection nowhere"),
    (line(relevant=[]), "relevant: "),
    (line(relevant="loans.md"), "relevant: "),
    (line(relevant=[{"grade": 2}]), "relevant.document: is missing"),
    (line(relevant=[{"document": "loans.md", "grade": 4}]), "relevant.0.grade: "),
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


def test_the_same_question_twice_is_refused(staff: User, loans: Chunk, policies: Collection) -> None:
    fields = errors_of(jsonl(line(), line(collection=str(policies.pk))), staff)
    assert fields == {"line 2": ["The same question stands in line 1."]}


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


def test_a_huge_file_is_413(client: APIClient, loans: Chunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.curation.golden_files.GOLDEN_IMPORT_BYTES", 2000)
    huge = jsonl(*(line(question=f"Question {number}?") for number in range(100)))
    file = SimpleUploadedFile("golden.jsonl", huge)
    for response in (
        client.post(f"{URL}/import", huge, content_type="text/plain"),
        client.post(f"{URL}/import", {"file": file}, format="multipart"),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    assert not GoldenQuestion.objects.exists()


def test_too_many_lines_are_refused(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.curation.golden_files.GOLDEN_IMPORT_LINES", 3)
    with pytest.raises(TooLargeError):
        golden_import(content=b"x\n" * 4, by=staff)


def test_an_import_without_a_file_is_400(client: APIClient) -> None:
    assert client.post(f"{URL}/import", {}, format="multipart").status_code == 400


# ------------------------------------------------------------------------------------------------ out
def test_an_export_is_read_back_as_it_was(client: APIClient, staff: User, loans: Chunk) -> None:
    named = [{"document": "loans.md", "grade": 2}, {"document": "loans.md", "chunk": str(loans.pk), "grade": 3}]
    golden_import(content=jsonl(line(relevant=named), line(question="可以借几本书？", enabled=False)), by=staff)
    exported = client.get(f"{URL}/export")
    assert exported["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert exported["Content-Disposition"] == 'attachment; filename="golden-questions.jsonl"'
    GoldenQuestion.objects.all().delete()
    assert golden_import(content=exported.content, by=staff).added == 2
    again = [json.loads(one) for one in golden_export()]
    assert [{**one, "source": ""} for one in again] == [
        {**json.loads(one), "source": ""} for one in exported.content.decode().splitlines()
    ]


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


def test_an_export_of_nothing_is_empty_and_one_of_a_collection_has_only_its_own(
    client: APIClient, staff: User, loans: Chunk
) -> None:
    assert client.get(f"{URL}/export").content == b""
    golden_import(content=jsonl(line()), by=staff)
    CollectionFactory(name="another")
    assert client.get(f"{URL}/export?collection=another").content == b""
    assert client.get(f"{URL}/export?collection=nowhere").status_code == 400
