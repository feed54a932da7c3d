"""Questions that are sent to a person: to whom, what they see, and what comes back to whom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from chat.models import Message, Replay, Session
from chat.review.roles import desk_access
from feedback.curation.gaps import (
    gap_document_add,
    gap_document_ready,
    gap_mark,
    gap_results_take,
    gaps_refresh,
)
from feedback.models import CuratedAnswer, GapQuestion, GapRequest, KnowledgeGap
from feedback.requests import asking
from feedback.requests.settling import request_document_ready
from ragsite.accounts.personal_data import deletion_start, deletions_do
from ragsite.models import Notification
from ragsite.operations.notifications.selectors import shown_notifications
from ragsite.operations.retention import retention_work
from retrieval.models import Chunk, Collection, CollectionPerson, Document
from tests.clients import api_of, client_of, person
from tests.factories import (
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    MessageFactory,
    SessionFactory,
    UserFactory,
    answered,
)
from tests.feedback.rated import passage, regular

pytestmark = pytest.mark.django_db
PARKING = "How do I get a parking permit for the campus?"
REPLY = "At the gate, with your staff card [1]."
Committed = Callable[..., Any]


@pytest.fixture(autouse=True)
def _nothing_is_queued(offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.review.replay.replays.replays_queue", lambda: None)


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Committed:
    """`with committed():` runs what waits for the commit."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def owner() -> User:
    user: User = regular(username="mei")
    return user


@pytest.fixture
def asker() -> User:
    user: User = regular(username="tom")
    return user


@pytest.fixture
def campus(owner: User, asker: User) -> Collection:
    """The owner's, which the asker may read."""
    collection: Collection = CollectionFactory(owner=owner, name="campus", visibility="shared")
    CollectionPerson.objects.create(collection=collection, user=asker)
    return collection


def refused(asker: User, *collections: Collection, text: str = PARKING, **fields: Any) -> Message:
    request = {"collection_ids": [str(one.pk) for one in collections]}
    given = {"text": "I found nothing.", "decision": "NO_ANSWER", "request": request} | fields
    return answered(text, session=SessionFactory(user=asker), **given)


def send(answer: Message, **body: Any) -> Any:
    address = f"/api/messages/{answer.pk}/ask-owner"
    return api_of(answer.session.user).post(address, body, format="json")


def reply(user: User, request_id: str, text: str = "At the gate.", *chunks: Chunk) -> Any:
    body = {"text": text, "passages": [str(chunk.pk) for chunk in chunks]}
    return api_of(user).post(f"/api/requests/{request_id}/reply", body, format="json")


def told(user: User) -> list[str]:
    rows = Notification.objects.filter(user=user)
    return [shown.text for shown in shown_notifications(rows, user=user)]


