"""A checked answer that a curator writes for a gap: who gets it, and what is left of the gap."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from feedback.curation.gaps import gaps_refresh
from feedback.models import CuratedAnswer, GapQuestion, GapRequest, KnowledgeGap
from ragsite.models import Notification
from retrieval.models import Chunk
from tests.clients import api_of, client_of, person
from tests.factories import CollectionFactory, SessionFactory, UserFactory, answered
from tests.feedback.rated import passage, regular

pytestmark = pytest.mark.django_db
PARKING = "How do I get a parking permit for the campus?"
COSTS = "What does a parking permit for the campus cost?"
ANSWER = "At the gate, with your card [1]."


@pytest.fixture(autouse=True)
def _no_models(offline: None) -> None:
    """Questions are compared by their words."""


@pytest.fixture
def asker() -> User:
    user: User = regular(username="tom")
    return user


@pytest.fixture
def gate() -> Chunk:
    public = CollectionFactory(owner=None, visibility="public")
    return passage("Permits are given at the gate.", collection=public, title="Permit rules")


def gap_with(asker: User, *texts: str) -> KnowledgeGap:
    for text in texts:
        answered(
            text,
            session=SessionFactory(user=asker),
            text="I found nothing.",
            decision="NO_ANSWER",
            in_scope=1,
        )
    gaps_refresh()
    gap: KnowledgeGap = KnowledgeGap.objects.get()
    return gap


def test_the_form_of_a_gap_has_its_questions_and_the_passages_that_were_near(
    asker: User, gate: Chunk
) -> None:
    gap = gap_with(asker, COSTS, PARKING)
    newest = gap.questions.get(message__reply_to__text=PARKING).message
    secret = passage("Secret.", collection=CollectionFactory(owner=asker, visibility="private"))
    for marker, chunk in enumerate((secret, gate), 1):
        newest.sources.create(
            marker=marker,
            document_id=chunk.document_id,
            chunk_id=str(chunk.pk),
            title="",
            text="",
            cited=False,
        )
    client = client_of(person("Curators"))
    address = f"/review/gaps/{gap.pk}/answer/"
    assert address in client.get(f"/review/gaps/{gap.pk}/").content.decode()
    page = client.get(address).content.decode()
    assert f'value="{PARKING}"' in page and f"{COSTS}</textarea>" in page
    assert "Permits are given at the gate." in page and "Secret." not in page
    assert 'href="/review/gaps/" aria-current="page"' in page
    assert client_of(person("Reviewers")).get(address).status_code == 403
    assert client.get("/review/gaps/999999/answer/").status_code == 404


def test_a_written_answer_is_given_to_who_asks_and_the_gap_is_closed(
    asker: User, gate: Chunk
) -> None:
    gap = gap_with(asker, COSTS, PARKING)
    form = {"question": PARKING, "wordings": COSTS, "text": ANSWER, "passage": [str(gate.pk)]}
    page = client_of(person("Curators")).post(f"/review/gaps/{gap.pk}/answer/", form, follow=True)
    assert "From now on, whoever asks this question gets this answer." in page.content.decode()
    checked = CuratedAnswer.objects.get()
    assert (checked.question, checked.wordings, checked.text) == (PARKING, [COSTS], ANSWER)
    assert checked.sources.get().document_id == gate.document_id
    gap.refresh_from_db()
    assert gap.state == "closed"
    assert set(GapQuestion.objects.values_list("answered", flat=True)) == {True}


def test_what_the_answer_does_not_cover_or_its_asker_may_not_read_is_left(asker: User) -> None:
    gap = gap_with(asker, COSTS, PARKING)
    curator = person("Curators")
    private = CollectionFactory(owner=curator, visibility="private")
    chunk = passage("Permits are given at the gate.", collection=private)
    form = {"question": PARKING, "wordings": "", "text": ANSWER, "passage": [str(chunk.pk)]}
    page = client_of(curator).post(f"/review/gaps/{gap.pk}/answer/", form, follow=True)
    assert "2 questions here are not answered by it yet." in page.content.decode()
    gap.refresh_from_db()
    assert gap.state == "open"
    assert not Notification.objects.filter(user=asker).exists()


def test_who_waits_for_a_reply_gets_the_answer_in_the_conversation(
    asker: User, gate: Chunk
) -> None:
    curator = person("Curators", username="lam")
    gap = gap_with(asker, PARKING)
    message = gap.questions.get().message
    assert api_of(asker).post(f"/api/messages/{message.pk}/ask-owner").status_code == 201
    form = {"question": PARKING, "wordings": "", "text": ANSWER, "passage": [str(gate.pk)]}
    client_of(curator).post(f"/review/gaps/{gap.pk}/answer/", form)
    request = GapRequest.objects.get()
    assert (request.state, request.reply) == ("answered", ANSWER)
    assert request.curated == CuratedAnswer.objects.get()
    shown = api_of(asker).get(f"/api/sessions/{message.session_id}/messages").json()["results"]
    assert (shown[-1]["answer"], shown[-1]["written_by"]["by"]) == (ANSWER, "lam")
    gap.refresh_from_db()
    assert gap.state == "closed"


def test_what_was_entered_stays_where_it_is_not_taken(asker: User, gate: Chunk) -> None:
    gap = gap_with(asker, PARKING)
    client = client_of(person("Curators"))
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    hidden = passage("Hidden.", collection=private)
    for passages, text, problem in (
        ([gate], "See [2].", "Use only numbers from the list."),
        ([hidden, gate], "See [1].", "A passage is not there any more, or you may not read it."),
    ):
        form = {"question": PARKING, "text": text, "passage": [str(one.pk) for one in passages]}
        page = client.post(f"/review/gaps/{gap.pk}/answer/", form)
        body = page.content.decode()
        assert page.status_code == 400 and problem in body
        assert f"{text}</textarea>" in body and f'value="{gate.pk}"' in body
        assert "Hidden." not in body
    assert not CuratedAnswer.objects.exists()
