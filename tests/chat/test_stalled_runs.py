"""A run that stalls is taken for dead by others, and loses nothing when it comes back."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from chat.models import Message
from chat.runs.answers import answer_stop_silent, answers_mark_interrupted
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, Question
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, events_of, eventually, types


@pytest.fixture(autouse=True)
def _silent_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sign of life between the beginning and the end, unless a test asks for it."""
    monkeypatch.setattr("chat.runs.run.SAVE_EVERY_S", 3600)


def _mark_silent(message_id: str) -> int:
    """In one transaction, so that no sign of life comes between."""
    with transaction.atomic():
        Message.objects.filter(pk=message_id).update(
            lease_expires_at=timezone.now() - timedelta(seconds=1)
        )
        return answers_mark_interrupted(pk=message_id)


async def _taken_for_dead(message_id: str) -> None:
    assert await sync_to_async(_mark_silent)(message_id) == 1


@pytest.mark.parametrize("save_every_s", [3600, 0.02])
async def test_run_that_was_taken_for_dead_finishes_its_answer(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch, save_every_s: float
) -> None:
    monkeypatch.setattr("chat.runs.run.SAVE_EVERY_S", save_every_s)
    workflow.hold(1)
    events = events_of(await api.ask(stream=True))
    first = await anext(events)
    await _taken_for_dead(first["message_id"])
    if save_every_s < 1:  # it shows as being written again with its next sign of life
        await eventually(Message.objects.filter(pk=first["message_id"], status="streaming").aexists)
    workflow.go_on()
    rest = [event async for event in events]
    stored = await Message.objects.aget(pk=first["message_id"])
    assert (stored.status, stored.text, await stored.sources.acount()) == ("complete", TEXT, 1)
    assert [event["type"] for event in rest if event.get("done")] == ["done"]
    assert rest[-1]["answer"] == TEXT


async def test_answer_that_was_asked_for_again_refuses_its_late_run(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    events = events_of(await api.ask(stream=True))
    late = await anext(events)
    await _taken_for_dead(late["message_id"])
    again = await api.call(
        "post", f"/api/messages/{late['message_id']}/regenerate", {"stream": True}
    )
    assert again.status_code == 200
    workflow.go_on()
    rest = [event async for event in events]
    stored = await Message.objects.aget(pk=late["message_id"])
    assert (stored.status, stored.superseded) == ("interrupted", True)
    assert (rest[-1]["type"], rest[-1]["message"]["status"]) == ("done", "interrupted")


async def test_stop_takes_an_answer_from_a_silent_run_and_not_from_a_living_one(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold(1)
    message_id = (await api.begin())["message_id"]
    assert await sync_to_async(answer_stop_silent)(message_id=message_id) is False
    await _taken_for_dead(message_id)
    assert await sync_to_async(answer_stop_silent)(message_id=message_id) is True
    assert (await Message.objects.aget(pk=message_id)).lease_token is None


async def test_reader_elsewhere_is_told_when_a_run_stays_away(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.runs.event_log.HEARTBEAT_S", 0.05)
    monkeypatch.setattr("chat.runs.following.run_find", lambda message_id: None)
    workflow.hold(1)
    events = events_of(await api.ask(stream=True))
    first = await anext(events)
    long_ago = timezone.now() - timedelta(hours=1)  # as if its process had been stopped since
    await Message.objects.filter(pk=first["message_id"]).aupdate(lease_expires_at=long_ago)
    rest = [event async for event in events]
    assert (rest[-1]["type"], rest[-1]["message"]["status"]) == ("done", "interrupted")


async def test_workflow_that_takes_no_notice_of_a_stop_is_left_behind(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = asyncio.Event()

    async def deaf(question: Question, *, workflow: str, trace: Trace) -> Answer:
        await trace.emit_chunk("Ten.")
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                await trace.emit_chunk(" And twelve.")
        await trace.emit_chunk(" And more.")
        return Answer(decision="ANSWER", text="Ten. And twelve. And more.")

    monkeypatch.setattr("chat.runs.run.answer_question", deaf)
    monkeypatch.setattr("chat.runs.run.CANCEL_GRACE_S", 0.05)
    started = await api.begin()
    stopped = (await api.call("post", f"/api/messages/{started['message_id']}/stop")).json()
    released.set()
    await asyncio.sleep(0)
    path = f"/api/messages/{started['message_id']}/events"
    events = [event async for event in events_of(await api.call("get", path))]
    assert (stopped["status"], stopped["answer"]) == ("stopped", "Ten. And twelve.")
    assert [event["content"] for event in events if event["type"] == "chunk"] == [
        "Ten.",
        " And twelve.",
    ]
    assert types(events)[-1] == "done"
