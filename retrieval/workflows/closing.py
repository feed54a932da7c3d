"""The end of every decision path."""

from __future__ import annotations

from ragsite.core.errors import AppError
from ragsite.core.wording import worded
from retrieval.steps.schemas import VERDICTS
from retrieval.trace import Trace
from retrieval.values import Answer


async def close_path(trace: Trace, outcome: Answer | AppError) -> None:
    """The last entry of every decision path: an `assess` whose detail has `decision` (ANSWER, CLARIFY or NO_ANSWER) and
    `reason`. Where there is an error instead of an answer, no decision, and the entry has failed. A workflow that has
    written such an entry last has closed the path itself."""
    if trace.steps and trace.steps[-1].name == "assess" and "decision" in trace.steps[-1].detail:
        return
    async with trace.step("assess") as entry:
        if isinstance(outcome, AppError):
            entry.status, entry.summary = "failed", worded("no decision: {reason}", reason=outcome.message)
            entry.detail["reason"] = outcome.message
            return
        reason = outcome.reason or (
            worded("this is what was found") if outcome.sources else worded("it needed no documents")
        )
        entry.summary = worded("{decision}: {reason}", decision=VERDICTS[outcome.decision], reason=reason)
        entry.detail |= {"decision": outcome.decision, "reason": reason}
