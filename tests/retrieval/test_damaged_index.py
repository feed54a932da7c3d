"""Milvus Lite's folder with damaged files: set aside and begun anew, so that the database can fill it again."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ragsite.core.server_settings import MilvusSettings
from ragsite.runtime.milvus_lite import LiteServer
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.values import IndexRow
from tests.milvus import COLLECTION, SPACE, unit_vector

ROWS = 40


def row(number: int) -> IndexRow:
    return IndexRow(
        chunk_id=f"chunk-{number}", collection_id=COLLECTION, document_id="document", seq=number + 1,
        terms=f"loan number{number}", vector=unit_vector(number + 1, 1),
    )  # fmt: skip


def index_at(uri: str) -> MilvusIndex:
    return MilvusIndex(MilvusSettings(uri=uri), uri=uri, writer_lock=only_writer)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a server that was killed: segments, deletions, and an index on disk."""
    data_dir = tmp_path_factory.mktemp("sound")

    async def fill(uri: str) -> None:
        index = index_at(uri)
        for start in range(0, ROWS, 10):
            await index.upsert(SPACE, [row(number) for number in range(start, start + 10)])
        await index.delete_chunks(SPACE, ["chunk-0"])
        await index.close()

    server = LiteServer(data_dir)
    try:
        assert server.start()
        server.wait_ready()
        asyncio.run(fill(server.uri))
        assert server.process is not None
        os.killpg(server.process.pid, signal.SIGKILL)
    finally:
        server.stop()
    return data_dir


async def ids_after_start(data_dir: Path) -> tuple[set[str], str]:
    """What is there, what the operator is told; and a new row can be written and found."""
    server = LiteServer(data_dir)
    try:
        assert server.start()
        server.wait_ready()
        index = index_at(server.uri)
        there = await index.chunk_ids(SPACE)
        await index.upsert(SPACE, [row(ROWS)])
        assert row(ROWS).chunk_id in await index.chunk_ids(SPACE)
        await index.close()
        return there, server.notice()
    finally:
        server.stop()


ALL = {f"chunk-{number}" for number in range(1, ROWS)}


async def test_a_sound_folder_is_served_as_it_is(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    assert await ids_after_start(tmp_path) == (ALL, "")
    assert not list(tmp_path.glob("milvus.damaged-*"))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def noise(data: bytes) -> bytes:
    return random.Random(7).randbytes(len(data))


@pytest.mark.parametrize(
    "pattern", ["aliases.json", "schema.json", "data_*.parquet", "delta_*.parquet", "*.idx"]
)
@pytest.mark.parametrize("spoil", [cut, noise])
async def test_a_folder_with_a_damaged_file_is_set_aside(
    sound: Path, tmp_path: Path, pattern: str, spoil: Callable[[bytes], bytes]
) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    damaged = sorted((tmp_path / "milvus").rglob(pattern), key=lambda path: -path.stat().st_size)[0]
    damaged.write_bytes(spoil(damaged.read_bytes()))
    there, notice = await ids_after_start(tmp_path)
    aside = list(tmp_path.glob("milvus.damaged-*"))
    assert there == set() and len(aside) == 1
    assert aside[0].name in notice and "rebuilt from the database" in notice


async def test_a_collection_that_lost_its_schema_is_set_aside(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    next((tmp_path / "milvus").rglob("schema.json")).unlink()
    there, notice = await ids_after_start(tmp_path)
    assert there == set() and notice


@pytest.mark.parametrize("pattern", ["aliases.json", "manifest.json", "data_*.parquet"])
async def test_where_rows_were_lost_the_rest_can_be_used_and_written(
    sound: Path, tmp_path: Path, pattern: str
) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "milvus").rglob(pattern):
        path.unlink()
    there, _ = await ids_after_start(tmp_path)
    assert there <= ALL | {"chunk-0"}


async def test_only_the_last_damaged_folder_is_kept(sound: Path, tmp_path: Path) -> None:
    for former in ("milvus.damaged-20200101-000000", "milvus.damaged-20200102-000000"):
        (tmp_path / former).mkdir()
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    next((tmp_path / "milvus").rglob("schema.json")).write_bytes(b"")
    await ids_after_start(tmp_path)
    assert len(list(tmp_path.glob("milvus.damaged-*"))) == 1
