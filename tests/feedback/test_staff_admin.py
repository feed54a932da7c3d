"""The staff's pages of the feedback loop in the admin."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from feedback.curation.evidence_selectors import live_boosts
from feedback.models import Burst, Evidence, GoldenQuestion, ManualBoost, Rating, Revision, RevisionEvent
from feedback.rounds.live import feedback_state
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk
from tests.factories import ChunkFactory, DocumentFactory, MessageFactory, SessionFactory, UserFactory
from tests.feedback.rated import answered, liked, passage, rate, regular
from tests.feedback.staff import QUESTION, held_revision, live_revision, logged

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
WHY = {"why": "A reason."}
PAGES = [
    "feedback_in_force", "feedback_gaps", "feedback_gaps_export", "feedback_golden_import", "feedback_golden_export",
    "feedback_freeze", "feedback_round", "feedback_reset_rater",
]  # fmt: skip
MODELS: list[type[Model]] = [Revision, RevisionEvent, Evidence, Burst, ManualBoost, GoldenQuestion, Rating]


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


def burst(title: str = "Loans") -> Burst:
    """Sixteen votes of one account."""
    chunk, voter = passage("Ten books.", title=title), regular()
    for number in range(16):
        rate(answered(f"Question {number} about topic{number} and thing{number}?", [chunk], user=voter), 5)
    feedback_round()
    return Burst.objects.get()


def gap(text: str = "Where is bike parking?") -> None:
    session = SessionFactory()
    asked = MessageFactory(session=session, question=True, text=text)
    MessageFactory(session=session, reply_to=asked, decision="NO_ANSWER")


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


def test_looking_is_not_deciding(client: Client) -> None:
    revision, chunk = live_revision()
    user = UserFactory(is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="feedback", codename__startswith="view_")
    )
    client.force_login(user)
    assert "roll-back" not in html_of(client, row_url(revision))
    assert client.post(url("feedback_revision_roll_back", revision.pk), WHY).status_code == 403
    assert client.get(url("feedback_document_evidence", chunk.document_id)).status_code == 200
    assert client.post(url("feedback_manualboost_add"), WHY).status_code == 403
    assert feedback_state().live == revision


def test_lists_and_rows_open_and_show_hostile_text_as_text(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    found = burst(HOSTILE)
    liked(HOSTILE, Chunk.objects.get(), by=2)
    feedback_round()
    held_revision(monkeypatch, question=f"{HOSTILE} again")
    document = found.document
    body = {"document": str(document.pk), "multiplier": 1.5, "why": HOSTILE}
    assert staff.post(url("feedback_manualboost_add"), body).status_code == 302
    golden = GoldenQuestion.objects.create(text=HOSTILE, collection=document.collection)
    golden.relevant.create(document=document)
    gap(HOSTILE)
    addresses = [url(f"feedback_{model._meta.model_name}_changelist") for model in MODELS]
    addresses += [row_url(row) for model in MODELS for row in model._default_manager.all()[:2]]
    addresses += [url("feedback_document_evidence", document.pk), url("feedback_in_force"), url("feedback_gaps")]
    for address in addresses:
        html = html_of(staff, address)
        assert "<script>alert" not in html
        assert "<img src=x" not in html


@pytest.mark.parametrize("model", [Revision, RevisionEvent, Evidence, Burst])
def test_history_is_neither_added_to_nor_edited_nor_deleted(staff: Client, model: type[Model]) -> None:
    burst()
    liked(QUESTION, passage("Four."), by=2)
    feedback_round()
    row = model._default_manager.first()
    assert row is not None
    assert staff.get(url(f"feedback_{model._meta.model_name}_add")).status_code == 403
    assert staff.post(row_url(row), {"why": "forged"}).status_code == 403
    assert staff.post(row_url(row, "delete"), {"post": "yes"}).status_code == 403


# ------------------------------------------------------------------------------------------------ revisions
def test_a_revision_shows_before_and_after_what_was_measured_and_the_log(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_revision()
    held = held_revision(monkeypatch)
    html = html_of(staff, row_url(held))
    assert "nDCG@10 on the golden questions drops by 0.1700" in html
    assert "When does the library open?" in html
    assert "0.8100 → 0.6400" in html
    assert "× 1.00" in html
    assert "How long may I keep a book?" in html
    assert "the periodic round" in html
    assert url("feedback_revision_release", held.pk) in html


def test_the_list_says_what_is_live(staff: Client) -> None:
    assert "No revision is live" in html_of(staff, url("feedback_revision_changelist"))
    live_revision()
    html = html_of(staff, url("feedback_revision_changelist"))
    assert "revision 1</a> since" in html
    assert "2 new or changed ratings" in html


def test_release_asks_why_and_makes_it_live(staff: Client, admin_user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_revision(monkeypatch)
    address = url("feedback_revision_release", held.pk)
    assert "Questions that get worse" in html_of(staff, address)
    refused = staff.post(address, {"why": " "})
    assert (refused.status_code, feedback_state().live) == (400, None)
    assert staff.post(address, {"why": "Checked by hand."}).status_code == 302
    assert feedback_state().live == held
    assert logged()[-1] == ("released", admin_user, "Checked by hand.")


def test_hold(staff: Client, admin_user: User, rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rag_settings(feedback={"auto_live": False})
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    revision, _ = live_revision()
    assert staff.post(url("feedback_revision_hold", revision.pk), WHY).status_code == 302
    assert Revision.objects.get().status == "held"
    assert logged()[-1] == ("held", admin_user, "A reason.")


def test_roll_back_freezes_unless_told_otherwise(staff: Client, admin_user: User) -> None:
    revision, _ = live_revision()
    address = url("feedback_revision_roll_back", revision.pk)
    assert staff.post(address, {"why": "Wrong page first.", "freeze": "on"}).status_code == 302
    assert (feedback_state().live, feedback_state().frozen) == (None, True)
    assert ("rolled_back", admin_user, "Wrong page first.") in logged()
    again = staff.post(address, WHY)
    assert again.status_code == 400
    assert "not live any more" in again.content.decode()


def test_freeze_and_unfreeze(staff: Client, admin_user: User) -> None:
    for frozen in (True, False):
        assert staff.post(url("feedback_freeze"), WHY).status_code == 302
        assert feedback_state().frozen is frozen
    assert [entry[:2] for entry in logged()] == [("frozen", admin_user), ("unfrozen", admin_user)]


def test_a_round_is_queued_with_who_wants_it(
    staff: Client, admin_user: User, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    assert staff.post(url("feedback_round")).status_code == 302
    assert sent == [("feedback.tasks.reindex_feedback", {"by": admin_user.pk})]
    html = html_of(staff, url("feedback_revision_changelist"))
    assert "A worker was told to run a round" in html
    assert f"Wanted by {admin_user.username}" in html


def test_a_queue_that_is_away_is_told(staff: Client) -> None:
    response = staff.post(url("feedback_round"))
    assert response.status_code == 400
    assert "task queue is away" in response.content.decode()


def test_a_reset_does_not_wait_for_its_round(
    staff: Client, admin_user: User, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    revision, chunk = live_revision()
    response = staff.post(url("feedback_reset_document", chunk.document_id), WHY, follow=True)
    assert "The votes are discarded. A worker has been told to run a round" in response.content.decode()
    assert not Evidence.objects.filter(discarded_by=None).exists()
    assert sent == [("feedback.tasks.reindex_feedback", {"by": admin_user.pk})]
    assert feedback_state().live == revision


def test_a_document_is_reset(staff: Client, admin_user: User) -> None:
    _, chunk = live_revision()
    address = url("feedback_reset_document", chunk.document_id)
    response = staff.post(address, {"why": "It was rewritten."}, follow=True)
    assert "The votes are discarded. The round after it: its revision is live." in response.content.decode()
    assert not Evidence.objects.filter(discarded_by=None).exists()
    assert ("reset_document", admin_user, "It was rewritten.") in logged()


def test_a_rater_is_reset_by_name(staff: Client, admin_user: User) -> None:
    rate(answered(QUESTION, [passage("Ten.")], user=regular(username="troll")), 1, "outdated")
    address = url("feedback_reset_rater")
    assert 'value="troll"' in html_of(staff, address, rater="troll")
    assert staff.post(address, {"rater": "nobody", **WHY}).status_code == 400
    assert staff.post(address, {"rater": "troll", **WHY}).status_code == 302
    assert Evidence.objects.exclude(discarded_by=None).count() == 1
    assert ("reset_rater", admin_user, "A reason.") in logged()


@pytest.mark.parametrize("name", ["release", "hold", "roll_back"])
def test_a_decision_on_nothing_is_404(staff: Client, name: str) -> None:
    assert (
        staff.post(url(f"feedback_revision_{name}", UserFactory.build().pk or DocumentFactory().pk)).status_code == 404
    )


# ------------------------------------------------------------------------------------------------ evidence
def test_a_document_page_tells_why_it_is_up(staff: Client) -> None:
    _, chunk = live_revision()
    html = html_of(staff, url("feedback_document_evidence", chunk.document_id))
    voter = Evidence.objects.all()[0].voter
    for told in (
        QUESTION,
        "Ten books.",
        "accurate",
        voter.username,
        f"× {live_boosts()[0].multiplier:.2f}",
        url("feedback_reset_document", chunk.document_id),
    ):
        assert told in html
    assert str(Rating.objects.all()[0].message.session_id) in html
    assert url("feedback_document_evidence", chunk.document_id) in html_of(staff, row_url(chunk.document))
    assert QUESTION in html_of(staff, url("feedback_in_force"))


def test_a_document_that_nobody_rated_has_an_empty_page(staff: Client) -> None:
    assert "Nobody has rated it yet." in html_of(staff, url("feedback_document_evidence", DocumentFactory().pk))


# ------------------------------------------------------------------------------------------------ by hand
def test_a_document_is_hidden_until_a_day_and_shown_again(staff: Client, admin_user: User) -> None:
    document = DocumentFactory()
    until = timezone.localtime(timezone.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    assert str(document.pk) in html_of(staff, url("feedback_manualboost_add"), document=document.pk)
    body = {"document": document.pk, "multiplier": 1, "hide": "on", "expires_at": until, "why": "Withdrawn."}
    assert staff.post(url("feedback_manualboost_add"), body).status_code == 302
    boost = ManualBoost.objects.get()
    assert (boost.hide, boost.created_by, boost.expires_at is not None) == (True, admin_user, True)
    assert "hidden" in html_of(staff, url("feedback_manualboost_changelist"), in_force="yes")
    end = url("feedback_manualboost_end", boost.pk)
    assert end in html_of(staff, row_url(boost))
    assert staff.post(end, {"why": "It is back."}).status_code == 302
    assert logged() == [("manual_set", admin_user, "Withdrawn."), ("manual_ended", admin_user, "It is back.")]
    assert "ended on" in html_of(staff, url("feedback_manualboost_changelist"))


@pytest.mark.parametrize(
    "change", [{"multiplier": 3}, {"multiplier": 1}, {"why": ""}, {"chunk_id": "x"}, {"document": ""}]
)
def test_a_wrong_boost_by_hand_shows_what_is_wrong(staff: Client, change: dict[str, Any]) -> None:
    body = {"document": DocumentFactory().pk, "multiplier": 1.5, "why": "x", **change}
    response = staff.post(url("feedback_manualboost_add"), body)
    assert response.status_code == 400
    assert "errorlist" in response.content.decode()
    assert not ManualBoost.objects.exists()


# ------------------------------------------------------------------------------------------------ bursts
@pytest.mark.parametrize(("name", "status"), [("accept", "accepted"), ("reject", "rejected")])
def test_a_burst_is_decided(staff: Client, admin_user: User, name: str, status: str) -> None:
    found = burst()
    html = html_of(staff, row_url(found))
    assert "part of a burst that nobody has decided on" in html
    address = url(f"feedback_burst_{name}", found.pk)
    assert address in html
    assert staff.post(address, {"why": ""}).status_code == 400
    assert staff.post(address, WHY).status_code == 302
    assert Burst.objects.get().status == status
    assert logged()[-1] == (f"burst_{status}", admin_user, "A reason.")
    assert staff.post(address, WHY).status_code == 400


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


# ------------------------------------------------------------------------------------------------ knowledge gaps
def test_gaps_are_shown_filtered_and_exported(staff: Client) -> None:
    assert "No gaps" in html_of(staff, url("feedback_gaps"))
    gap()
    assert "Where is bike parking?" in html_of(staff, url("feedback_gaps"))
    assert "No gaps" in html_of(staff, url("feedback_gaps"), collection="elsewhere")
    assert "errorlist" in html_of(staff, url("feedback_gaps"), days="-1")
    assert b"Where is bike parking?" in staff.get(url("feedback_gaps_export"), {"format": "csv"}).content
    assert staff.get(url("feedback_gaps_export"), {"format": "json"}).json()["gaps"][0]["count"] == 1


def test_the_index_leads_to_the_gaps(staff: Client) -> None:
    assert url("feedback_gaps") in html_of(staff, reverse("admin:index"))


def test_a_rated_conversation_and_a_rated_document_can_still_be_deleted(staff: Client) -> None:
    _, chunk = live_revision()
    session = Rating.objects.all()[0].message.session
    assert staff.post(row_url(session, "delete"), {"post": "yes"}).status_code == 302
    assert Evidence.objects.count() == 1
    assert staff.post(row_url(chunk.document, "delete"), {"post": "yes"}).status_code == 302
    assert not Evidence.objects.exists()
    assert html_of(staff, url("feedback_in_force"))
