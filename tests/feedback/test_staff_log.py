"""What staff decide is in the log with who and why, can be taken back, and is told in words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.utils import translation

from feedback.models import Burst, Evidence, GoldenQuestion, ManualBoost, Rating, Revision, RevisionEvent
from feedback.rounds import round as rounds
from feedback.rounds.bursts import burst_decide
from feedback.rounds.live import feedback_state
from feedback.rounds.resets import reset_document
from feedback.rounds.revisions import revision_go_live, revision_hold
from feedback.rounds.round import feedback_round
from ragsite.core.wording import worded
from tests.factories import DocumentFactory, UserFactory
from tests.feedback.rated import answered, passage, rate, regular
from tests.feedback.staff import QUESTION, live_revision, logged
from tests.feedback.test_staff_admin import MODELS, WHY, burst, html_of, inline, row_url, url

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
    assert (event.action, event.detail) == ("golden_imported", {"added": 0, "changed": 1})


def test_the_log_names_the_question_of_a_checked_answer(staff: Client, admin_user: User) -> None:
    detail = {"curated_answer": "0190", "question": "What does a late book cost?"}
    RevisionEvent.objects.create(action=RevisionEvent.Action.CURATED_SET, by=admin_user, detail=detail)
    page = staff.get(url("feedback_revisionevent_changelist"))
    assert "What does a late book cost?" in page.content.decode()


def test_the_log_leads_to_the_golden_question_while_it_is_there(staff: Client, golden: GoldenQuestion) -> None:
    staff.post(row_url(golden), golden_form(golden, text="How long?"))
    address = url("feedback_revisionevent_changelist")
    assert row_url(golden) in html_of(staff, address)
    golden.delete()
    html = html_of(staff, address)
    assert "How long?" in html
    assert row_url(golden) not in html


# ------------------------------------------------------------------------------------------------ taking back
def test_a_decided_burst_can_be_decided_anew(staff: Client, admin_user: User) -> None:
    found = burst_decide(burst=burst(), accept=False, by=admin_user, why="Troll.")
    address = url("feedback_burst_reopen", found.pk)
    assert address in html_of(staff, row_url(found))
    assert "Troll." in html_of(staff, address)
    assert staff.post(address, {"why": ""}).status_code == 400
    assert staff.post(address, {"why": "It was a class."}).status_code == 302
    found.refresh_from_db()
    assert (found.status, found.decided_by, found.why) == ("open", None, "")
    assert logged()[-1] == ("burst_reopened", admin_user, "It was a class.")
    assert staff.post(address, WHY).status_code == 400


def test_a_burst_is_not_reopened_beside_another_of_its_day(staff: Client, admin_user: User) -> None:
    found = burst_decide(burst=burst(), accept=True, by=admin_user)
    Burst.objects.create(document=found.document, day=found.day, votes=15, accounts=1)
    response = staff.post(url("feedback_burst_reopen", found.pk), WHY)
    assert (response.status_code, Burst.objects.get(pk=found.pk).status) == (400, "accepted")
    assert "decide on that one first" in response.content.decode()


def test_a_reset_is_taken_back_from_the_log(staff: Client, admin_user: User) -> None:
    revision, chunk = live_revision()
    reset_document(document=chunk.document, by=admin_user, why="A mistake.")
    reset = RevisionEvent.objects.get(action="reset_document")
    address = url("feedback_reset_undo", reset.pk)
    assert address in html_of(staff, row_url(reset))
    assert staff.post(address, {"why": "The wrong document."}).status_code == 302
    assert not Evidence.objects.exclude(discarded_by=None).exists()
    assert ("reset_undone", admin_user, "The wrong document.") in logged()
    live = feedback_state().live
    assert live and live.digest == revision.digest
    assert address not in html_of(staff, row_url(reset))
    assert staff.post(address, WHY).status_code == 400


# ------------------------------------------------------------------------------------------------ in words
def test_a_round_that_broke_off_is_told_until_the_next_one(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no such column")

    address = url("feedback_revision_changelist")
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "ballot_load", broken)
        with pytest.raises(RuntimeError):
            feedback_round()
    html = html_of(staff, address)
    assert "The last round failed." in html
    assert "no such column" not in html
    feedback_round()
    assert "The last round failed." not in html_of(staff, address)


def test_no_page_shows_the_ids_of_rows(staff: Client, admin_user: User) -> None:
    found = burst("Loans")
    burst_decide(burst=found, accept=False, by=admin_user, why="Troll.")
    live_revision()
    rate(answered(QUESTION, [passage("Four.")], user=regular()), 1, "wrong_source")
    ManualBoost.objects.create(document=found.document, hide=True, why="Old.", created_by=admin_user)
    for row in [one for model in (Revision, RevisionEvent, Burst, ManualBoost, Rating) for one in model.objects.all()]:
        text = re.sub(r"<[^>]+>", " ", html_of(staff, row_url(row)))
        assert not UUID_TEXT.search(text), text
        assert "wrong_source" not in text


def test_evidence_is_not_counted_in_the_plural(staff: Client) -> None:
    html = html_of(staff, "/admin/feedback/")
    assert "Evidences" not in html
    assert "Evidence" in html


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_says_what_would_be_in_it(staff: Client, model: type[Model]) -> None:
    address = url(f"feedback_{model._meta.model_name}_changelist")
    assert 'class="review-empty"' in html_of(staff, address)
    assert 'class="review-empty"' not in html_of(staff, address, q="zeppelin")


@pytest.mark.parametrize(("chosen", "count"), [("none", 2), ("burst", 16), ("reset", 0), ("text", 0)])
def test_votes_are_found_by_what_leaves_them_out(staff: Client, chosen: str, count: int) -> None:
    burst()
    live_revision()
    html = html_of(staff, url("feedback_evidence_changelist"), left_out=chosen)
    assert html.count('class="field-asked"') == count


def test_a_passage_that_is_to_be_lifted_is_shown(staff: Client) -> None:
    _, chunk = live_revision("Ten books for four weeks.")
    add = f"{url('feedback_manualboost_add')}?document={chunk.document_id}&amp;chunk_id={chunk.pk}"
    assert add in html_of(staff, url("feedback_document_evidence", chunk.document_id))
    assert "Ten books for four weeks." in html_of(staff, add.replace("&amp;", "&"))


def test_the_log_says_in_the_readers_language_what_the_site_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    revision = Revision.objects.create(number=8, digest="d" * 32, content=b"")
    told = worded("It does the same as revision {number}, which was rolled back.", number=3)
    revision_hold(revision=revision, why=told)
    revision.refresh_from_db()
    event = RevisionEvent.objects.get(revision=revision)
    assert event.why_said == revision.reason_said == told == revision.reason
    assert (event.facts, revision.measured) == ({}, {})
    monkeypatch.setattr("ragsite.core.localized.is_english", lambda: False)
    monkeypatch.setattr("ragsite.core.localized.say", lambda wording, _: f"{wording['text']} {wording['values']}")
    said = "It does the same as revision {number}, which was rolled back. {'number': 3}"
    assert event.why_said == revision.reason_said == said


def test_entries_of_earlier_versions_and_peoples_own_words_stay_as_they_are() -> None:
    for why in ("The guard let it pass.", "{name} said so"):
        event = RevisionEvent.log("frozen", why=why)
        with translation.override("zh-hans"):
            assert event.why_said == why
        assert event.detail == {}


def test_a_taken_back_revision_keeps_the_reason_in_its_parts() -> None:
    first, second = (Revision.objects.create(number=number, digest=f"{number}" * 32, content=b"") for number in (8, 9))
    for revision in (first, second):
        revision_go_live(revision=revision)
    first.refresh_from_db()
    assert first.guard["wordings"][first.reason]["values"] == {"number": second.number}
