"""Temporary conversations: their owner's alone, remembered nowhere, and gone after a day."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone

from chat.models import AnswerReview, FilledPrompt, Message, Session
from chat.review.records import answers_catch_up, answers_record
from chat.services.retention import temporary_over
from chat.tasks import conversations_forget
from feedback.curation.gaps import gaps_refresh
from feedback.models import KnowledgeGap, Rating
from ragsite.core.rag_settings import ConversationSettings
from retrieval.models import Collection
from tests.chat.conftest import Api, ScriptedWorkflow, program_key
from tests.clients import client_of
from tests.factories import UserFactory

SECRET = "Is Ms Ames ill?"
pytestmark = pytest.mark.usefixtures("workflow")


@pytest.fixture
def rule(settings: Any) -> Any:
    """`rule("enforced")`"""

    def set_rule(value: Any) -> None:
        settings.RAG = settings.RAG.replace(
            conversations=ConversationSettings(temporary_chat=value)
        )

    return set_rule


async def begun(api: Api, **fields: Any) -> dict[str, Any]:
    """The message of its first answer."""
    response = await api.ask(SECRET, **{"temporary": True, **fields})
    assert response.status_code == 200, response.content
    message: dict[str, Any] = response.json()
    return message


async def session_of(api: Api, message: dict[str, Any]) -> Any:
    return await api.call("get", f"/api/sessions/{message['session_id']}")


async def refused(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# ------------------------------------------------------------------------------------------------ its owner
async def test_it_says_when_it_ends_and_hides_its_question(api: Api) -> None:
    shown = (await session_of(api, await begun(api))).json()
    ends = datetime.fromisoformat(shown["expires_at"]) - timezone.now()
    assert (shown["temporary"], shown["title"]) == (True, "Temporary chat")
    assert timedelta(hours=23) < ends <= timedelta(hours=24)


async def test_it_is_neither_listed_nor_found(api: Api) -> None:
    await begun(api)
    listed = [await api.call("get", f"/api/sessions{query}") for query in ("", "?search=Ames")]
    assert [page.json()["count"] for page in listed] == [0, 0]


async def test_a_second_question_stays_in_it(api: Api, workflow: ScriptedWorkflow) -> None:
    first = await begun(api)
    again = await api.ask("And now?", session_id=first["session_id"])
    path = f"/api/sessions/{first['session_id']}/messages"
    assert again.json()["session_id"] == first["session_id"]
    assert (await api.call("get", path)).json()["count"] == 4
    assert [question.user_id for question in workflow.questions] == ["", ""]  # no memory
    assert [message.text for message in workflow.questions[1].history][:1] == [SECRET]


async def test_an_empty_one_is_begun_and_asked_in(api: Api) -> None:
    response = await api.call("post", "/api/sessions", {"temporary": True})
    session = response.json()
    assert (response.status_code, session["temporary"], session["message_count"]) == (201, True, 0)
    await begun(api, session_id=session["id"])
    assert (await api.call("post", "/api/sessions", {})).json()["temporary"] is False
    wrong = await api.call("post", "/api/sessions", {"temporary": "perhaps"})
    assert (wrong.status_code, list(wrong.json()["error"]["fields"])) == (400, ["temporary"])


async def test_empty_conversations_are_bounded(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr("chat.services.temporary.MOST_EMPTY", 1)
    await api.call("post", "/api/sessions", {})
    response = await api.call("post", "/api/sessions", {})
    assert await refused(response) == (409, "too_many_empty_conversations")


async def test_over_the_websocket(socket: Any) -> None:
    tab = await socket()
    await tab.send("ask", message=SECRET, temporary=True)
    started = await tab.receive()
    session = await Session.objects.aget(pk=started["session_id"])
    assert session.is_temporary and not session.kept


async def test_an_ordinary_conversation_does_not_become_one(api: Api) -> None:
    ordinary = await begun(api, temporary=False)
    path = f"/api/sessions/{ordinary['session_id']}"
    for response in (
        await api.ask(SECRET, session_id=ordinary["session_id"], temporary=True),
        await api.call("patch", path, {"temporary": True}),
    ):
        assert (response.status_code, list(response.json()["error"]["fields"])) == (
            400,
            ["temporary"],
        )


async def test_it_is_exported_for_its_owner_and_shared_with_nobody(api: Api) -> None:
    message = await begun(api)
    path = f"/api/sessions/{message['session_id']}"
    export = await api.call("get", f"{path}/export")
    assert SECRET in export.content.decode() and "Temporary chat" in export.content.decode()
    for response in (
        await api.call("post", f"{path}/share", {"scope": "site"}),
        await api.call("patch", path, {"pinned": True}),
        await api.call("patch", path, {"title": "Ames"}),
        await api.call("put", f"/api/messages/{message['message_id']}/rating", {"thumb": "down"}),
    ):
        assert await refused(response) == (409, "temporary_chat")
    assert not await Rating.objects.aexists()


async def test_strangers_get_404_by_every_call(api: Api, other_api: Api) -> None:
    message = await begun(api)
    for known in (message["session_id"], str(uuid.uuid4())):
        path = f"/api/sessions/{known}"
        for method, call, body in (
            ("get", path, None),
            ("patch", path, {"temporary": False}),
            ("get", f"{path}/messages", None),
            ("get", f"{path}/export", None),
        ):
            assert (await other_api.call(method, call, body)).status_code == 404
        assert (await other_api.ask("What?", session_id=known)).status_code == 404


async def test_kept_it_becomes_an_ordinary_one(api: Api) -> None:
    message = await begun(api)
    path = f"/api/sessions/{message['session_id']}"
    kept = (await api.call("patch", path, {"temporary": False, "folder": "Leave"})).json()
    assert (kept["temporary"], kept["expires_at"], kept["title"]) == (False, None, SECRET)
    assert (await api.call("get", "/api/sessions")).json()["count"] == 1
    assert await sync_to_async(answers_catch_up)(most=10, within_s=5) == 1


# ------------------------------------------------------------------------------------------------ the administrator
async def test_forbidden_it_is_refused_and_what_has_begun_goes_on(api: Api, rule: Any) -> None:
    before = await begun(api)
    rule("forbidden")
    for response in (
        await api.ask(SECRET, temporary=True),
        await api.call("post", "/api/sessions", {"temporary": True}),
    ):
        assert await refused(response) == (403, "temporary_chat_forbidden")
    assert (await api.ask("And?", session_id=before["session_id"])).status_code == 200
    assert (await api.ask("An ordinary one?")).status_code == 200
    assert await Session.objects.filter(kept=False).acount() == 1


async def test_enforced_every_new_one_is_temporary(api: Api, rule: Any) -> None:
    ordinary = await begun(api, temporary=False)
    rule("enforced")
    temporary = (await api.ask(SECRET)).json()
    assert (await session_of(api, temporary)).json()["temporary"] is True
    assert (await session_of(api, ordinary)).json()["temporary"] is False
    assert await refused(await api.ask(SECRET, temporary=False)) == (403, "temporary_chat_enforced")
    path = f"/api/sessions/{temporary['session_id']}"
    response = await api.call("patch", path, {"temporary": False})
    assert await refused(response) == (403, "temporary_chat_enforced")


async def test_enforced_it_holds_for_programs_that_keep_theirs(api: Api, rule: Any) -> None:
    rule("enforced")
    key = await sync_to_async(program_key)(api.user, "ask", keeps_conversations=True)
    body = {"model": "ragsite", "messages": [{"role": "user", "content": SECRET}]}
    response = await AsyncClient().post(
        "/v1/chat/completions",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )
    assert response.status_code == 200
    assert (await Session.objects.aget()).is_temporary


# ------------------------------------------------------------------------------------------------ everybody else
async def test_no_door_of_the_desk_leads_to_it(
    api: Api, settings: Any, workflow: ScriptedWorkflow
) -> None:
    settings.RAG = settings.RAG.replace(retention=settings.RAG.retention.replace(paths_days=9))
    workflow.decision = "NO_ANSWER"
    message = await begun(api)
    key = message["message_id"]

    def doors() -> list[int]:
        staff = client_of(UserFactory(is_staff=True, is_superuser=True))
        calls = [
            staff.get(f"/review/answers/{key}/"),
            staff.get(f"/api/review/answers/{key}"),
            staff.get(f"/review/replays/new/?answer={key}"),
            staff.post("/api/review/replays", {"message_ids": [key]}, "application/json"),
            staff.get(f"/review/curated/new/?answer={key}"),
            staff.get(f"/review/golden/new/?answer={key}"),
            staff.get(f"/api/sessions/{message['session_id']}"),
            staff.get(f"/chat/{message['session_id']}/"),
            staff.get(f"/admin/chat/message/{key}/change/", follow=True),
            staff.get(f"/admin/chat/session/{message['session_id']}/change/", follow=True),
            staff.get("/admin/chat/message/"),
            staff.get("/admin/chat/session/"),
            staff.get("/review/", follow=True),
        ]
        for call in calls:
            assert b"Ames" not in call.content
        return [call.status_code for call in calls]

    assert await sync_to_async(doors)() == [404] * 8 + [200] * 5
    await sync_to_async(answers_record)([uuid.UUID(key)])
    assert await sync_to_async(gaps_refresh)() == 0
    assert not await AnswerReview.objects.aexists()
    assert not await KnowledgeGap.objects.aexists()
    assert not await FilledPrompt.objects.aexists()


# ------------------------------------------------------------------------------------------------ its end
async def test_after_a_day_it_is_gone_with_its_files(api: Api) -> None:
    message = await begun(api)
    key = message["session_id"]
    await Collection.objects.acreate(name="attached", owner=api.user, conversation_id=key)
    assert await sync_to_async(conversations_forget)() == 0
    await Session.objects.aupdate(expires_at=timezone.now() - timedelta(seconds=1))
    # Nobody reads it any more, although no worker has come by yet.
    assert (await session_of(api, message)).status_code == 404
    assert (await api.call("get", f"/api/messages/{message['message_id']}")).status_code == 404
    assert (await api.ask("And?", session_id=key)).status_code == 404
    assert await sync_to_async(conversations_forget)() == 1
    left = [await rows.acount() for rows in (Session.objects, Message.objects, Collection.objects)]
    assert left == [0, 0, 0]


async def test_an_answer_that_is_being_written_is_waited_for(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold()
    await api.begin(SECRET, temporary=True)
    later = timezone.now() + timedelta(days=2)
    assert not await temporary_over(later).aexists()
    workflow.go_on()
