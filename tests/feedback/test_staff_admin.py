"""The staff's pages of the feedback loop in the admin."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from feedback.models import Evidence, GoldenQuestion, ManualBoost, Rating, Revision, RevisionEvent
from feedback.rounds.round import feedback_round
from tests.factories import ChunkFactory, DocumentFactory, UserFactory
from tests.feedback.rated import answered, liked, passage
from tests.feedback.staff import QUESTION, held_revision, live_revision

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
WHY = {"why": "A reason."}
PAGES = ["feedback_golden_import", "feedback_golden_export"]
MODELS: list[type[Model]] = [Revision, RevisionEvent, Evidence, ManualBoost, GoldenQuestion, Rating]


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def admin_user() -> User:
    user: User = UserFactory(username="keeper", is_superuser=True)
    return user


@pytest.fixture
def staff(admin_user: User) -> Client:
    client = Client()
    client.force_login(admin_user)
    return client


def url(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def row_url(row: Model, page: str = "change") -> str:
    return url(f"{row._meta.app_label}_{row._meta.model_name}_{page}", row.pk)


def html_of(client: Client, address: str, **query: Any) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


# ------------------------------------------------------------------------------------------------ who may
@pytest.mark.parametrize("name", PAGES)
def test_pages_open_for_staff_and_for_nobody_else(staff: Client, client: Client, name: str) -> None:
    assert staff.get(url(name)).status_code == 200
    client.force_login(UserFactory())
    assert client.get(url(name)).status_code == 302


@pytest.mark.parametrize("name", PAGES)
def test_staff_without_the_permission_get_403(client: Client, name: str) -> None:
    client.force_login(UserFactory(is_staff=True))
    assert client.get(url(name)).status_code == 403


def test_lists_and_rows_open_and_show_hostile_text_as_text(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = passage("Ten books.", title=HOSTILE)
    liked(HOSTILE, chunk, by=2)
    feedback_round()
    held_revision(monkeypatch, HOSTILE + "?")
    document = chunk.document
    ManualBoost.objects.create(document=document, why=HOSTILE, multiplier=1.5)
    golden = GoldenQuestion.objects.create(text=HOSTILE, collection=document.collection)
    golden.relevant.create(document=document)
    addresses = [url(f"feedback_{model._meta.model_name}_changelist") for model in MODELS]
    addresses += [row_url(row) for model in MODELS for row in model._default_manager.all()[:2]]
    for address in addresses:
        html = html_of(staff, address)
        assert "<script>alert" not in html
        assert "<img src=x" not in html


@pytest.mark.parametrize("model", [Revision, RevisionEvent, Evidence])
def test_history_is_neither_added_to_nor_edited_nor_deleted(staff: Client, model: type[Model]) -> None:
    liked(QUESTION, passage("Four."), by=2)
    feedback_round()
    row = model._default_manager.first()
    assert row is not None
    assert staff.get(url(f"feedback_{model._meta.model_name}_add")).status_code == 403
    assert staff.post(row_url(row), {"why": "forged"}).status_code == 403
    assert staff.post(row_url(row, "delete"), {"post": "yes"}).status_code == 403


# ------------------------------------------------------------------------------------------------ golden questions
def inline(**row: Any) -> dict[str, Any]:
    rows = {"relevant-TOTAL_FORMS": 1, "relevant-INITIAL_FORMS": 0}
    return {**rows, **{f"relevant-0-{name}": value for name, value in row.items()}}


def test_a_golden_question_is_added_by_hand(staff: Client, admin_user: User) -> None:
    document = DocumentFactory()
    body = {"text": "How many?", "collection": document.collection_id, "expects": "ANSWER", "enabled": "on"}
    assert (
        staff.post(url("feedback_goldenquestion_add"), {**body, **inline(document=document.pk, grade=3)}).status_code
        == 302
    )
    question = GoldenQuestion.objects.get()
    assert (question.created_by, question.source, question.relevant.get().grade) == (admin_user, "manual", 3)


def test_a_golden_question_needs_relevant_documents_of_its_collection(staff: Client) -> None:
    document, other = DocumentFactory(), DocumentFactory()
    body = {"text": "How many?", "collection": document.collection_id, "expects": "ANSWER", "enabled": "on"}
    for rows, said in (
        ({"relevant-TOTAL_FORMS": 0, "relevant-INITIAL_FORMS": 0}, "at least one document"),
        (inline(document=other.pk, grade=3), "has no document"),
        (inline(document=document.pk, chunk_id=str(other.pk), grade=1), "has no chunk"),
    ):
        response = staff.post(url("feedback_goldenquestion_add"), {**body, **rows})
        assert response.status_code == 200
        assert said in response.content.decode()
    assert not GoldenQuestion.objects.exists()


def test_golden_questions_are_imported_and_exported(staff: Client) -> None:
    document = DocumentFactory(file_name="loans.md", collection__name="policies")
    lines = [
        {"question": f"Question {number}?", "collection": "policies", "relevant": ["loans.md"]} for number in range(2)
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    assert (
        staff.post(url("feedback_golden_import"), {"file": SimpleUploadedFile("a.jsonl", content)}).status_code == 302
    )
    exported = staff.get(url("feedback_golden_export")).content.decode().splitlines()
    assert [json.loads(line)["relevant"][0]["document"] for line in exported] == [str(document.pk)] * 2
    chosen = {"action": "export_selected", "_selected_action": [GoldenQuestion.objects.all()[0].pk]}
    assert len(staff.post(url("feedback_goldenquestion_changelist"), chosen).content.splitlines()) == 1


def test_a_wrong_import_names_its_lines(staff: Client) -> None:
    response = staff.post(url("feedback_golden_import"), {"file": SimpleUploadedFile("a.jsonl", b"{}\nx")})
    assert response.status_code == 400
    assert "line 2: This is not a JSON object that can be read." in response.content.decode()


def test_a_reviewed_answer_becomes_a_golden_question(staff: Client, admin_user: User) -> None:
    cited, other = passage("Ten books."), passage("Four weeks.")
    other.document.collection = cited.document.collection
    other.document.save()
    message = answered(QUESTION, [cited, other], text="Ten [1].")
    address = url("feedback_golden_from_answer", message.pk)
    assert address in html_of(staff, row_url(message.session))
    assert QUESTION in html_of(staff, address)
    body = {
        "text": QUESTION,
        "collection": cited.document.collection_id,
        "level": "chunk",
        "source_1": 3,
        "source_2": 0,
    }
    assert staff.post(address, body).status_code == 302
    question = GoldenQuestion.objects.get()
    assert (question.source, question.message, question.created_by) == ("reviewed", message, admin_user)
    assert [(one.chunk_id, one.grade) for one in question.relevant.all()] == [(cited.pk, 3)]


def test_several_passages_of_a_document_stand_for_it_once(staff: Client) -> None:
    first = passage("Ten books.")
    second = ChunkFactory(document=first.document, text="Four weeks.", seq=1)
    message = answered(QUESTION, [first, second])
    body = {
        "text": QUESTION,
        "collection": first.document.collection_id,
        "level": "document",
        "source_1": 1,
        "source_2": 2,
    }
    assert staff.post(url("feedback_golden_from_answer", message.pk), body).status_code == 302
    assert [(one.document, one.chunk_id, one.grade) for one in GoldenQuestion.objects.get().relevant.all()] == [
        (first.document, None, 2)
    ]


def test_nothing_relevant_makes_no_golden_question(staff: Client) -> None:
    chunk = passage("Ten books.")
    message = answered(QUESTION, [chunk])
    body = {"text": QUESTION, "collection": chunk.document.collection_id, "level": "document", "source_1": 0}
    assert staff.post(url("feedback_golden_from_answer", message.pk), body).status_code == 400
    assert not GoldenQuestion.objects.exists()


def test_a_rated_conversation_and_a_rated_document_can_still_be_deleted(staff: Client) -> None:
    _, chunk = live_revision()
    session = Rating.objects.all()[0].message.session
    assert staff.post(row_url(session, "delete"), {"post": "yes"}).status_code == 302
    assert Evidence.objects.count() == 1
    assert staff.post(row_url(chunk.document, "delete"), {"post": "yes"}).status_code == 302
    assert not Evidence.objects.exists()
