"""One message: read, stop, regenerate, follow."""

from __future__ import annotations

import uuid

from asgiref.sync import sync_to_async

from chat.messages.answer_serializers import AnswerSerializer, SourceSerializer, UsageSerializer
from chat.models import Message
from chat.runs.event_log import close_event_log
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, events_of, types
from tests.factories import MessageFactory, SessionFactory


async def test_strangers_get_404_by_every_call(
    api: Api, other_api: Api, workflow: ScriptedWorkflow
) -> None:
    message_id = (await api.ask()).json()["message_id"]
    calls = (
        "get ",
        "post /stop",
        "post /regenerate",
        "post /continue",
        "get /events",
        "get /versions",
        "post /show",
    )
    for known in (message_id, uuid.uuid4(), "nonsense"):
        for method, _, call in (name.partition(" ") for name in calls):
            response = await other_api.call(method, f"/api/messages/{known}{call}")
            assert response.status_code == 404, call
        assert (
            await other_api.call("post", f"/api/messages/{known}/edit", {"message": "x"})
        ).status_code == 404


async def test_regenerated_answer_supersedes_the_old_one(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    old = (await api.ask(options={"top_k": 3})).json()
    workflow.chunks = ("Twelve.",)
    new = (await api.call("post", f"/api/messages/{old['message_id']}/regenerate")).json()
    shown = (await api.call("get", f"/api/sessions/{old['session_id']}/messages")).json()["results"]
    assert new["reply_to"] == old["reply_to"]
    assert [message["message_id"] for message in shown] == [old["reply_to"], new["message_id"]]
    assert (await Message.objects.aget(pk=old["message_id"])).superseded is True
    assert workflow.questions[1].options.top_k == 3
    assert workflow.questions[1].history == ()


async def test_regenerate_streams_and_takes_changes(api: Api, workflow: ScriptedWorkflow) -> None:
    old = (await api.ask()).json()
    body = {"stream": True, "options": {"top_k": 9}}
    response = await api.call("post", f"/api/messages/{old['message_id']}/regenerate", body)
    events = [event async for event in events_of(response)]
    assert events[-1]["answer"] == TEXT
    assert workflow.questions[1].options.top_k == 9


async def test_last_event_id_continues_where_the_reader_was(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    events = [event async for event in events_of(await api.ask(stream=True))]
    path = f"/api/messages/{events[0]['message_id']}/events"
    again = [
        event async for event in events_of(await api.call("get", path, **{"Last-Event-ID": "4"}))
    ]
    everything = [event async for event in events_of(await api.call("get", path))]
    assert again == events[4:]
    assert everything == events


async def test_late_reader_gets_the_answer_from_the_database(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    data = (await api.ask()).json()
    await close_event_log()
    path = f"/api/messages/{data['message_id']}/events"
    events = [event async for event in events_of(await api.call("get", path))]
    rest = [
        event async for event in events_of(await api.call("get", path, **{"Last-Event-ID": "7"}))
    ]
    assert types(events) == ["started", "sources", "chunk", "done"]
    assert events[2]["content"] == events[3]["answer"] == TEXT
    assert [(event["type"], event["seq"]) for event in rest] == [("done", 8)]


async def test_reader_of_an_orphaned_answer_is_told_that_it_was_interrupted(api: Api) -> None:
    session = await sync_to_async(SessionFactory)(user=api.user)
    question = await sync_to_async(MessageFactory)(session=session, question=True)
    message = await sync_to_async(MessageFactory)(
        session=session, reply_to=question, status="streaming", text="Half an", decision=""
    )
    events = [
        event
        async for event in events_of(await api.call("get", f"/api/messages/{message.pk}/events"))
    ]
    assert events[-1]["message"]["status"] == "interrupted"
    assert events[-1]["answer"] == "Half an"


async def test_an_answer_has_every_field_that_is_declared(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    answer = (await api.ask()).json()
    assert set(answer) == set(AnswerSerializer().fields) - {"text"}
    assert set(answer["sources"][0]) == set(SourceSerializer().fields)
    assert set(answer["usage"]) == set(UsageSerializer().fields)
