"""What `deploy/` and the instructions say beside the code that they repeat."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from ragsite.runtime.supervisor import programs

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
OWN_IMAGE = {name: service for name, service in COMPOSE.items() if service["image"] == "ragsite"}
OWN = {"--host", "--port", "--no-server-header"}  # a proxy hides who serves


def _options(words: list[str]) -> dict[str, str]:
    """Those of uvicorn, each with its value, empty for a flag."""
    following = zip(words, [*words[1:], ""], strict=True)
    options = {
        word: "" if value.startswith("--") else value
        for word, value in following
        if word.startswith("--")
    }
    return {name: value for name, value in options.items() if name not in OWN}


@pytest.mark.parametrize("path", ["deploy/compose.yaml", "docs/operations.md", "make run"])
def test_every_queue_has_a_worker(path: str) -> None:
    if path == "make run":
        started = programs(data_dir=ROOT, base_dir=ROOT, host="", port=1, workers=1, environ={})
        lines = [" ".join(program.command) for program in started]
    else:
        text = (ROOT / path).read_text()
        lines = re.findall(r"celery.*?-A.*?ragsite.*?worker[^#\]]*", re.sub(r'[,"]', "", text))
    workers = [line for line in lines if re.search(r"ragsite\s+worker", line)]
    named = [re.search(r"--queues (\S+)", line) for line in workers]
    routes = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert {match[1] for match in named if match} == routes and None in named


@pytest.mark.parametrize("path", ["deploy/Dockerfile", "docs/operations.md"])
def test_the_web_process_is_started_as_make_run_starts_it(path: str) -> None:
    text = (ROOT / path).read_text().replace("\\\n", " ")
    started = re.search(r"^CMD (\[.*\])$", text, re.M)
    words = json.loads(started[1]) if started else re.findall(r"^uvicorn .*", text, re.M)[0].split()
    web = programs(data_dir=ROOT, base_dir=ROOT, host="0.0.0.0", port=8000, workers=1, environ={})[
        0
    ]
    assert _options(words) == _options(web.command)


def test_every_service_of_compose_has_a_limit_of_memory() -> None:
    assert [name for name, service in COMPOSE.items() if not service.get("mem_limit")] == []


def test_what_has_a_port_in_compose_is_looked_at() -> None:
    without = {name for name, service in COMPOSE.items() if "healthcheck" not in service}
    assert without == {"migrate", "worker", "sources", "beat"}


@pytest.mark.parametrize("name", OWN_IMAGE)
def test_ragsite_s_own_containers_write_only_to_their_volumes(name: str) -> None:
    service = OWN_IMAGE[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["volumes"][:2] == ["uploads:/data", "/tmp"]
