"""The id of a request: its response bears it, and so do the lines of the answer that it asked for."""

from __future__ import annotations

import httpx
import pytest

from ragsite.core.log_ids import current_message, current_request
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, Question
from tests.chat.conftest import Api, ScriptedWorkflow


@pytest.mark.parametrize(
    ("given", "kept"), [("proxy-1.a", True), ("", False), ("a b", False), ("x" * 101, False)]
)
async def test_a_response_bears_the_id_of_its_request(
    site_url: str, given: str, kept: bool
) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.get(f"{site_url}/healthz", headers={"X-Request-ID": given})
    number = response.headers["X-Request-ID"]
    assert (number == given) is kept
    assert number


async def test_an_answer_is_logged_with_its_own_id_and_that_of_the_request(
    api: Api, workflow: ScriptedWorkflow, site_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []

    async def noted(question: Question, *, workflow: str, trace: Trace) -> Answer:
        ids.append((current_request.get(), current_message.get()))
        return await scripted(question, workflow=workflow, trace=trace)

    scripted = workflow
    monkeypatch.setattr("chat.runs.run.answer_question", noted)
    async with httpx.AsyncClient(headers=api.headers | {"X-Request-ID": "r-1"}) as client:
        response = await client.post(f"{site_url}/api/chat", json={"message": "How many books?"})
    assert ids == [("r-1", response.json()["message_id"])]
