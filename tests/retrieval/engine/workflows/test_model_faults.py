"""Every workflow with every way in which a model server fails: the user always gets an answer, a part that is marked as
one, or a sentence that says what is the matter; and the decision path tells why."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, AnswerOptions, HistoryMessage
from retrieval.engine.workflows.registry import NAMES, get_workflow
from tests.retrieval.engine.steps.fakes import HANDBOOK, Events, ask, make_tools

QUESTION = "What is the deposit for a room in Lakeside hall?"
HISTORY = (
    HistoryMessage("user", "I want to live on the campus."),
    HistoryMessage("assistant", "There are two halls."),
)
ANSWER = (
    "The deposit for a room in Lakeside hall is EUR 300 [1]. It is paid back within 30 days [1]."
)
GENEROUS_S = 60.0  # only a hang takes so long
# Only for faults that are a silence: a call that is well may take its time on a busy machine.
SHORT = {"first_token_timeout_s": 0.2, "structured_timeout_s": 0.2}
SILENT = {"first token too late", "stalls at once"}

# What the server does with every call.
OUTAGES: dict[str, dict[str, Any]] = {
    "404 model": {"status": 404, "error": "model 'test-chat' not found"},
    "500": {"status": 500, "error": "out of memory"},
    "503": {"status": 503, "error": "server busy, please try again"},
    "first token too late": {"delay_s": 60.0},
    "stalls at once": {"stall_after": 0},
    "disconnects at once": {"disconnect_after": 0},
    "error line at once": {"error_after": 0},
    "empty answer": {"text": ""},
}
# What it does in the middle of the answer; the structured calls before it are well.
BREAKS: dict[str, dict[str, Any]] = {
    "stalls": {"stall_after": 6},
    "disconnects": {"disconnect_after": 6},
    "garbage line": {"malformed_after": 6},
    "error line": {"error_after": 6},
    "no end mark": {"missing_end": True},
    "endless": {"endless": True},
    "done_reason: length": {"done_reason": "length"},
}
# What it says where JSON was asked for; the answer itself is well.
NONSENSE: dict[str, dict[str, Any]] = {
    "malformed JSON": {"text": '{"scores": [{"passage": 1, '},
    "no JSON": {"text": "I would rather not."},
    "JSON of the wrong shape": {"json": {"wrong": 1}},
    "JSON of wrong types": {
        "json": {"scores": "high", "tasks": 7, "queries": None, "verdict": 3, "route": []}
    },
    "endless JSON": {"text": '{"queries": ["', "endless": True},
}


def each(faults: Mapping[str, Any], *everywhere: str) -> Any:
    """All faults with one workflow, as they come to it through the same provider; these with every other one, too."""
    pairs = [("corrective", fault) for fault in faults]
    pairs += [(name, fault) for name in NAMES if name != "corrective" for fault in everywhere]
    return pytest.mark.parametrize(("workflow", "fault"), pairs, indirect=["workflow"])


@pytest.fixture(params=NAMES)
def workflow(
    request: pytest.FixtureRequest, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Each of them, with limits that a test can wait for."""
    rag_settings(ollama={"max_answer_tokens": 24})
    monkeypatch.setattr("retrieval.engine.providers.ollama.BUSY_RETRY_S", 0.01)
    return str(request.param)


async def answered(
    name: str, *, text: str = QUESTION, history: Any = HISTORY, **asked: Any
) -> tuple[Answer, Trace, Events]:
    tools = make_tools(settings.RAG, HANDBOOK)
    events = Events()
    trace = Trace(events)
    try:
        async with asyncio.timeout(GENEROUS_S):
            answer = await get_workflow(name).answer(
                ask(text, history=history, **asked), engine=tools, trace=trace
            )
    finally:
        await tools.models.close()
    return answer, trace, events


def assert_told(trace: Trace) -> None:
    """The path names a step that fell back, with its reason."""
    assert trace.degraded
    assert all(entry["reason"] for entry in trace.degraded)


@each(OUTAGES, "500", "stalls at once")
async def test_with_no_usable_call_the_documents_are_quoted(
    online, workflow: str, fault: str, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault in SILENT:
        rag_settings(ollama=SHORT)
        monkeypatch.setattr("retrieval.engine.providers.chat.BETWEEN_TOKENS_TIMEOUT_S", 0.2)
    online.reply(**OUTAGES[fault])
    answer, trace, events = await answered(workflow)
    assert answer.text == events.text
    assert answer.decision == "ANSWER"
    assert "EUR 300" in answer.text
    assert not answer.model
    assert_told(trace)
    assert "generate" in {entry["step"] for entry in trace.degraded}


async def test_a_server_that_dies_in_between_is_done_without(online, workflow: str) -> None:
    stopped = asyncio.get_running_loop().run_in_executor(None, _stop_at_the_first_call, online)
    online.reply(delay_s=60.0)
    answer, trace, events = await answered(workflow)
    await stopped
    assert answer.text == events.text
    assert "EUR 300" in answer.text
    assert_told(trace)


def _stop_at_the_first_call(server: Any) -> None:
    end = time.monotonic() + GENEROUS_S
    while not server.chats and time.monotonic() < end:
        time.sleep(0.005)
    server.stop()


@each(BREAKS, "disconnects", "endless")
async def test_an_answer_that_breaks_off_is_marked_as_a_part(
    online, workflow: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "stalls":
        monkeypatch.setattr("retrieval.engine.providers.chat.BETWEEN_TOKENS_TIMEOUT_S", 1.0)
    online.reply(structured=False, text=ANSWER, **BREAKS[fault])
    answer, trace, events = await answered(workflow)
    assert answer.text == events.text
    assert "The" in answer.text
    assert answer.partial
    assert "generate" in {entry["step"] for entry in trace.degraded}


@each(NONSENSE, "JSON of wrong types")
async def test_nonsense_in_place_of_json_leaves_the_answer_whole(
    online, workflow: str, fault: str
) -> None:
    online.reply(structured=True, **NONSENSE[fault])
    online.reply(structured=False, text="The deposit for a room in Lakeside hall is EUR 300 [1].")
    answer, trace, events = await answered(
        workflow, options=AnswerOptions(judge=True)
    )  # judged before it is written
    assert answer.text == events.text == "The deposit for a room in Lakeside hall is EUR 300 [1]."
    assert (answer.decision, answer.partial) == ("ANSWER", False)
    assert_told(trace)


async def test_nothing_goes_on_past_the_workflows_time(
    online, workflow: str, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rag_settings(
        ollama={"first_token_timeout_s": 900.0, "structured_timeout_s": 900.0},
        corrective={"timeout_s": 0.3},
        planned={"timeout_s": 0.3},
    )
    if workflow not in ("corrective", "planned"):  # those with a setting for it
        monkeypatch.setitem(get_workflow(workflow).timeout_s.__globals__, "TIMEOUT_S", 0.3)
    monkeypatch.setattr("retrieval.engine.providers.chat.BETWEEN_TOKENS_TIMEOUT_S", 900.0)
    online.reply(delay_s=900.0)
    answer, trace, events = await answered(workflow)
    assert answer.text == events.text
    assert answer.text
    assert_told(trace)
