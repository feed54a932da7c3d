"""Set-ups of several processes that lose something are told before they do."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection
from django.utils import timezone

from chat.lifespan import lifespan
from ragsite.checks import findings
from ragsite.models import SiteProcess
from ragsite.runtime import presence

pytestmark = pytest.mark.django_db(transaction=True)
SAME: dict[str, Any] = {
    "redis": True,
    "milvus_lite": False,
    "key": "k",
    "prompts": "",
    "uploads": "u",
}


def process(kind: str = "web", host: str = "", pid: int = 0, **facts: Any) -> None:
    """One that serves the site."""
    pid, host = pid or os.getpid(), host or presence._host()
    SiteProcess.objects.create(
        name=f"{kind} {host}:{pid}",
        kind=kind,
        host=host,
        pid=pid,
        facts=SAME | facts,
        seen_at=timezone.now(),
    )


def codes() -> set[str]:
    return {finding.code for finding in findings()} - {"key_of_one_process"}


def test_processes_that_share_everything_are_well() -> None:
    process(pid=1)
    process(pid=os.getppid())
    process("worker")
    assert codes() == set()


@pytest.mark.parametrize(
    ("fact", "value", "code"),
    [
        ("redis", False, "several_without_redis"),
        ("uploads", "another", "uploads_not_shared"),
        ("key", "another", "keys_differ"),
        ("prompts", "another", "prompts_differ"),
    ],
)
def test_what_two_web_processes_do_not_share_is_found(fact: str, value: Any, code: str) -> None:
    process(pid=1)
    process(pid=os.getppid() if os.getppid() != 1 else os.getpid(), **{fact: value})
    assert codes() == {code}
    ids = {message.id for message in run_checks(include_deployment_checks=True)}
    assert f"ragsite.{code}" in ids


def test_an_embedded_database_and_index_on_several_machines_are_found() -> None:
    process(host="a")
    process("worker", host="b", milvus_lite=True)
    expected = {"milvus_lite_on_several_machines"}
    if connection.vendor == "sqlite":
        expected.add("sqlite_on_several_machines")
    assert codes() == expected


def test_a_process_that_has_gone_is_not_counted() -> None:
    process(pid=1)
    process(pid=2**22 - 3, redis=False)  # of this machine, where no such process runs
    assert codes() == set()


def test_every_process_of_a_folder_sees_the_same_mark(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    first = presence.facts()["uploads"]
    assert first
    assert presence.facts()["uploads"] == first
    settings.MEDIA_ROOT = tmp_path / "others"
    assert presence.facts()["uploads"] != first


async def test_a_second_web_process_without_redis_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.lifespan.warm_up", lambda: None)
    monkeypatch.setattr(presence, "others", lambda kind: [SiteProcess(name="web elsewhere:7")])
    monkeypatch.setattr(presence, "GONE_AFTER_S", 0.0)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async with asyncio.timeout(30):
        await lifespan({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in sent] == ["lifespan.startup.failed"]
    assert "REDIS_URL" in sent[0]["message"]
