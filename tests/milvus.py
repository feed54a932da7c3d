"""A real Milvus Lite server for the tests: one per session, with names of their own for every test."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import pytest_asyncio

from ragsite.core.server_settings import MilvusSettings
from ragsite.runtime.milvus_lite import LiteServer
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.text.analysis import terms_text
from retrieval.engine.values import EmbeddingSpace, IndexRow

if TYPE_CHECKING:
    from tests.milvus_servers import MilvusServer, NativeLiteServer

SPACE = EmbeddingSpace("test-model", 8)
COLLECTION = "11111111-1111-1111-1111-111111111111"


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteServer]:
    server = LiteServer(tmp_path_factory.mktemp("milvus"))
    try:
        assert server.start()
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def milvus_uri(milvus_server: LiteServer) -> str:
    return milvus_server.uri


@pytest.fixture(scope="session")
def emulated_server(milvus_server: LiteServer) -> Iterator[MilvusServer]:
    from tests.milvus_servers import MilvusServer  # it imports pymilvus, which takes a second

    server = MilvusServer(milvus_server.uri)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def native_lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NativeLiteServer]:
    from tests.milvus_servers import NativeLiteServer

    library = os.environ.get("RAGSITE_TEST_MILVUS_LITE_25", "")
    if not library:
        pytest.skip("RAGSITE_TEST_MILVUS_LITE_25 names no milvus-lite 2.5.1; .ci/run installs one")
    server = NativeLiteServer(tmp_path_factory.mktemp("milvus-lite-25"), Path(library))
    yield server
    server.stop()


@pytest.fixture(params=["milvus_server", "emulated_server", "native_lite"])
def uri_of_each_kind(request: pytest.FixtureRequest) -> str:
    """Of Milvus Lite 3, of an emulated server, of Milvus Lite 2.5: what takes it runs on all of them."""
    return str(request.getfixturevalue(request.param).uri)


@pytest.fixture
def milvus_settings(milvus_uri: str) -> MilvusSettings:
    """A prefix of its own: no test sees another's collections."""
    return MilvusSettings(uri=milvus_uri, prefix=f"t{uuid.uuid4().hex[:12]}")


@pytest.fixture
def milvus(milvus_settings: MilvusSettings, rag_settings: Any) -> MilvusSettings:
    """`settings.RAG` pointing at the session's server; what `get_engine()` then searches is the test's own."""
    rag_settings(milvus=milvus_settings)
    return milvus_settings


@pytest_asyncio.fixture
async def index(milvus_settings: MilvusSettings) -> AsyncIterator[MilvusIndex]:
    index = MilvusIndex(milvus_settings, uri=milvus_settings.uri, writer_lock=only_writer)
    yield index
    await index.close()


def unit_vector(*values: float, dim: int = SPACE.dim) -> np.ndarray:
    """The given first coordinates, zeros after them, scaled to length 1."""
    vector = np.zeros(dim, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def row(
    text: str,
    *vector: float,
    chunk_id: str | None = None,
    dim_of: EmbeddingSpace = SPACE,
    **metadata: object,
) -> IndexRow:
    """An index row in COLLECTION, with a document of its own unless one is given."""
    fields: dict[str, object] = {
        "chunk_id": chunk_id or str(uuid.uuid4()),
        "collection_id": COLLECTION,
        "document_id": str(uuid.uuid4()),
        "seq": 0,
        "terms": terms_text(text),
        "vector": unit_vector(*(vector or (1.0,)), dim=dim_of.dim),
    }
    return IndexRow(**{**fields, **metadata})  # type: ignore[arg-type]


def ids(hits: Sequence[object]) -> list[str]:
    return [hit.chunk_id for hit in hits]  # type: ignore[attr-defined]
