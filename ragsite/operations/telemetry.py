"""Traces by OpenTelemetry where OTEL_EXPORTER_OTLP_ENDPOINT is set: requests, tasks and calls of other servers by the
standard instrumentations; runs, steps and model calls by ours (`retrieval.engine.trace` and `model_calls`). Its other
variables are its own.

Langfuse and the like understand the model calls (GenAI conventions). No text of people is in them: neither prompts,
unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, nor the query of an address.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from django.conf import settings

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
WITH_QUERY = ("http.url", "http.target", "url.full", "url.query")
logger = logging.getLogger(__name__)


def start(service: str) -> bool:
    """In a process that forks no more, before the first request or task: threads of its own send the spans."""
    if not settings.ENVIRON.get(ENDPOINT):
        return False
    for name, value in settings.ENVIRON.items():
        if name.startswith("OTEL_"):
            os.environ.setdefault(name, value)  # those of the file .env
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        begin(service, BatchSpanProcessor(OTLPSpanExporter()))
    except ImportError:
        logger.error(
            "%s is set; the traces need: pip install -c constraints.txt -e '.[telemetry]'", ENDPOINT
        )
        return False
    return True


def begin(service: str, *processors: Any) -> None:
    """Raises ImportError where the extra is missing."""
    from opentelemetry import trace
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    class WithoutQuery(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            _without_query(span)

    provider = TracerProvider(resource=Resource.create({"service.name": f"ragsite-{service}"}))
    for processor in (WithoutQuery(), *processors):
        provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument(tracer_provider=provider, response_hook=_without_query)
    CeleryInstrumentor().instrument(tracer_provider=provider)
    HTTPXClientInstrumentor().instrument(tracer_provider=provider)


def _without_query(span: Any, *_: Any) -> None:
    """What people search for stands in addresses, too."""
    for name in WITH_QUERY:
        if text := (span.attributes or {}).get(name):
            span.set_attribute(name, "" if name == "url.query" else str(text).partition("?")[0])
