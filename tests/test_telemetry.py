"""Traces: what is in them, and that no text of people is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# In a process of its own: instrumentations and the provider of traces are the process's for good.
PROGRAM = """
import asyncio, json, os, django
django.setup()
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from ragsite.operations import telemetry
kept = InMemorySpanExporter()
telemetry.begin("web", SimpleSpanProcessor(kept))
from django.conf import settings
from django.test import AsyncClient
settings.ALLOWED_HOSTS.append("testserver")
from chat.runs.detached import detach
from retrieval.engine.ports import Prompt
from retrieval.engine.model_calls import model_call
from retrieval.engine.trace import TRACER, Trace
from retrieval.engine.usage import ModelCall

async def run(private=False):
    async with Trace(private=private).step("generate"):
        prompt = Prompt(name="generate", system="s", user="private words", hash="h")
        with model_call(ModelCall("chat", "m1", prompt_name="generate", prompt=prompt)) as call:
            call.prompt_tokens, call.completion_tokens = 90, 7

async def main():
    await AsyncClient().get("/healthz?query=private+words")
    with TRACER.start_as_current_span("request"):
        work = detach(run())
    await work

def told():
    spans = kept.get_finished_spans()
    print(json.dumps({span.name: {
        "id": span.context.span_id, "parent": span.parent and span.parent.span_id, "attributes": dict(span.attributes),
    } for span in spans}, default=str))

asyncio.run(main())
told()
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
asyncio.run(run(private=True))
told()
asyncio.run(run())
told()
"""


def test_request_run_step_and_model_call_are_one_trace_with_texts_only_where_the_operator_says_so(
    tmp_path: Path,
) -> None:
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "RAGSITE_DATA_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=100,
        cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text, private, with_texts = done.stdout.splitlines()[-3:]
    assert "private words" not in private
    found = json.loads(text)
    request, step, call = found["request"], found["step generate"], found["chat m1"]
    assert (step["parent"], call["parent"]) == (request["id"], step["id"])
    assert (
        call["attributes"]["gen_ai.usage.input_tokens"] == 90
        and step["attributes"]["ragsite.step.status"] == "ok"
    )
    assert any("healthz" in name for name in found) and "private" not in text
    assert (
        "private words" in json.loads(with_texts)["chat m1"]["attributes"]["gen_ai.input.messages"]
    )


def test_a_missing_extra_is_told_and_the_site_starts(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from ragsite.operations import telemetry

    assert telemetry.start("web") is False
    settings.ENVIRON = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert telemetry.start("web") is False and "[telemetry]" in caplog.text
