"""A few connections to PostgreSQL serve many answers at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from benchmarks.support.fault_site import NotToBeHadError, OwnPostgres
from tests.running_site import START_S
from tests.web_processes import Site, own_redis

pytestmark = [
    pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not on this machine"),
    pytest.mark.timeout(500),
]
ANSWERS = int(os.environ.get("RAGSITE_TEST_ANSWERS_AT_ONCE", "40"))
CONNECTIONS = 6
ROLE = [f"CREATE ROLE site LOGIN CONNECTION LIMIT {CONNECTIONS}", "CREATE DATABASE site OWNER site"]
COUNT = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'site'"


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that PostgreSQL's own user may reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def test_many_answers_at_once_share_a_few_connections(tmp_path: Path, folder: Path, online: Any) -> None:
    try:
        postgres = OwnPostgres(folder / "postgres")
        postgres.start()
    except NotToBeHadError as error:
        pytest.skip(str(error))
    try:
        with psycopg.connect(postgres.url, autocommit=True) as connection, own_redis(tmp_path) as redis_url:
            for statement in ROLE:
                connection.execute(statement)  # type: ignore[arg-type]
            url = f"postgresql://site@127.0.0.1:{postgres.port}/site"
            statuses, most = asyncio.run(_asked(Site(tmp_path, redis_url, online.url, DATABASE_URL=url), connection))
    finally:
        postgres.stop()
    assert statuses == ["complete"] * ANSWERS
    assert 0 < most <= CONNECTIONS


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
