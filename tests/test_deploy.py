"""What `deploy/` and the instructions say beside the code that they repeat."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import yaml
from django.conf import settings

from ragsite.runtime import child_process
from ragsite.runtime.child_process import Child
from ragsite.runtime.supervisor import programs
from tests.nginx import nginx_command, nginx_conf, shipped_servers
from tests.processes import free_port, wait_until

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = (ROOT / "docs/operations.md").read_text()
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


@pytest.mark.parametrize("name", sorted(set(COMPOSE) - set(OWN_IMAGE)))
def test_images_of_others_have_a_version(name: str) -> None:
    assert re.fullmatch(r"[\w/]+:v?\d+\.\d+(\.\d+)?", COMPOSE[name]["image"])


@pytest.mark.skipif(not shutil.which("redis-server"), reason="Redis is not installed")
def test_redis_is_healthy_only_for_who_knows_its_password(tmp_path: Path) -> None:
    """The command and the health check of compose, with a password and another one."""
    service = COMPOSE["redis"]
    port = str(free_port())
    _program, *options = service["command"]
    command = [shutil.which("redis-server") or ""]
    command += [word.replace("${REDIS_PASSWORD}", "right") for word in options]
    command += ["--port", port, "--bind", "127.0.0.1", "--dir", str(tmp_path)]
    redis = Child("redis", command, log_path=tmp_path / "redis.log")
    redis.start()
    kind, check = service["healthcheck"]["test"]
    assert kind == "CMD-SHELL" and set(service["environment"]) == {"REDISCLI_AUTH"}

    def is_healthy(password: str) -> bool:
        said = check.replace("redis-cli", f"redis-cli -p {port}")
        known = {**os.environ, "REDISCLI_AUTH": password}
        return subprocess.run(said, shell=True, env=known, capture_output=True).returncode == 0

    try:
        assert wait_until(lambda: is_healthy("right"), within_s=20)
        assert not is_healthy("wrong")
    finally:
        child_process.stop([redis], timeout_s=5)
    assert "REDIS_PASSWORD=" in (ROOT / "deploy/.env.example").read_text()


def test_what_has_a_port_in_compose_is_looked_at() -> None:
    without = {name for name, service in COMPOSE.items() if "healthcheck" not in service}
    assert without == {"migrate", "worker", "sources", "beat"}


@pytest.mark.parametrize("name", OWN_IMAGE)
def test_ragsite_s_own_containers_write_only_to_their_volumes(name: str) -> None:
    service = OWN_IMAGE[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["volumes"][:2] == ["uploads:/data", "/tmp"]


# ------------------------------------------------------------------------------------------------ nginx
@contextmanager
def web_process(name: str) -> Iterator[int]:
    """Its port; it answers with its name and with what came of `Connection`."""

    class Said(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("X-Name", name)
            self.send_header("X-Upgrade", self.headers.get("Upgrade", ""))
            self.send_header("X-Forwarded", self.headers["X-Forwarded-For"])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Said) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_spreads_over_the_web_processes_and_passes_one_over_that_is_away(
    tmp_path: Path,
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with web_process("a") as first, web_process("b") as second:
        conf = nginx_conf(tmp_path, port=port, servers=[first, second])
        command = nginx_command(shutil.which("nginx") or "", tmp_path, conf)
        nginx = Child("nginx", command, log_path=tmp_path / "nginx.log")
        nginx.start()
        try:
            assert wait_until(lambda: _answers(url), within_s=20)
            told = [httpx.get(url).headers for _ in range(4)]
            assert {one["X-Name"] for one in told} == {"a", "b"}
            assert {one["X-Forwarded"] for one in told} == {"127.0.0.1"}
            upgraded = httpx.get(url, headers={"Upgrade": "websocket", "Connection": "upgrade"})
            assert upgraded.headers["X-Upgrade"] == "websocket"
            away = nginx_conf(tmp_path, port=port, servers=[first, free_port()])
        finally:
            child_process.stop([nginx], timeout_s=5)
        nginx = Child("nginx", nginx_command(command[0], tmp_path, away), log_path=tmp_path / "log")
        nginx.start()
        try:
            assert wait_until(lambda: _answers(url), within_s=20)
            assert {httpx.get(url).headers["X-Name"] for _ in range(4)} == {"a"}
        finally:
            child_process.stop([nginx], timeout_s=5)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


def test_nginx_names_the_port_that_the_instructions_and_compose_open() -> None:
    assert shipped_servers() == ["8000", "8001"]
    opened = re.findall(r"uvicorn ragsite\S+ --host \S+ --port (\d+)", OPERATIONS)
    assert opened == ["8000"] and "--port 8001" in OPERATIONS
    assert COMPOSE["web"]["ports"] == ["127.0.0.1:8000-8001:8000"]
