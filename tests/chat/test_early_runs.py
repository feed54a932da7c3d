"""A question is worked on while its rows are stored; nobody sees anything of one that could not be stored."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError

from chat.models import Message, Session
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, Question
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, events_of, eventually, types

PATIENCE_S = 30


@pytest.fixture
def begun(workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the workflow begins."""
    event = threading.Event()

    async def begins(question: Question, *, workflow: str, trace: Trace) -> Answer:
        event.set()
        return await scripted(question, workflow=workflow, trace=trace)

    scripted = workflow
    monkeypatch.setattr("chat.runs.run.answer_question", begins)
    return event


def store_after(
    begun: threading.Event, monkeypatch: pytest.MonkeyPatch, *, error: Exception | None = None
) -> None:
    """Store no conversation before the event, or fail to."""
    save = Session.save

    def late(self: Session, *args: Any, **options: Any) -> None:
        assert begun.wait(PATIENCE_S)
        if error:
            raise error
        save(self, *args, **options)

    monkeypatch.setattr(Session, "save", late)


async def test_the_workflow_begins_before_the_rows_are_there(
    api: Api, begun: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_after(begun, monkeypatch)
    response = await api.ask()
    assert (response.status_code, response.json()["answer"]) == (200, TEXT)


async def test_started_comes_before_what_was_found_meanwhile(
    api: Api, begun: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_after(begun, monkeypatch)
    events = [event async for event in events_of(await api.ask(stream=True))]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert types(events)[0] == "started"
    assert types(events)[-1] == "done"


async def test_a_question_that_is_not_stored_leaves_nothing_and_is_given_up(
    api: Api, workflow: ScriptedWorkflow, begun: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow.hold()
    store_after(begun, monkeypatch, error=IntegrityError("one_answer_at_once_per_session"))
    response = await api.ask()
    assert (response.status_code, response.json()["error"]["code"]) == (409, "answer_in_progress")

    async def is_cancelled() -> bool:
        return workflow.cancelled == 1

    await eventually(is_cancelled)
    assert not await Message.objects.aexists()
