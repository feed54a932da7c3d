"""A few connections to PostgreSQL serve many answers at once, and one that was dropped is not handed out."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.own_servers import NotToBeHadError, OwnPostgres, own_redis
from tests.running_site import START_S
from tests.web_processes import Site

pytestmark = pytest.mark.timeout(500)
ANSWERS = int(os.environ.get("RAGSITE_TEST_ANSWERS_AT_ONCE", "40"))
CONNECTIONS = 6
ROLE = [f"CREATE ROLE site LOGIN CONNECTION LIMIT {CONNECTIONS}", "CREATE DATABASE site OWNER site"]
COUNT = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'site'"
DROPPED = """
import threading
import django, psycopg
django.setup()
from django.db import connection
from ragsite.core.database import pool_connections

def ask(together):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        together.wait(60)  # each has one of its own
        backends.append(cursor.fetchone()[0])
    connection.close()

pool_connections(at_most=3)
for _ in range(2):
    backends = []
    together = threading.Barrier(3)
    threads = [threading.Thread(target=ask, args=[together]) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(len(set(backends)))
    parameters = connection.get_connection_params()
    login = {name: parameters[name] for name in ("host", "port", "user", "dbname")}
    with psycopg.connect(**login, autocommit=True) as admin:
        for backend in backends: admin.execute("SELECT pg_terminate_backend(%s)", [backend])
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that PostgreSQL's own user may reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
def postgres(folder: Path) -> Iterator[OwnPostgres]:
    """A server of the test's own, with the role and the database `site`."""
    try:
        server = OwnPostgres(folder / "postgres")
        server.start()
    except NotToBeHadError as error:
        pytest.skip(str(error))
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for statement in ROLE:
                connection.execute(statement)  # type: ignore[arg-type]
        yield server
    finally:
        server.stop()


def address_of(postgres: OwnPostgres) -> str:
    return f"postgresql://site@127.0.0.1:{postgres.port}/site"


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not on this machine")
def test_many_answers_at_once_share_a_few_connections(
    tmp_path: Path, postgres: OwnPostgres, online: Any
) -> None:
    with (
        psycopg.connect(postgres.url, autocommit=True) as connection,
        own_redis(tmp_path) as redis_url,
    ):
        site = Site(tmp_path, redis_url, online.url, DATABASE_URL=address_of(postgres))
        statuses, most = asyncio.run(_asked(site, connection))
    assert statuses == ["complete"] * ANSWERS
    assert 0 < most <= CONNECTIONS


def test_connections_that_the_server_dropped_are_replaced_before_a_call_gets_one(
    tmp_path: Path, postgres: OwnPostgres
) -> None:
    own = {"DATABASE_URL": address_of(postgres), "RAGSITE_DATA_DIR": str(tmp_path)}
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings", **own}
    done = subprocess.run(
        [sys.executable, "-c", DROPPED], env=environ, capture_output=True, text=True, timeout=300
    )
    assert (done.stdout.split(), done.stderr) == (["3", "3"], "")


async def _asked(site: Site, connection: psycopg.Connection[Any]) -> tuple[list[str], int]:
    """How the answers ended, and how many connections the site had at most."""
    machine = site.machine(
        PIECES="50",
        RAGSITE_DATABASE_CONNECTIONS=str(CONNECTIONS),
        RAG_LIMIT_ANSWERS_AT_ONCE="1000",
        RAG_LIMIT_QUESTIONS_PER_MINUTE="1000",
    )
    most = 0

    async def ask(client: httpx.AsyncClient) -> str:
        answer = await client.post(f"{machine.url}/api/chat", json={"message": "How many books?"})
        return str(answer.json().get("status") or answer.text)

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(headers=site.headers, timeout=START_S, limits=limits) as client:
        asking = asyncio.gather(*(ask(client) for _ in range(ANSWERS)))
        while not asking.done():
            row = connection.execute(COUNT).fetchone()
            assert row is not None
            most = max(most, row[0])
            await asyncio.wait([asking], timeout=0.3)
        statuses = await asking
    machine.end()
    return statuses, most
