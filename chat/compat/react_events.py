"""The `react` workflow's answers in the form of seed 004: `{answer, sources, steps}`, and its events.

Sources are file names there (addresses for web pages), steps and events are `{type, content}`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

from chat.runs.event_log import FINAL_TYPES, Event
from chat.runs.following import follow

WORKFLOW = "react"
STEP_TYPES = ("reasoning", "tool_call")


async def steps_of(message_id: UUID) -> list[dict[str, str]]:
    """What was thought and which tools were called, in order, once the answer has ended.

    Empty where the answer's events are gone already.
    """
    told = [entry[1] async for entry in seed_events(message_id) if entry]
    return [event for event in told if event["type"] in STEP_TYPES]


def answer_of(message: Mapping[str, Any], steps: list[dict[str, str]]) -> dict[str, Any]:
    """`message`: as `chat.messages.data` gives it."""
    told = steps or [
        {"type": "reasoning", "content": step["summary"] or step["name"]} for step in message["decision_path"]
    ]
    return {"answer": message["answer"], "sources": source_names(message), "steps": told}


def source_names(message: Mapping[str, Any]) -> list[str]:
    """Of the cited sources, each once; of all that were looked at where an answer cites none."""
    sources = [source for source in message["sources"] if source["cited"]]
    if not sources and message["decision"] == "ANSWER":
        sources = message["sources"]
    return list(dict.fromkeys(source["url"] or source["file_name"] or source["title"] for source in sources))


async def seed_events(message_id: UUID, *, after: int = 0) -> AsyncIterator[tuple[str, dict[str, Any]] | None]:
    """Pairs of an event's id and the event, up to `done` or `error`; None now and then while nothing happens.

    The id names the message too: a browser that reconnects sends it, and follows this answer instead of asking again.
    A step that only repeats what its tool call said is left out.
    """
    called = ""
    async for event in follow(message_id, after=after):
        if event is None:
            yield None
        elif told := seed_event(event):
            if told["type"] == "reasoning" and told["content"] == called:
                continue
            called = told["content"] if told["type"] == "tool_call" else called
            number = "end" if event["type"] in FINAL_TYPES else event["seq"]
            yield f"{message_id}:{number}", told


def seed_event(event: Event) -> dict[str, Any] | None:
    """None for those that the seed does not know."""
    match event["type"]:
        case "reasoning" | "tool_call" | "chunk":
            return {"type": event["type"], "content": event["content"]}
        case "done":
            answer = event["message"]["answer"]
            sources = source_names(event["message"])
            return {"type": "done", "content": answer, "done": True, "answer": answer, "sources": sources}
        case "error":
            return {"type": "error", "content": event["content"], "done": True}
    return None