# ------------------------------------------------------------------------------------------------ to whom
def test_it_goes_to_the_owner_of_the_collection_that_was_searched_and_lands_as_a_gap(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    answer = refused(asker, campus)
    offered = api_of(asker).get(f"/api/messages/{answer.pk}/ask-owner").json()
    assert offered["request"] is None
    assert offered["to"] == [
        {
            "sent_to": "collection",
            "collection": "mei/campus",
            "owner": "mei",
            "others": 0,
            "not_notified": 0,
        }
    ]
    with committed():
        sent = send(answer, remark="For a guest, on Monday.")
    assert (sent.status_code, sent.json()["state"]) == (201, "open")
    gap = KnowledgeGap.objects.get()
    assert gap.questions.get().message == answer
    (received,) = api_of(owner).get("/api/requests").json()["results"]
    assert (received["question"], received["remark"], received["asker"]) == (
        PARKING,
        "For a guest, on Monday.",
        "tom",
    )
    assert received["session_id"] is None, "the conversation is the asker's alone"
    assert told(owner) == [f"A question for you: “{PARKING}”"]
    gaps_refresh()
    assert GapQuestion.objects.filter(message=answer).exists()


def test_an_unconfirmed_answer_goes_where_its_nearest_passages_are(
    asker: User, campus: Collection
) -> None:
    other = CollectionFactory()
    answer = refused(asker, campus, other, decision="ANSWER", support="partly", text="Maybe [1].")
    chunk = passage("Permits are given at the gate.", collection=campus)
    answer.sources.create(
        marker=1,
        document_id=chunk.document_id,
        chunk_id=str(chunk.pk),
        title="",
        text="",
        cited=True,
    )
    assert send(answer).json()["sent_to"] == "collection"


def test_several_collections_and_ones_own_go_to_the_curators(
    asker: User, campus: Collection
) -> None:
    person("Curators")
    own = CollectionFactory(owner=asker, visibility="private")
    for collections in ((campus, CollectionFactory()), (own,), ()):
        sent = send(refused(asker, *collections)).json()
        assert (sent["sent_to"], sent["collection"]) == ("curators", None)


def test_where_nobody_could_answer_it_is_said(asker: User) -> None:
    sent = send(refused(asker))
    assert (sent.status_code, sent.json()["error"]["code"]) == (409, "nobody_to_ask")


def test_where_not_everybody_is_notified_it_is_said_before_and_after_sending(
    owner: User,
    asker: User,
    campus: Collection,
    committed: Committed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("feedback.requests.addressees.MOST_PEOPLE", 2)
    monkeypatch.setattr("feedback.requests.request_data.MOST_PEOPLE", 2)
    for name in ("ada", "bo", "cy"):
        editor = regular(username=name)
        CollectionPerson.objects.create(collection=campus, user=editor, role="editor")
    answer = refused(asker, campus)
    (to,) = api_of(asker).get(f"/api/messages/{answer.pk}/ask-owner").json()["to"]
    assert (to["owner"], to["others"], to["not_notified"]) == ("mei", 3, 2)
    with committed():
        sent = send(answer).json()
    assert sent["not_notified"] == 2
    assert sent["note"].startswith("2 people were notified; 2 more can answer it")
    assert Notification.objects.filter(kind="request.received").count() == 2
    shown = client_of(asker).get(f"/requests/{sent['id']}/").content.decode()
    assert "2 people were notified" in shown


def test_answers_that_are_confirmed_are_not_sent(asker: User, campus: Collection) -> None:
    answer = refused(asker, campus, decision="ANSWER", support="full")
    assert api_of(asker).get(f"/api/messages/{answer.pk}/ask-owner").json()["to"] == []
    assert send(answer).json()["error"]["code"] == "answered"


def offers_of(answer: Message) -> list[str]:
    data = api_of(answer.session.user).get(f"/api/messages/{answer.pk}").json()
    offered: list[str] = data["offers"]
    return offered


@pytest.mark.parametrize(
    ("fields", "offered"),
    [
        ({}, ["count", "ask_owner"]),
        ({"in_scope": 3}, ["count", "ask_owner"]),
        ({"in_scope": 0, "being_read": 1}, ["count", "ask_owner"]),
        ({"in_scope": 0}, ["add_documents"]),
        ({"decision": "CLARIFY"}, ["count"]),
        ({"decision": "ANSWER", "support": "full", "model": "m"}, ["count"]),
        ({"decision": "ANSWER", "support": "none", "model": "m"}, ["count", "ask_owner"]),
        ({"decision": "ANSWER", "support": "", "model": ""}, ["count", "ask_owner"]),
        ({"decision": "ANSWER", "support": "none", "written_by": {"by": "m"}}, ["count"]),
        ({"decision": "NO_ANSWER", "request": {"task": "count"}}, ["count_form", "ask_owner"]),
        ({"decision": "ANSWER", "model": "m", "support": "none", "status": "cut"}, ["ask_owner"]),
    ],
)
def test_what_is_offered_below_an_answer_is_what_is_taken(
    asker: User, fields: dict[str, Any], offered: list[str]
) -> None:
    person("Curators")
    answer = refused(asker, **fields)
    assert offers_of(answer) == offered
    assert (send(answer).status_code == 201) is ("ask_owner" in offered)


@pytest.mark.parametrize(("is_complete", "status"), [(True, 409), (False, 201)])
def test_a_complete_count_is_sure(asker: User, is_complete: bool, status: int) -> None:
    person("Curators")
    answer = refused(asker, decision="ANSWER", model="", text="**3** documents")
    DecisionStepFactory(message=answer, name="count", detail={"total": 3, "complete": is_complete})
    assert offers_of(answer) == ([] if is_complete else ["ask_owner"])
    assert send(answer).status_code == status


def test_below_the_sites_help_nothing_is_offered(asker: User) -> None:
    person("Curators")
    answer = refused(asker, decision="ANSWER", model="", text="Three things to try: …")
    DecisionStepFactory(message=answer, name="generate", detail={"help": True, "cited": []})
    assert offers_of(answer) == []
    assert send(answer).json()["error"]["code"] == "answered"


def test_of_a_question_that_had_nothing_to_look_in_it_is_said(
    asker: User, campus: Collection
) -> None:
    answer = refused(asker, campus, in_scope=0)
    sent = send(answer)
    assert (sent.status_code, sent.json()["error"]["code"]) == (409, "no_documents")
    offered = api_of(asker).get(f"/api/messages/{answer.pk}/ask-owner")
    assert offered.status_code == 409


def test_the_same_question_twice_is_one_request(asker: User, campus: Collection) -> None:
    answer = refused(asker, campus)
    first = send(answer)
    second = send(answer, remark="Again.")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert GapRequest.objects.get().remark == ""


def test_another_version_of_the_answer_is_the_same_request(asker: User, campus: Collection) -> None:
    answer = refused(asker, campus)
    request_id = send(answer).json()["id"]
    Message.objects.filter(pk=answer.pk).update(superseded=True)
    again = MessageFactory(
        session=answer.session,
        reply_to=answer.reply_to,
        decision="NO_ANSWER",
        request=answer.request,
    )
    assert (send(again).status_code, send(again).json()["id"]) == (200, request_id)
    shown = api_of(asker).get(f"/api/messages/{again.pk}").json()
    assert shown["sent_request"] == "open"
    gaps_refresh()
    assert GapQuestion.objects.filter(message=answer).exists()


@pytest.mark.parametrize("fields", [{"expires_at": timezone.now() + timedelta(hours=1)}, {}])
def test_in_a_conversation_that_is_not_kept_nobody_is_offered(
    asker: User, fields: dict[str, Any]
) -> None:
    answer = refused(asker)
    assert "ask_owner" in offers_of(answer)
    Session.objects.filter(pk=answer.session_id).update(kept=False, **fields)
    assert offers_of(answer) == ["count"]


def test_of_a_conversation_that_is_not_stored_nothing_is_sent(
    asker: User, campus: Collection
) -> None:
    answer = refused(asker, campus)
    answer.session.kept = False
    answer.session.save()
    assert send(answer).status_code == 409
    assert api_of(asker).get(f"/api/messages/{answer.pk}/ask-owner").status_code == 409


def test_a_deleted_conversation_takes_the_question_along(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    answer = refused(asker, campus)
    with committed():
        send(answer)
    with committed():
        answer.session.delete()
    assert api_of(owner).get("/api/requests").json()["count"] == 0
    assert not Notification.objects.filter(user=owner, read_at=None).exists()
    gaps_refresh()
    assert not KnowledgeGap.objects.exists()


def test_a_day_has_a_limit(
    asker: User, campus: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "A_DAY", 1)
    send(refused(asker, campus))
    second = send(refused(asker, campus))
    assert second.status_code == 429
    assert int(second.headers["Retry-After"]) > 0


@pytest.mark.parametrize(
    "body",
    [{"remark": "x" * 1001}, {"remark": 5}, {"to": "everybody"}, {"to": "curators"}, {"extra": 1}],
    ids=["too long", "a number", "unknown", "nobody there", "a field too many"],
)
def test_malformed_bodies_are_refused(
    body: dict[str, Any], asker: User, campus: Collection
) -> None:
    assert send(refused(asker, campus), **body).status_code == 400
    assert not GapRequest.objects.exists()


# ------------------------------------------------------------------------------------------------ strangers
def test_strangers_find_nothing(asker: User, campus: Collection) -> None:
    answer = refused(asker, campus)
    request_id = send(answer).json()["id"]
    stranger = api_of(UserFactory())
    reader = UserFactory()
    CollectionPerson.objects.create(collection=campus, user=reader)
    for api in (stranger, api_of(reader), api_of(person("Reviewers"))):
        assert api.get(f"/api/messages/{answer.pk}/ask-owner").status_code == 404
        assert api.post(f"/api/messages/{answer.pk}/ask-owner").status_code == 404
        assert api.get("/api/requests").json()["count"] == 0
        assert api.get(f"/api/requests/{request_id}").status_code == 404
        assert api.delete(f"/api/requests/{request_id}").status_code == 404
        for act in ("reply", "decline"):
            assert api.post(f"/api/requests/{request_id}/{act}").status_code == 404
    assert client_of(UserFactory()).get(f"/requests/{request_id}/").status_code == 404
    assert client_of(None).get("/requests/").status_code == 302


def test_the_asker_answers_none_of_their_own(asker: User, campus: Collection) -> None:
    CollectionPerson.objects.update(role="editor")
    request_id = send(refused(asker, campus)).json()["id"]
    assert reply(asker, request_id).status_code == 404


# ------------------------------------------------------------------------------------------------ withdrawn
def test_what_is_withdrawn_is_gone_for_others_and_can_be_sent_again(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    answer = refused(asker, campus)
    with committed():
        request_id = send(answer, remark="Now.").json()["id"]
    api = api_of(asker)
    with committed():
        assert api.delete(f"/api/requests/{request_id}").status_code == 204
    assert api.delete(f"/api/requests/{request_id}").status_code == 204
    assert api_of(owner).get("/api/requests").json()["count"] == 0
    assert not Notification.objects.filter(user=owner, read_at=None).exists()
    assert reply(owner, request_id).status_code == 404
    again = send(answer)
    assert (again.status_code, again.json()["id"]) == (201, request_id)


# ------------------------------------------------------------------------------------------------ answered
def test_a_reply_stands_in_the_conversation_and_its_asker_is_told_once(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    answer = refused(asker, campus)
    request_id = send(answer).json()["id"]
    chunk = passage("Permits are given at the gate.", collection=campus)
    with committed():
        replied = reply(owner, request_id, REPLY, chunk).json()
    assert replied["said"].startswith("Sent. A curator decides")
    assert not CuratedAnswer.objects.exists()
    messages = api_of(asker).get(f"/api/sessions/{answer.session_id}/messages").json()["results"]
    _question, shown = messages
    assert (shown["answer"], shown["decision"]) == (REPLY, "ANSWER")
    assert shown["written_by"]["by"] == "mei"
    assert shown["found"] == []
    assert [source["document_id"] for source in shown["sources"]] == [str(chunk.document_id)]
    assert str(answer.pk) in shown["versions"], "what the site said stays"
    (row,) = Notification.objects.filter(user=asker)
    (said,) = shown_notifications([row], user=asker)
    assert said.text == f"mei answered your question “{PARKING}”"
    assert said.address == f"/chat/{answer.session_id}/#message-{answer.reply_to_id}"
    again = reply(owner, request_id, "Something else.")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "request_ended")


def test_a_curators_reply_with_a_passage_is_a_checked_answer(asker: User) -> None:
    curator = person("Curators", username="lam")
    request_id = send(refused(asker)).json()["id"]
    chunk = passage("Permits are given at the gate.")
    replied = reply(curator, request_id, REPLY, chunk).json()
    assert replied["said"].startswith("Sent. From now on")
    checked = CuratedAnswer.objects.get()
    assert (checked.question, checked.text, checked.created_by) == (PARKING, REPLY, curator)
    assert checked.from_answer is True, "in the asker's words: it is offered to nobody else"
    assert checked.sources.get().document_id == chunk.document_id
    assert KnowledgeGap.objects.get().state == "closed"


def test_a_question_that_needs_its_conversation_becomes_no_checked_answer(asker: User) -> None:
    curator = person("Curators")
    answer = refused(asker, text="And for guests?", searched_for="Parking permits for guests")
    request_id = send(answer).json()["id"]
    replied = reply(curator, request_id, REPLY, passage("At the gate.")).json()
    assert "needs its conversation" in replied["said"]
    assert not CuratedAnswer.objects.exists()


def test_passages_that_the_asker_may_not_read_are_not_shown_to_them(
    owner: User, asker: User, campus: Collection
) -> None:
    answer = refused(asker, campus)
    request_id = send(answer).json()["id"]
    private = CollectionFactory(owner=owner, visibility="private")
    secret = passage("The code of the gate is 4711.", collection=private, title="Gate codes")
    assert reply(owner, request_id, REPLY, secret).status_code == 200
    messages = api_of(asker).get(f"/api/sessions/{answer.session_id}/messages").content.decode()
    mine = api_of(asker).get(f"/api/requests/{request_id}").json()
    for text in (messages, str(mine)):
        assert "4711" not in text
        assert "Gate codes" not in text
    assert (mine["sources"], mine["hidden_sources"]) == ([], 1)


def test_nobody_cites_what_they_may_not_read_or_what_is_not_there(
    owner: User, asker: User, campus: Collection
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    foreign = passage("Secret.", collection=CollectionFactory(owner=asker, visibility="private"))
    assert reply(owner, request_id, REPLY, foreign).json()["error"]["fields"].keys() == {"passages"}
    assert reply(owner, request_id, "See [2].").json()["error"]["fields"].keys() == {"text"}
    assert reply(owner, request_id, "x" * 20_001).status_code == 400
    assert GapRequest.objects.get().state == "open"


def test_a_declined_question_tells_its_reason(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    api = api_of(owner)
    address = f"/api/requests/{request_id}/decline"
    assert api.post(address, {"reason": " "}, format="json").status_code == 400
    with committed():
        declined = api.post(address, {"reason": "Ask the porter."}, format="json")
    assert declined.json()["state"] == "declined"
    (said,) = shown_notifications(Notification.objects.filter(user=asker), user=asker)
    assert said.text == f"mei declined your question “{PARKING}”"
    assert said.detail == "Ask the porter."


# ------------------------------------------------------------------------------------------------ pages
def test_what_was_entered_stays_on_the_page_where_it_is_not_taken(
    owner: User, asker: User, campus: Collection
) -> None:
    request_id = send(refused(asker, campus), remark="<b>Monday</b>").json()["id"]
    client = client_of(owner)
    chunk = passage("Permits.", collection=campus, title="Permit rules")
    listed = client.get("/requests/").content.decode()
    assert PARKING in listed
    page = client.post(
        f"/requests/{request_id}/reply/", {"text": "See [7].", "passage": str(chunk.pk)}
    )
    body = page.content.decode()
    assert page.status_code == 400
    assert "Cite only passages from the list" in body
    assert "See [7].</textarea>" in body
    assert f'value="{chunk.pk}"' in body
    assert "&lt;b&gt;Monday" in body
    sent = client.post(
        f"/requests/{request_id}/reply/", {"text": REPLY, "passage": str(chunk.pk)}, follow=True
    )
    assert "A curator decides" in sent.content.decode()
    assert "At the gate" in client_of(asker).get(f"/requests/{request_id}/").content.decode()


def test_a_curator_makes_a_checked_answer_of_an_owners_reply(
    owner: User, asker: User, campus: Collection
) -> None:
    request_id = send(refused(asker, campus), remark="On Monday.").json()["id"]
    reply(owner, request_id, REPLY, passage("At the gate.", collection=campus))
    client = client_of(person("Curators"))
    gap = KnowledgeGap.objects.get()
    assert "A reply to check" in client.get("/review/gaps/").content.decode()
    page = client.get(f"/review/gaps/{gap.pk}/").content.decode()
    assert "On Monday." in page
    assert "tom" not in page, "their role shows no names"
    address = f"/review/curated/new/?request={request_id}"
    assert address in page
    saved = client.post(address, {"question": PARKING, "text": REPLY})
    assert saved.status_code == 302
    checked = CuratedAnswer.objects.get()
    assert GapRequest.objects.get().curated == checked
    gap.refresh_from_db()
    assert gap.state == "closed"


def test_a_reply_that_becomes_no_checked_answer_is_dismissed_and_waits_again_by_undo(
    owner: User, asker: User, campus: Collection
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    chunk = passage("At the gate.", collection=campus)
    words = "For this semester only: " + "x" * 500 + " to the end [1]."
    reply(owner, request_id, words, chunk)
    client = client_of(person("Curators"))
    gap = KnowledgeGap.objects.get()
    address = f"/review/gaps/{gap.pk}/replies/{request_id}"
    page = client.get(f"/review/gaps/{gap.pk}/").content.decode()
    assert words in page and "Give it to nobody else" in page
    assert client_of(person("Reviewers")).post(f"{address}/dismiss/").status_code == 403
    told = client.post(f"{address}/dismiss/", follow=True).content.decode()
    assert "Dismissed." in told and f"{address}/restore/" in told
    assert "A reply to check" not in client.get("/review/gaps/?state=closed").content.decode()
    gap.refresh_from_db()
    assert gap.state == "closed"
    again = client.post(f"{address}/dismiss/", follow=True).content.decode()
    assert "does not wait to be checked any more" in again
    client.post(f"{address}/restore/")
    assert "A reply to check" in client.get("/review/gaps/").content.decode()


def test_a_gap_says_how_many_requests_its_page_leaves_out(
    asker: User, campus: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.requests.at_the_desk.MOST", 1)
    for _ in range(3):
        send(refused(asker, campus))
    gap = KnowledgeGap.objects.get()
    page = client_of(person("Curators")).get(f"/review/gaps/{gap.pk}/").content.decode()
    assert "2 earlier ones are not shown." in page


def test_what_became_of_the_cited_documents_is_said(
    owner: User, asker: User, campus: Collection
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    names = ("Fine", "Replaced", "Failed", "Read again", "In parts", "Gone")
    chunks = [passage(f"{name} gate.", collection=campus, title=name) for name in names]
    reply(owner, request_id, "See [1][2][3][4][5][6].", *chunks)
    for place, changes in enumerate(
        ({}, {"superseded_at": timezone.now()}, {"status": "failed"}, {"status": "queued"})
    ):
        if changes:
            Document.objects.filter(pk=chunks[place].document_id).update(**changes)
    Document.objects.filter(pk=chunks[4].document_id).update(unread=[["Page 3 was not read."]])
    Document.objects.get(pk=chunks[5].document_id).delete()
    page = client_of(asker).get(f"/requests/{request_id}/").content.decode()
    for said in (
        "A newer version has taken the place of this document.",
        "This document could not be read again",
        "This document is being read again.",
        "Parts of this document could not be read.",
        "1 cited passage is not shown, since its document was deleted.",
    ):
        assert page.count(said) == 1
    mine = api_of(asker).get(f"/api/requests/{request_id}").json()
    assert (mine["gone_sources"], mine["hidden_sources"], mine["sources"][0]["note"]) == (1, 0, "")


# ------------------------------------------------------------------------------------------------ otherwise answered
def end_replays(*, supported: bool) -> None:
    """As if a worker had asked them."""
    Replay.objects.update(
        status="complete", finished_at=timezone.now(), summary={"supported": supported}
    )
    gap_results_take()


@pytest.mark.parametrize("readable", [True, False], ids=["may read it", "may not"])
def test_a_document_that_answers_it_answers_the_request_of_who_may_read_it(
    readable: bool, asker: User, committed: Committed
) -> None:
    curator = person("Curators")
    request_id = send(refused(asker)).json()["id"]
    visibility = "public" if readable else "private"
    collection = CollectionFactory(owner=curator, visibility=visibility)
    with committed():
        gap_document_add(
            access=desk_access(curator),
            gap=KnowledgeGap.objects.get(),
            document=DocumentFactory(collection=collection),
            close=True,
        )
    with committed():
        end_replays(supported=True)
    state = GapRequest.objects.get(pk=request_id).state
    assert state == ("answered" if readable else "open")
    assert told(asker) == ([f"Your question “{PARKING}” was taken care of"] if readable else [])


def test_a_gap_that_is_closed_by_hand_answers_its_requests(
    asker: User, committed: Committed
) -> None:
    curator = person("Curators")
    send(refused(asker))
    assert "1 person waits for a reply" in client_of(curator).get("/review/gaps/").content.decode()
    with committed():
        gap_mark(access=desk_access(curator), gap=KnowledgeGap.objects.get(), state="closed")
    assert GapRequest.objects.get().state == "answered"
    assert len(told(asker)) == 1


def test_an_owner_without_the_desk_adds_a_document_and_the_question_is_asked_again(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    client = client_of(owner)
    file = SimpleUploadedFile("permits.md", b"Permits are given at the gate.")
    client.post(f"/requests/{request_id}/document/", {"file": file, "collection": str(campus.pk)})
    document = Document.objects.get(collection=campus)
    document.status = Document.Status.READY
    with committed():
        document.save(update_fields=["status"])
    assert Replay.objects.get().made_by == owner
    with committed():
        end_replays(supported=True)
    assert GapRequest.objects.get().state == "answered"
    assert told(asker) == [f"Your question “{PARKING}” was taken care of"]


def test_why_a_question_was_not_asked_again_is_said_to_who_waits(
    owner: User, asker: User, campus: Collection, committed: Committed, monkeypatch: Any
) -> None:
    request_id = send(refused(asker, campus)).json()["id"]
    monkeypatch.setattr("chat.review.replay.replays.MAX_OPEN", 0)
    file = SimpleUploadedFile("permits.md", b"Permits are given at the gate.")
    client = client_of(owner)
    client.post(f"/requests/{request_id}/document/", {"file": file, "collection": str(campus.pk)})
    document = Document.objects.get(collection=campus)
    document.status = Document.Status.READY
    with committed():
        document.save(update_fields=["status"])
    assert not Replay.objects.exists()
    said = "The question could not be asked again automatically:"
    for reader in (asker, owner):
        assert said in client_of(reader).get(f"/requests/{request_id}/").content.decode()
    gap = KnowledgeGap.objects.get()
    curator = client_of(person("Curators"))
    assert (
        "could not be asked again automatically:"
        in curator.get(f"/review/gaps/{gap.pk}/").content.decode()
    )
    document.status = Document.Status.FAILED
    document.save(update_fields=["status"])
    page = client.get(f"/requests/{request_id}/").content.decode()
    assert "1 document that was added for it could not be read." in page


def test_a_gap_whose_questions_cannot_be_asked_again_is_open_again(asker: User) -> None:
    curator = person("Curators")
    send(refused(asker))
    gap = KnowledgeGap.objects.get()
    document = DocumentFactory()
    gap_document_add(access=desk_access(curator), gap=gap, document=document, close=True)
    curator.groups.clear()
    request_document_ready(document.pk)
    gap_document_ready(document.pk)
    gap.refresh_from_db()
    assert (gap.state, gap.reopened) == ("open", True)
    page = client_of(person("Curators")).get(f"/review/gaps/{gap.pk}/").content.decode()
    assert "could not be asked again automatically:" in page


# ------------------------------------------------------------------------------------------------ accounts that go
def test_what_was_sent_to_a_person_who_is_deleted_goes_to_the_curators(
    owner: User, asker: User, campus: Collection, committed: Committed
) -> None:
    curator = person("Curators")
    request_id = send(refused(asker, campus)).json()["id"]
    with committed():
        deletion_start(user=owner)
        deletions_do()
    (received,) = api_of(curator).get("/api/requests").json()["results"]
    assert (received["id"], received["asker"]) == (request_id, None)
    assert "went to the curators" in received["note"]
    assert told(curator) == [f"A question for you: “{PARKING}”"]
    mine = api_of(asker).get(f"/api/requests/{request_id}").json()
    assert (mine["state"], mine["note"]) == ("open", received["note"])


def test_the_list_has_what_waits_before_what_is_done(
    owner: User, asker: User, campus: Collection
) -> None:
    send(refused(asker, campus))
    answered_since = send(refused(asker, campus, text="Where is the gate?")).json()["id"]
    reply(owner, answered_since)
    listed = client_of(owner).get("/requests/").content.decode()
    assert 0 < listed.index(PARKING) < listed.index("Where is the gate?")


def test_of_an_asker_who_is_deleted_the_open_question_stays_without_name_and_remark(
    owner: User, asker: User, campus: Collection
) -> None:
    curator = person("Curators")
    request_id = send(refused(asker, campus), remark="I am Tom.").json()["id"]
    deletion_start(user=asker)
    deletions_do()
    (left,) = api_of(curator).get("/api/requests").json()["results"]
    assert (left["id"], left["question"], left["remark"]) == (request_id, PARKING, "")
    assert "nobody is notified" in left["note"]
    assert reply(curator, request_id).status_code == 200


def test_a_reply_stays_without_the_name_of_its_writer_who_is_deleted(
    owner: User, asker: User, campus: Collection
) -> None:
    answer = refused(asker, campus)
    assert reply(owner, send(answer).json()["id"], "At the gate.").status_code == 200
    deletion_start(user=owner)
    deletions_do()
    messages = api_of(asker).get(f"/api/sessions/{answer.session_id}/messages").json()["results"]
    shown = messages[-1]
    assert (shown["answer"], shown["written_by"]["by"]) == ("At the gate.", "–")


def test_old_questions_without_a_conversation_go(
    asker: User, campus: Collection, rag_settings: Any
) -> None:
    rag_settings(retention={"conversations_days": 30})
    send(refused(asker, campus))
    GapRequest.objects.update(message=None, asker=None, sent_at=timezone.now() - timedelta(days=31))
    list(retention_work())
    assert not GapRequest.objects.exists()
