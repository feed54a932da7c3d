"""What is counted of an answer when it has ended, and how late the event loop is."""

from __future__ import annotations

import asyncio

from ragsite.core import metrics
from retrieval.engine.trace import Trace
from retrieval.engine.usage import ModelCall

LAG_EVERY_S = 0.5


def count_answer(
    *, workflow: str, status: str, decision: str, support: str, trace: Trace, offered: str = ""
) -> None:
    """workflow: a name of ours; so are steps, statuses and decisions: no label is what somebody typed. offered: where
    its question was offered; empty: nowhere."""
    metrics.answers.labels(workflow, status, decision or "none").inc()
    metrics.answer_seconds.labels(workflow).observe(trace.now_ms() / 1000)
    if trace.first_token_ms is not None:
        metrics.first_token.labels(workflow).observe(trace.first_token_ms / 1000)
    if support:
        metrics.support.labels(support).inc()
    for step in trace.steps:
        metrics.steps.labels(step.name).observe(step.duration_ms / 1000)
        if step.status != "ok":
            metrics.fallbacks.labels(step.name, step.status).inc()
    if offered:
        metrics.offered_asked.labels(offered, decision or "none").inc()
    count_calls(trace)


def count_calls(trace: Trace) -> None:
    """What models were asked and wrote."""
    for call in trace.calls:
        _count_call(call)


def _count_call(call: ModelCall) -> None:
    if call.asked_ms is not None:
        metrics.model_wait.labels(call.kind).observe(
            max(0.0, call.started_ms - call.asked_ms) / 1000
        )
    if call.ended_ms is not None:
        metrics.model_calls.labels(call.kind, call.model).observe(
            max(0.0, call.ended_ms - call.started_ms) / 1000
        )
    if call.error:
        metrics.model_errors.labels(call.kind, call.model).inc()
    metrics.model_tokens.labels("read", call.model).inc(call.prompt_tokens)
    metrics.model_tokens.labels("written", call.model).inc(call.completion_tokens)


async def measure_lag() -> None:
    """For ever: by how much the running loop is late."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
