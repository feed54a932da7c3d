"""What staff decide is in the log with who and why, can be taken back, and is told in words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import translation

from feedback.models import GoldenQuestion, Revision, RevisionEvent
from feedback.rounds.revisions import revision_go_live
from tests.factories import DocumentFactory, UserFactory
from tests.feedback.staff import QUESTION, logged
from tests.feedback.test_staff_admin import inline, row_url, url

pytestmark = pytest.mark.django_db
UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


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


@pytest.fixture
def golden() -> GoldenQuestion:
    document = DocumentFactory()
    question = GoldenQuestion.objects.create(text=QUESTION, collection=document.collection)
    question.relevant.create(document=document, grade=2)
    return question


def golden_form(question: GoldenQuestion, **change: Any) -> dict[str, Any]:
    """The admin's form as it stands, with what is changed."""
    row = question.relevant.get()
    rows = inline(id=row.pk, question=question.pk, document=row.document_id, grade=row.grade)
    rows |= {"relevant-INITIAL_FORMS": 1}
    asked = {"text": question.text, "collection": question.collection_id, "expects": question.expects}
    return {**asked, "enabled": "on", **rows, **change}


# ------------------------------------------------------------------------------------------------ golden questions
def test_those_of_the_admins_form_are_logged(staff: Client, admin_user: User) -> None:
    document = DocumentFactory()
    body = {"text": QUESTION, "collection": document.collection_id, "expects": "ANSWER", "enabled": "on"}
    staff.post(url("feedback_goldenquestion_add"), {**body, **inline(document=document.pk, grade=3)})
    question = GoldenQuestion.objects.get()
    staff.post(row_url(question), golden_form(question, text="How long?"))
    staff.post(row_url(question, "delete"), {"post": "yes"})
    assert [entry[:2] for entry in logged()] == [
        ("golden_added", admin_user), ("golden_changed", admin_user), ("golden_deleted", admin_user),
    ]  # fmt: skip


def test_a_form_that_changes_nothing_is_not_logged(staff: Client, golden: GoldenQuestion) -> None:
    assert staff.post(row_url(golden), golden_form(golden)).status_code == 302
    assert logged() == []


@pytest.mark.parametrize(("action", "enabled"), [("switch_off", False), ("switch_on", True)])
def test_a_switch_is_logged_where_it_changes_something(
    staff: Client, admin_user: User, golden: GoldenQuestion, action: str, enabled: bool
) -> None:
    GoldenQuestion.objects.update(enabled=not enabled)
    for _ in range(2):
        staff.post(url("feedback_goldenquestion_changelist"), {"action": action, "_selected_action": [golden.pk]})
    assert logged() == [("golden_changed", admin_user, "")]
    assert RevisionEvent.objects.get().detail["enabled"] is enabled


def test_chosen_questions_that_are_deleted_are_logged_each(staff: Client, golden: GoldenQuestion) -> None:
    data = {"action": "delete_selected", "_selected_action": [golden.pk], "post": "yes"}
    staff.post(url("feedback_goldenquestion_changelist"), data)
    assert [entry[0] for entry in logged()] == ["golden_deleted"]


def test_an_import_is_logged_with_its_counts(staff: Client, golden: GoldenQuestion) -> None:
    line = {"question": QUESTION, "collection": str(golden.collection_id)}
    line |= {"relevant": [str(golden.relevant.get().document_id)]}
    file = SimpleUploadedFile("a.jsonl", json.dumps(line).encode())
    assert staff.post(url("feedback_golden_import"), {"file": file}).status_code == 302
    event = RevisionEvent.objects.get()
    assert (event.action, event.detail["question"]) == ("golden_changed", QUESTION)


def test_entries_of_earlier_versions_and_peoples_own_words_stay_as_they_are() -> None:
    for why in ("The guard let it pass.", "{name} said so"):
        event = RevisionEvent.log("held", why=why)
        with translation.override("zh-hans"):
            assert event.why_said == why
        assert event.detail == {}


def test_a_taken_back_revision_keeps_the_reason_in_its_parts() -> None:
    first, second = (Revision.objects.create(number=number, digest=f"{number}" * 32) for number in (8, 9))
    for revision in (first, second):
        revision_go_live(revision=revision)
    first.refresh_from_db()
    assert first.guard["wordings"][first.reason]["values"] == {"number": second.number}
