"""POST /api/chat: the plain answer, the stream, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from chat.models import Message
from retrieval.engine.errors import IndexUnavailableError
from tests.chat.conftest import TEXT, Api, ScriptedWorkflow, events_of, types
from tests.factories import CollectionFactory, SessionFactory


async def test_answer_has_the_contracts_fields(api: Api, workflow: ScriptedWorkflow) -> None:
    response = await api.ask()
    data = response.json()
    assert response.status_code == 200
    assert (data["status"], data["decision"], data["workflow"]) == (
        "complete",
        "ANSWER",
        "corrective",
    )
    assert data["answer"] == TEXT
    assert data["sources"][0]["marker"] == 1
    assert data["sources"][0]["scores"] == {"dense": 0.7, "final": 0.9}
    assert [step["name"] for step in data["decision_path"]] == ["retrieve", "rerank", "generate"]
    assert data["degraded"] == [{"step": "rerank", "reason": "the model is slow"}]
    assert data["usage"]["first_token_ms"] is not None
    assert data["clarification"] is None


async def test_stream_sends_every_event_once_and_in_order(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    response = await api.ask(stream=True)
    events = [event async for event in events_of(response)]
    assert response["Content-Type"].startswith("text/event-stream")
    assert response["Cache-Control"].startswith("no-cache")
    assert response["X-Accel-Buffering"] == "no"
    assert types(events) == [
        "started", "tool_call", "reasoning", "reasoning", "sources", "chunk", "chunk", "reasoning", "done",
    ]  # fmt: skip
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (
        "".join(event["content"] for event in events if event["type"] == "chunk")
        == events[-1]["answer"]
        == TEXT
    )
    assert events[-1]["message"]["message_id"] == events[0]["message_id"]
    assert events[-1]["message"]["html"].startswith("<p>Undergraduates")


async def test_index_away_is_503_and_the_message_failed(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.chunks, workflow.error = (), IndexUnavailableError()
    response = await api.ask()
    message = await Message.objects.aget(role="assistant")
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert response.json()["error"]["code"] == "index_unavailable"
    assert message.status == "failed"
    assert message.error["code"] == "index_unavailable"


async def test_a_bug_in_the_workflow_ends_the_stream_with_one_error(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.error = RuntimeError("secret path /etc/passwd")
    events = [event async for event in events_of(await api.ask(stream=True))]
    assert types(events).count("error") + types(events).count("done") == 1
    assert (events[-1]["type"], events[-1]["code"], events[-1]["done"]) == (
        "error",
        "internal",
        True,
    )
    assert "secret" not in events[-1]["content"]


async def test_earlier_messages_are_given_as_history(api: Api, workflow: ScriptedWorkflow) -> None:
    session_id = (await api.ask("First?")).json()["session_id"]
    await api.ask("Second?", session_id=session_id)
    assert [(item.role, item.text) for item in workflow.questions[1].history] == [
        ("user", "First?"),
        ("assistant", TEXT),
    ]
    assert workflow.questions[0].history == ()


async def test_filters_and_options_reach_the_workflow(api: Api, workflow: ScriptedWorkflow) -> None:
    await api.ask(
        filters={"policy_year": 2025, "tags": ["exams"]}, options={"top_k": 7, "hyde": False}
    )
    question = workflow.questions[0]
    assert question.filters.as_dict() == {"policy_year": 2025, "tags": ["exams"]}
    assert (question.options.top_k, question.options.hyde, question.options.rewrite) == (
        7,
        False,
        None,
    )


BAD_BODIES: list[tuple[dict[str, Any], str]] = [
    ({}, "message"),
    ({"message": "   "}, "message"),
    ({"message": "\u0090"}, "message"),
    ({"message": 5}, "message"),
    ({"message": "a", "colour": "red"}, "colour"),
    ({"message": "a", "session_id": "nonsense"}, "session_id"),
    ({"message": "a", "workflow": "magic"}, "workflow"),
    ({"message": "a", "collections": "policies"}, "collections"),
    ({"message": "a", "filters": {"colour": "red"}}, "filters"),
    ({"message": "a", "filters": {"policy_year": "2025"}}, "filters"),
    ({"message": "a", "filters_mode": "loose"}, "filters_mode"),
    ({"message": "a", "options": {"top_k": 0}}, "options"),
    ({"message": "a", "options": {"temperature": 2}}, "options"),
    ({"message": "a", "stream": 1}, "stream"),
]


@pytest.mark.parametrize(("body", "field"), BAD_BODIES)
async def test_bad_input_names_its_field(api: Api, body: dict[str, Any], field: str) -> None:
    response = await api.call("post", "/api/chat", body)
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert await Message.objects.acount() == 0


async def test_too_long_message_is_413(api: Api, limits: Any) -> None:
    limits(message_chars=10)
    response = await api.ask("x" * 11)
    assert response.status_code == 413
    error = response.json()["error"]
    assert error["code"] == "message_too_large"
    assert "attach the text as a file" in error["message"]


async def test_unknown_collection_is_404_and_somebody_elses_too(api: Api, other_api: Api) -> None:
    await sync_to_async(CollectionFactory)(
        name="theirs", owner=other_api.user, visibility="private"
    )
    for name in ("nowhere", "theirs"):
        response = await api.ask(collections=[name])
        assert response.status_code == 404
        assert response.json()["error"]["fields"] == {"collections": [name]}


async def test_somebody_elses_session_is_404(api: Api, other_api: Api) -> None:
    session = await sync_to_async(SessionFactory)(user=other_api.user)
    response = await api.ask(session_id=str(session.pk))
    assert response.status_code == 404
    assert await session.messages.acount() == 0


async def test_second_answer_in_a_session_is_409(api: Api, workflow: ScriptedWorkflow) -> None:
    workflow.hold()
    started = await api.begin()
    response = await api.ask(session_id=started["session_id"])
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "answer_in_progress"


async def test_third_answer_at_once_is_429(api: Api, workflow: ScriptedWorkflow) -> None:
    workflow.hold()
    await api.begin()
    await api.begin()
    response = await api.ask()
    assert response.status_code == 429
    assert response.json()["error"]["code"] == "too_many_answers"
    assert int(response["Retry-After"]) > 0


async def test_questions_a_minute_are_limited_per_user(
    api: Api, other_api: Api, workflow: ScriptedWorkflow, limits: Any
) -> None:
    limits(questions_per_minute=2)
    assert [(await api.ask()).status_code for _ in range(3)] == [200, 200, 429]
    refused = await api.ask()
    assert 0 < int(refused["Retry-After"]) <= 60
    assert (await other_api.ask()).status_code == 200


async def test_cookie_client_needs_the_csrf_token(user: Any, workflow: ScriptedWorkflow) -> None:
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(user)
    refused = await client.post("/api/chat", data={"message": "a"}, content_type="application/json")
    client.cookies["csrftoken"] = "a" * 32
    allowed = await client.post(
        "/api/chat",
        data={"message": "a"},
        content_type="application/json",
        headers={"X-CSRFToken": "a" * 32},
    )
    assert (refused.status_code, allowed.status_code) == (403, 200)
