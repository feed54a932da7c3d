"""Every call of a model is stamped, and filed under the step that makes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from ragsite.core.messages import worded
from retrieval.engine.errors import ModelError
from retrieval.engine.trace import TRACER, current_step
from retrieval.engine.usage import ModelCall

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_queued_ms: ContextVar[float | None] = ContextVar("retrieval_queued_ms", default=None)
_listed: ContextVar[list[ModelCall] | None] = ContextVar("retrieval_listed_calls", default=None)


@contextmanager
def calls_listed() -> Iterator[list[ModelCall]]:
    """The calls that are made within, also those of no step. The innermost list alone gets a call."""
    calls: list[ModelCall] = []
    token = _listed.set(calls)
    try:
        yield calls
    finally:
        _listed.reset(token)


def queue_model_call() -> None:
    """The next model call of this task is ready now and waits for its turn: waiting makes no round of its own."""
    if current := current_step.get():
        _queued_ms.set(current[0].now_ms())


@contextmanager
def model_call(call: ModelCall) -> Iterator[ModelCall]:
    """Providers call a model within this: it is stamped and filed under the running step, if there is one."""
    current = current_step.get()
    if current:
        trace, record = current
        call.started_ms = trace.now_ms()
        call.asked_ms = _queued_ms.get()
        _queued_ms.set(None)
        trace.calls.append(call)
        record.calls.append(call)
    if (listed := _listed.get()) is not None:
        listed.append(call)
    call.error = worded("stopped by the caller")
    # Not made the current one: what calls a model may be a generator, whose steps run in contexts of others.
    span = TRACER.start_span(f"{call.kind} {call.model}", kind=SpanKind.CLIENT)
    try:
        yield call
        call.error = ""
    except ModelError as error:
        call.error = error.reason
        span.set_status(Status(StatusCode.ERROR))
        span.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        _describe(span, call, with_text=_is_captured() and not (current and current[0].private))
        span.end()
        if current:
            call.ended_ms = current[0].now_ms()


def _is_captured() -> bool:
    return os.environ.get(CAPTURE, "").lower() == "true"


def _describe(span: Span, call: ModelCall, *, with_text: bool) -> None:
    """By OpenTelemetry's conventions for generative AI."""
    if not span.is_recording():
        return
    operation = {"chat": "chat", "embed": "embeddings"}[call.kind]
    span.set_attributes(
        {
            "gen_ai.operation.name": operation,
            "gen_ai.request.model": call.model,
            "ragsite.prompt": call.prompt_name,
            "gen_ai.usage.input_tokens": call.prompt_tokens,
            "gen_ai.usage.output_tokens": call.completion_tokens,
        }
    )
    if call.prompt and with_text:
        roles = (("system", call.prompt.system), ("user", call.prompt.user))
        messages = [
            {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in roles
        ]
        span.set_attribute("gen_ai.input.messages", json.dumps(messages, ensure_ascii=False))
