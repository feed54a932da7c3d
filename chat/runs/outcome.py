"""How a run ended, as values: what `chat.runs.answers` stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from retrieval.trace import StepRecord
from retrieval.values import Clarification, GroundedSentence, Source

EndStatus = Literal["complete", "stopped", "interrupted", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer. `status`: the HTTP status where a plain call waits for it."""

    code: str
    message: str
    status: int = 500
    retry_after_s: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code, "content": self.message, "status": self.status, "retry_after_s": self.retry_after_s
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`text`: all that was sent in chunks, no more and no less."""

    status: EndStatus
    text: str
    decision: str = ""
    reason: str = ""
    model: str = ""
    clarification: Clarification | None = None
    sources: Sequence[Source] = ()
    grounding: Sequence[GroundedSentence] = ()
    steps: Sequence[StepRecord] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    degraded: list[dict[str, str]] = field(default_factory=list)
    failure: Failure | None = None
