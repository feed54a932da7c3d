"""Answers whose process has died: what was shown of them is kept, whoever goes on with them, or nobody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from chat.models import Message
from chat.runs import run as run_module
from chat.runs.answers import STALE_AFTER_S
from chat.runs.draining import drain_begin
from chat.runs.event_log import close_event_log, get_event_log
from chat.runs.left_answers import answer_declare_left
from chat.runs.run import Run
from chat.runs.running import runs_shut_down
from chat.runs.stopping import is_listened_for
from chat.services import take_over
from chat.services.take_over import answer_take_over, answers_take_over
from ragsite.settings import redis_channel_layer
from retrieval.compose import close_engine
from tests.chat.conftest import Api, ScriptedWorkflow, eventually
from tests.factories import DecisionStepFactory, MessageFactory

BEGINNING = "Undergraduates may borrow ten books [1]. They may keep them"
SOURCE = {
    "marker": 1, "kind": "document", "document_id": str(uuid4()), "chunk_id": "chunk-1", "title": "Loans", "page": 2,
    "heading": "", "file_name": "", "url": "", "published": "", "scores": {"dense": 0.7}, "cited": False,
    "text": "Undergraduates may borrow ten books. They may keep them for four weeks.",
}  # fmt: skip


def step(seq: int, name: str, status: str = "ok", reason: str = "") -> dict[str, Any]:
    detail = {"reason": reason} if reason else {}
    times = {"started_ms": 0, "duration_ms": 1}
    return {"seq": seq, "name": name, "status": status, "summary": "", "detail": detail, **times}


@pytest.fixture(autouse=True)
async def _engine_of_this_test() -> AsyncIterator[None]:
    yield
    await close_engine()


async def left(api: Api, *events: dict[str, Any], has_log: bool = True) -> Message:
    """An answer of which this was shown when its process died."""

    def make() -> Any:
        question: Any = MessageFactory(question=True, session__user=api.user)
        expired = {
            "lease_token": uuid4(),
            "lease_expires_at": timezone.now() - timedelta(seconds=1),
        }
        return MessageFactory(
            session=question.session,
            reply_to=question,
            text="",
            status="streaming",
            decision="",
            usage={},
            **expired,
        )

    message: Message = await sync_to_async(make)()
    if not has_log:
        return message
    for seq, event in enumerate([{"type": "started"}, *events], 1):
        await get_event_log().append(
            str(message.pk), {"seq": seq, "message_id": str(message.pk), **event}
        )
    return message


def shown(*steps: dict[str, Any], text: str = "") -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [
        {"type": "reasoning", "content": "…", "step": one} for one in steps
    ]
    if text:
        events += [{"type": "sources", "sources": [SOURCE]}, {"type": "chunk", "content": text}]
    return events


async def ended(api: Api, message: Message) -> Any:
    return (await api.call("get", f"/api/messages/{message.pk}")).json()


SEARCHED = (step(1, "retrieve"), step(2, "rerank", "degraded", "the model is slow"))


async def test_who_goes_on_keeps_text_path_and_fallbacks(api: Api, online: Any) -> None:
    message = await left(api, *shown(*SEARCHED, text=BEGINNING))
    online.reply(structured=True, json={"supported": [True, True], "answers": True})
    online.reply(text="for four weeks.")
    run = await answer_take_over(message.pk)
    assert run is not None and run.task is not None
    await run.task
    answer = await ended(api, message)
    assert (answer["status"], answer["answer"]) == ("complete", f"{BEGINNING} for four weeks [1].")
    assert [one["name"] for one in answer["decision_path"]][:3] == [
        "retrieve",
        "rerank",
        "generate",
    ]
    assert [one["seq"] for one in answer["decision_path"]] == list(
        range(1, len(answer["decision_path"]) + 1)
    )
    assert answer["degraded"] == [{"step": "rerank", "reason": "the model is slow"}]


async def test_the_path_of_an_answer_that_was_continued_before_stays(api: Api, online: Any) -> None:
    message = await left(api, *shown(step(3, "generate"), text=BEGINNING))
    for number, name in ((1, "retrieve"), (2, "order")):
        await sync_to_async(DecisionStepFactory)(message=message, seq=number, name=name)
    online.reply(text="for four weeks.")
    run = await answer_take_over(message.pk)
    assert run is not None and run.task is not None
    await run.task
    names = [one["name"] for one in (await ended(api, message))["decision_path"]]
    assert names[:4] == ["retrieve", "order", "generate", "generate"]


async def test_without_a_model_it_ends_with_all_that_was_shown(api: Api, offline: Any) -> None:
    message = await left(api, *shown(*SEARCHED, text=BEGINNING))
    assert await answer_take_over(message.pk) is None
    answer = await ended(api, message)
    assert (answer["status"], answer["answer"]) == ("interrupted", BEGINNING)
    assert [(one["marker"], one["cited"]) for one in answer["sources"]] == [(1, True)]
    assert [one["name"] for one in answer["decision_path"]] == ["retrieve", "rerank"]
    last = (await get_event_log().whole(str(message.pk)))[-1]  # who follows it is told at once
    assert (last["type"], last["answer"], last["message"]["status"]) == (
        "done",
        BEGINNING,
        "interrupted",
    )


async def test_one_whose_process_died_before_its_first_event_is_answered(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    message = await left(api, has_log=False)
    run = await answer_take_over(message.pk)
    assert run is not None and run.task is not None
    await run.task
    answer = await ended(api, message)
    assert (answer["status"], answer["answer"]) == ("complete", "".join(workflow.chunks))
    events = await get_event_log().whole(str(message.pk))
    assert [events[0]["type"], events[-1]["type"]] == ["started", "done"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_one_that_had_begun_and_whose_log_is_lost_is_not_written_again(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    message = await left(api, has_log=False)
    renewed = message.created_at + timedelta(seconds=STALE_AFTER_S + 2)
    later = Message.objects.filter(pk=message.pk)
    await later.aupdate(created_at=timezone.now() - timedelta(minutes=1), lease_expires_at=renewed)
    await later.aupdate(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert await answer_take_over(message.pk) is None
    assert (await ended(api, message))["status"] == "interrupted"
    assert workflow.questions == []


async def test_a_process_that_stalled_does_not_begin_what_another_one_has_taken_over(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "LATE_S", -1.0)
    message = await left(api, has_log=False)
    former = await sync_to_async(Message.objects.select_related("session").get)(pk=message.pk)
    successor = await answer_take_over(message.pk)
    assert successor is not None and successor.task is not None
    late = Run(former, successor.question)
    await late.start()
    assert late.task is None
    await successor.task
    assert (await ended(api, message))["status"] == "complete"
    assert len(workflow.questions) == 1


async def test_readers_are_told_the_end_of_one_whose_collections_have_gone(
    api: Api, online: Any
) -> None:
    message = await left(api, *shown(*SEARCHED))
    asked_in = Message.objects.filter(pk=message.reply_to_id)
    await asked_in.aupdate(request={"collections": [str(uuid4())]})
    await Message.objects.filter(pk=message.pk).aupdate(request={"collections": [str(uuid4())]})
    assert await answer_take_over(message.pk) is None
    assert (await ended(api, message))["status"] == "interrupted"
    last = (await get_event_log().whole(str(message.pk)))[-1]
    assert (last["type"], last["message"]["status"]) == ("done", "interrupted")


async def test_one_that_cannot_be_taken_over_is_in_nobodys_way(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await left(api), await left(api)
    tried = []

    async def broken(message_id: Any) -> None:
        tried.append(message_id)
        raise RuntimeError

    monkeypatch.setattr(take_over, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(take_over, "answer_take_over", broken)
    task = asyncio.create_task(answers_take_over())

    async def both() -> bool:
        return {first.pk, second.pk} <= set(tried)

    await eventually(both)
    task.cancel()


async def test_what_a_slow_process_sends_until_it_has_lost_its_answer_is_part_of_it(
    api: Api, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await left(api, *shown(*SEARCHED, text=BEGINNING))
    take = take_over.answer_take

    async def write_on() -> None:
        chunk = {"type": "chunk", "seq": 6, "message_id": str(message.pk), "content": " for four"}
        await get_event_log().append(str(message.pk), chunk)

    def taken_while_it_still_writes(**where: Any) -> Any:
        taken = take(**where)
        async_to_sync(write_on)()
        return taken

    monkeypatch.setattr(take_over, "answer_take", taken_while_it_still_writes)
    online.reply(structured=True, json={"supported": [True, True], "answers": True})
    online.reply(text=" weeks.")
    run = await answer_take_over(message.pk)
    assert run is not None and run.task is not None
    await run.task
    assert (await ended(api, message))["answer"] == f"{BEGINNING} for four weeks [1]."


@pytest.mark.parametrize("begins", ["before", "after"])
async def test_a_process_that_drains_takes_no_answer(
    api: Api, online: Any, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    message = await left(api, *shown(*SEARCHED, text=BEGINNING))
    taking = take_over.answer_take
    taken = []

    def take(**where: Any) -> Any:
        taken.append(taking(**where))
        loop.call_soon_threadsafe(drain_begin)
        return taken[-1]

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(take_over, "answer_take", take)
    if begins == "before":
        drain_begin()
    assert await answer_take_over(message.pk) is None
    assert len(taken) == (0 if begins == "before" else 1)
    await message.arefresh_from_db()
    assert (message.status, message.taken_over, message.is_held) == ("streaming", 0, False)


@pytest.mark.redis
async def test_a_run_that_writes_is_listened_for(
    api: Api, workflow: ScriptedWorkflow, settings: Any
) -> None:
    settings.REDIS_URL = os.environ.get("RAGSITE_TEST_REDIS_URL") or pytest.skip(
        "RAGSITE_TEST_REDIS_URL is not set"
    )
    settings.CHANNEL_LAYERS = {"default": redis_channel_layer(settings.REDIS_URL)}
    workflow.hold()
    message_id = UUID((await api.begin())["message_id"])

    async def is_heard() -> bool:
        return await is_listened_for(message_id)

    await eventually(is_heard)
    assert not await is_listened_for(uuid4())
    await runs_shut_down()
    await close_event_log()


@pytest.mark.django_db
def test_a_run_that_has_shown_no_sign_of_life_yet_is_not_declared_left() -> None:
    message = MessageFactory(role="assistant", status="streaming", lease_token=uuid4())
    for later, is_left in ((STALE_AFTER_S, False), (STALE_AFTER_S + 1.2, True)):
        until = message.created_at + timedelta(seconds=later)
        Message.objects.filter(pk=message.pk).update(lease_expires_at=until)
        assert answer_declare_left(message_id=message.pk, lease_expires_at=until) is is_left
