"""Knowledge gaps: which gap a question is in, who may work on one, and whether it is answered now."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from chat.models import Message, Replay
from chat.review.roles import desk_access
from feedback.curation.gap_selectors import gap_list
from feedback.curation.gaps import (
    gap_ask_again,
    gap_document_add,
    gap_document_ready,
    gap_mark,
    gap_results_take,
    gaps_refresh,
)
from feedback.models import GapQuestion, KnowledgeGap
from ragsite.models import Webhook
from retrieval.models import Document
from tests.clients import ROLES, client_of, person
from tests.factories import CollectionFactory, DocumentFactory, UserFactory, answered
from tests.feedback.rated import rate

pytestmark = pytest.mark.django_db
PARKING = "How do I get a parking permit for the campus?"
COSTS = "What does a parking permit for the campus cost?"
GYM = "When does the gym open?"


@pytest.fixture(autouse=True)
def _nothing_is_queued(offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.review.replay.replays.replays_queue", lambda: None)


@pytest.fixture
def curator() -> User:
    return person("Curators", username="mei")


def unanswered(text: str = PARKING, **fields: Any) -> Message:
    return answered(text, **{"text": "I found nothing.", "decision": "NO_ANSWER", **fields})


def gap_of(text: str = PARKING) -> Any:
    question = GapQuestion.objects.filter(message__reply_to__text=text).latest("pk")
    return gap_list().get(pk=question.gap_id)


def end(gap: KnowledgeGap, *answered: bool) -> None:
    """As if a worker had asked them."""
    asked = gap.questions.filter(replay__isnull=False).order_by("replay__created_at", "pk")
    for question, good in zip(asked, answered, strict=True):
        Replay.objects.filter(pk=question.replay_id).update(
            status="complete", finished_at=timezone.now(), summary={"supported": good}
        )


# ------------------------------------------------------------------------------------------------ which gap
def test_questions_on_one_subject_are_a_gap_and_others_another() -> None:
    for text in (PARKING, COSTS, PARKING, GYM):
        unanswered(text)
    assert gaps_refresh() == 2
    gap = gap_of()
    assert (gap_of(COSTS).pk, gap.count, gap.people, gap.wordings) == (gap.pk, 3, 3, 2)
    assert gaps_refresh() == 0


def test_badly_rated_answers_count_but_not_those_for_style_or_written_anew() -> None:
    rate(unanswered(PARKING, decision="ANSWER"), 1, "incomplete")
    unanswered(GYM)
    rate(unanswered("Which colours has the logo?", decision="ANSWER"), 1, "style")
    unanswered("Who won the cup?", superseded=True)
    gaps_refresh()
    asked = GapQuestion.objects.values_list("message__reply_to__text", flat=True)
    assert sorted(asked) == sorted([PARKING, GYM])


@pytest.mark.parametrize(
    "fields",
    [{"model": ""}, {"being_read": 3}, {"decision": "", "status": "failed"}],
    ids=["no model's word", "documents were being read", "failed"],
)
def test_what_no_model_refused_of_all_documents_is_no_gap(fields: dict[str, Any]) -> None:
    rate(unanswered(GYM, **fields), 1, "incomplete")
    unanswered(PARKING, **fields)
    assert gaps_refresh() == 1
    assert gap_of(GYM).count == 1


def test_a_deleted_conversation_takes_its_words_along_and_leaves_the_work(curator: User) -> None:
    answer = unanswered()
    gaps_refresh()
    gap = gap_of()
    gap_mark(access=desk_access(curator), gap=gap, note="Ask the office.")
    answer.session.delete()
    gaps_refresh()
    kept = gap_list().get(pk=gap.pk)
    assert (kept.note, kept.count, kept.called) == ("Ask the office.", 0, None)  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ asked again
def test_asked_again_a_gap_tells_which_wordings_are_answered(curator: User) -> None:
    for text in (PARKING, PARKING, COSTS):
        unanswered(text)
    gaps_refresh()
    gap = gap_of()
    assert gap_ask_again(access=desk_access(curator), gap=gap) == 2
    end(gap, True, False)
    gap_results_take()
    gap = gap_of()
    assert (gap.wordings, gap.asked_again, gap.answered) == (2, 2, 1)


def test_a_closed_gap_is_reopened_when_its_questions_are_not_answered(curator: User) -> None:
    unanswered()
    gaps_refresh()
    access = desk_access(curator)
    gap = gap_of()
    gap_mark(access=access, gap=gap, state="closed")
    gap_ask_again(access=access, gap=gap)
    end(gap, False)
    gap_results_take()
    assert (gap_of().state, gap_of().reopened) == ("open", True)


def test_a_gap_is_told_as_opened_once_each_time(
    curator: User, django_capture_on_commit_callbacks: Any
) -> None:
    Webhook.objects.create(
        name="x", url="https://x.example.org", events=["gap.opened"], is_active=True
    )
    for text in (PARKING, COSTS):
        unanswered(text)
    with django_capture_on_commit_callbacks() as opened:
        gaps_refresh()
    access, gap = desk_access(curator), gap_of()
    gap_mark(access=access, gap=gap, state="closed")
    gap_ask_again(access=access, gap=gap)
    end(gap, False, False)
    with django_capture_on_commit_callbacks() as reopened:
        gap_results_take()
        gap_of().save()
    assert (len(opened), len(reopened)) == (1, 1)


def test_a_document_closes_a_gap_and_has_its_questions_asked_when_it_is_ready(
    curator: User,
) -> None:
    unanswered()
    gaps_refresh()
    document = DocumentFactory(status="queued")
    gap_document_add(access=desk_access(curator), gap=gap_of(), document=document, close=True)
    assert (gap_of().state, Replay.objects.count()) == ("closed", 0)
    gap_document_ready(document.pk)
    assert gap_of().questions.get().replay == Replay.objects.get()


# ------------------------------------------------------------------------------------------------ pages
def test_a_curator_assigns_writes_and_uploads(curator: User) -> None:
    collection = CollectionFactory(owner=curator, visibility="private")
    unanswered()
    gaps_refresh()
    client, address = client_of(curator), f"/review/gaps/{gap_of().pk}/"
    client.post(f"{address}change/", {"assignee": "mei", "note": "Mine."})
    file = SimpleUploadedFile("permits.md", b"Permits are given at the gate.")
    client.post(
        f"{address}document/", {"file": file, "collection": str(collection.pk), "close": "on"}
    )
    gap = gap_of()
    assert (gap.assignee, gap.note, gap.state) == (curator, "Mine.", "closed")
    assert Document.objects.get(collection=collection).uploaded_by == curator
    page = client.get(address).content.decode()
    assert PARKING in page
    assert "data-working" in page, "the document is being read"


def test_what_is_chosen_stays_chosen_where_a_list_is_cut(
    curator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.review.queue_filters.CHOICES", 1)
    monkeypatch.setattr("retrieval.knowledge.choices.CHOICES", 1)
    CollectionFactory(owner=curator, visibility="private", name="a")
    asked = CollectionFactory(owner=curator, visibility="private", name="b")
    last = person("Curators", username="zoe")
    unanswered()
    gaps_refresh()
    KnowledgeGap.objects.update(assignee=last, collection=asked)
    page = client_of(curator).get(f"/review/gaps/{gap_of().pk}/").content.decode()
    assert "<option selected>zoe</option>" in page
    assert f'<option value="{asked.pk}" selected>' in page


def test_who_has_a_gap_keeps_it_after_leaving_the_desk(curator: User) -> None:
    unanswered()
    gaps_refresh()
    left = UserFactory(username="zoe")
    KnowledgeGap.objects.update(assignee=left)
    client, address = client_of(curator), f"/review/gaps/{gap_of().pk}/"
    assert "<option selected>zoe</option>" in client.get(address).content.decode()
    client.post(f"{address}change/", {"assignee": "zoe", "note": "Waits."})
    assert (gap_of().assignee, gap_of().note) == (left, "Waits.")


def test_the_list_is_filtered_by_state_and_person(curator: User) -> None:
    for text in (PARKING, GYM):
        unanswered(text)
    gaps_refresh()
    access = desk_access(curator)
    gap_mark(access=access, gap=gap_of(), assignee=curator)
    client = client_of(curator)
    shown = {
        query: (PARKING in page, GYM in page)
        for query in ("", "assignee=mei", "assignee=-", "state=closed")
        for page in [client.get(f"/review/gaps/?{query}").content.decode()]
    }
    assert shown == {
        "": (True, True), "assignee=mei": (True, False), "assignee=-": (False, True), "state=closed": (False, False),
    }  # fmt: skip


@pytest.mark.parametrize("who", ROLES)
def test_roles_read_and_curators_work(who: str) -> None:
    unanswered()
    gaps_refresh()
    client, address = client_of(person(who)), f"/review/gaps/{gap_of().pk}/"
    assert client.get(address).status_code == 200
    changed = client.post(f"{address}change/", {"state": "closed"}).status_code
    assert changed == (403 if who == "Reviewers" else 302)
