"""What /metrics tells of the site's own work, and that dashboards and alerts ask for nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from chat.runs.measuring import count_answer
from ragsite.core import metrics
from ragsite.operations import worker_metrics
from ragsite.operations.site_metrics import SiteCollector
from retrieval.engine.reasons import Reason
from retrieval.engine.trace import Trace
from retrieval.engine.usage import ModelCall
from retrieval.models import IngestJob
from tests.factories import DocumentFactory

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
NAME = re.compile(r"\b(?:ragsite|django)_[a-z_]+")


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@sync_to_async
def counted(keys: Iterable[Any]) -> dict[Any, float]:
    """In a thread: a registry asks all its collectors, one of which reads the database."""
    return {key: value(key[0], **dict(key[1:])) for key in keys}


def site() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(SiteCollector())
    return registry


@pytest.mark.django_db
async def test_an_answer_is_counted_with_its_steps_and_calls() -> None:
    trace = Trace()
    async with trace.step("rerank") as step:
        step.degrade(Reason("model_failed", {"error": "the model is slow"}))
    await trace.emit_chunk("Ten.")
    trace.calls.append(
        ModelCall(
            kind="chat",
            model="m",
            asked_ms=0,
            started_ms=250,
            ended_ms=1250,
            prompt_tokens=7,
            error="timeout",
        )
    )
    names = {
        (
            "ragsite_answers_total",
            ("workflow", "react"),
            ("status", "complete"),
            ("decision", "ANSWER"),
        ): 1.0,
        ("ragsite_first_token_seconds_count", ("workflow", "react")): 1.0,
        ("ragsite_answer_support_total", ("support", "partly")): 1.0,
        ("ragsite_fallbacks_total", ("step", "rerank"), ("status", "degraded")): 1.0,
        ("ragsite_model_wait_seconds_sum", ("kind", "chat")): 0.25,
        ("ragsite_model_call_seconds_sum", ("kind", "chat"), ("model", "m")): 1.0,
        ("ragsite_model_tokens_total", ("direction", "read"), ("model", "m")): 7.0,
        ("ragsite_model_errors_total", ("kind", "chat"), ("model", "m")): 1.0,
    }
    before = await counted(names)
    count_answer(
        workflow="react", status="complete", decision="ANSWER", support="partly", trace=trace
    )
    after = await counted(names)
    assert {key: after[key] - before[key] for key in names} == pytest.approx(names)


@pytest.mark.django_db
def test_the_oldest_waiting_document_is_told() -> None:
    job = IngestJob.objects.create(document=DocumentFactory())
    IngestJob.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=20))
    registry = site()
    assert registry.get_sample_value("ragsite_ingest_jobs", {"state": "waiting"}) == 1
    assert (registry.get_sample_value("ragsite_oldest_job_seconds") or 0) >= 1200
    assert registry.get_sample_value("ragsite_database_up") == 1


@pytest.mark.django_db
def test_chunks_are_told_as_kept_with_the_documents_that_are_searched(
    django_assert_max_num_queries: Any,
) -> None:
    DocumentFactory(chunk_count=5)
    DocumentFactory(chunk_count=2)
    DocumentFactory(chunk_count=7, superseded_at=timezone.now())
    with django_assert_max_num_queries(10) as queries:
        registry = site()
    assert registry.get_sample_value("ragsite_index_chunks") == 7
    assert not any("retrieval_chunk" in query["sql"] for query in queries.captured_queries)


def test_a_database_that_is_away_is_told_and_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away() -> Iterator[object]:
        raise OperationalError("refused")

    monkeypatch.setattr("ragsite.operations.site_metrics._figures", away)
    assert site().get_sample_value("ragsite_database_up") == 0


@pytest.mark.django_db
def test_dashboards_and_alerts_ask_for_what_there_is(client: Client) -> None:
    told = client.get("/metrics").content.decode() + generate_latest(site()).decode()
    there = set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE))
    asked = {
        target["expr"]
        for path in DASHBOARDS
        for panel in json.loads(path.read_text())["panels"]
        for target in panel["targets"]
    } | {rule["expr"] for rule in ALERTS}
    names = {name for expression in asked for name in NAME.findall(expression)}
    assert len(DASHBOARDS) == 2
    assert {re.sub(r"_(bucket|sum)$", "", name) for name in names} - there == set()
    assert {"ragsite_running_answers", metrics.loop_lag._name} <= there


def test_each_alert_says_what_to_do() -> None:
    assert len(ALERTS) == 10
    assert all(
        rule["annotations"]["what_to_do"] and rule["annotations"]["summary"] for rule in ALERTS
    )


def test_a_worker_tells_the_figures_of_its_processes_at_its_port(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("broker/queue", "broker/control", "uploads"):
        (tmp_path / name).mkdir(parents=True)
    environment = os.environ | {
        "RAGSITE_DATA_DIR": str(tmp_path),
        "RAGSITE_WORKER_METRICS_PORT": str(port),
        "RAG_OFFLINE": "1",
        "TMPDIR": str(tmp_path),
    }
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "ragsite",
        "worker",
        "--concurrency",
        "1",
        "--loglevel",
        "ERROR",
    ]
    worker = subprocess.Popen(
        command, env=environment, cwd=DEPLOY.parent, stderr=subprocess.DEVNULL
    )
    try:
        told = ""
        until = time.monotonic() + 90
        while not told and time.monotonic() < until:
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                told = (
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)
                    .read()
                    .decode()
                )
    finally:
        worker.send_signal(signal.SIGQUIT)
        worker.wait(30)
    assert "ragsite_ingest_chunks_total 0.0" in told


def test_a_process_goes_on_with_the_figures_of_its_place_in_the_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert worker_metrics._place() == "main"
    monkeypatch.setattr(worker_metrics, "current_process", lambda: SimpleNamespace(index=3))
    assert worker_metrics._place() == "3"
