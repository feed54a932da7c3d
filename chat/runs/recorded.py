"""What readers of an answer have been shown, read from its log: what an answer goes on from when its process has died.

The database lags behind the log by up to `SAVE_EVERY_S`, and gets the decision path only at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chat.runs.event_log import FINAL_TYPES, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """seq: number of the last event. sources, steps: as JSON, in the form in which they were sent."""

    seq: int
    text: str
    sources: tuple[dict[str, Any], ...] = ()
    steps: tuple[dict[str, Any], ...] = ()
    ended: bool = False

    @property
    def degraded(self) -> list[dict[str, str]]:
        """One entry per step that fell back and reason, as a message has them."""
        fallbacks: dict[tuple[str, str], None] = {}
        for step in self.steps:
            if step["status"] == "degraded":
                fallbacks[(step["name"], step["detail"].get("reason", ""))] = None
        return [{"step": name, "reason": reason} for name, reason in fallbacks]


def recorded(events: Sequence[Event]) -> Recorded | None:
    """None: there is no log, or not its beginning."""
    if not events or events[0]["seq"] != 1:
        return None
    text = ""
    sources: tuple[dict[str, Any], ...] = ()
    steps: dict[int, dict[str, Any]] = {}
    for event in events:
        match event["type"]:
            case "chunk":
                text += event["content"]
            case "withdrawn":
                text = ""
            case "sources":
                sources = tuple(event["sources"])
            case "reasoning" | "tool_call" if step := event.get("step"):
                steps[step["seq"]] = step
    last = events[-1]
    ended = last["type"] in FINAL_TYPES
    return Recorded(
        seq=last["seq"], text=text, sources=sources, steps=tuple(steps.values()), ended=ended
    )
