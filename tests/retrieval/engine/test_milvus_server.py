"""What the index does on a Milvus server, emulated: how it writes, waits, tries again and shows who it is."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import ValidationError

from ragsite.core.server_settings import MilvusSettings
from ragsite.runtime.milvus_lite import LiteServer
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.search.milvus.filters import LONG_LIST, Templates, in_collections
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.values import CollectionRef, SearchFilters
from tests.milvus import COLLECTION, SPACE, ids, row
from tests.milvus_servers import NODES, MilvusServer
from tests.retrieval.test_search import Library

NONE = SearchFilters()
STRONG = 0
BOUNDED = 2


@pytest_asyncio.fixture
async def index(
    milvus_settings: MilvusSettings, emulated_server: MilvusServer
) -> AsyncIterator[MilvusIndex]:
    index = MilvusIndex(milvus_settings, uri=emulated_server.uri, writer_lock=only_writer)
    yield index
    emulated_server.fail_next.clear()
    await index.close()


async def found(index: MilvusIndex, *collection_ids: str) -> list[str]:
    legs = await index.search_bm25(
        SPACE, ["text"], collection_ids=collection_ids or [COLLECTION], filters=NONE, limit=5
    )
    return ids(legs[0])


async def test_it_is_never_asked_to_flush(
    index: MilvusIndex, emulated_server: MilvusServer
) -> None:
    """It allows one flush of a collection in 10 s: a site that asks for one after every write would stand still."""
    asked_before = emulated_server.calls["Flush"]
    rows = [row(f"text {number}") for number in range(12)]
    for one in rows:
        await index.upsert(SPACE, [one])
    await index.delete_chunks(SPACE, [rows[0].chunk_id])
    generation = await index.build_generation(SPACE)
    await index.write_generation(generation, rows[1:])
    async with index.swapping(generation):
        pass
    assert await index.chunk_ids(SPACE) == {one.chunk_id for one in rows[1:]}
    assert emulated_server.calls["Flush"] == asked_before


async def test_the_emulation_refuses_a_second_flush_within_ten_seconds(
    index: MilvusIndex, emulated_server: MilvusServer
) -> None:
    await index.upsert(SPACE, [row("text")])
    name = index.alias(SPACE)
    await index._collections.do("flush", name)
    with pytest.raises(IndexUnavailableError):
        await index._collections._connection.call(
            lambda client: client.flush(name, timeout=0.5), timeout_s=5.0
        )
    assert emulated_server.refused_flushes > 0


@pytest.mark.parametrize(("age_s", "level"), [(0.0, STRONG), (60.0, BOUNDED)])
async def test_a_search_waits_for_the_last_writes_only_where_something_changed_just_now(
    index: MilvusIndex, emulated_server: MilvusServer, age_s: float, level: int
) -> None:
    changed_at = datetime.now(UTC) - timedelta(seconds=age_s)
    ref = CollectionRef(id=COLLECTION, name="c", space=BUILTIN_SPACE, changed_at=changed_at)
    library = Library(index, ref=ref)
    await library.add("Loans", "Books are lent for four weeks.")
    emulated_server.consistency.clear()
    assert (await library.search("How long are books lent?")).candidates
    assert set(emulated_server.consistency) == {level}


async def test_more_than_a_thousand_collections_go_beside_the_filter(
    index: MilvusIndex, emulated_server: MilvusServer
) -> None:
    emulated_server.templates.clear()
    await index.upsert(SPACE, [wanted := row("text"), row("text", collection_id=str(uuid.uuid4()))])
    others = [str(uuid.uuid4()) for _ in range(LONG_LIST)]
    assert await found(index, *others, COLLECTION) == [wanted.chunk_id]
    assert emulated_server.templates == [LONG_LIST + 1]


def test_a_template_holds_the_list_that_the_filter_names() -> None:
    collection_ids = [f"c{number}" for number in range(LONG_LIST + 1)]
    templates = Templates()
    assert in_collections(collection_ids, None, templates) == "collection_id in {list_0}"
    assert templates.values == {"list_0": collection_ids}


@pytest.mark.parametrize(("failures", "fails"), [(2, False), (3, True)])
async def test_what_the_server_marks_as_retriable_is_tried_twice_more(
    index: MilvusIndex, emulated_server: MilvusServer, failures: int, fails: bool
) -> None:
    await index.upsert(SPACE, [kept := row("text")])
    emulated_server.fail_next["Search"] = failures
    if fails:
        with pytest.raises(IndexUnavailableError):
            await found(index)
    else:
        assert await found(index) == [kept.chunk_id]


async def test_replicas_that_the_server_has_no_nodes_for_are_an_error(
    milvus_settings: MilvusSettings, emulated_server: MilvusServer
) -> None:
    settings = milvus_settings.replace(replicas=NODES + 1)
    index = MilvusIndex(settings, uri=emulated_server.uri, writer_lock=only_writer)
    with pytest.raises(IndexUnavailableError):
        await index.upsert(SPACE, [row("text")])
    await index.close()


async def test_the_index_may_be_left_to_the_service(
    milvus_settings: MilvusSettings, emulated_server: MilvusServer
) -> None:
    index = MilvusIndex(
        milvus_settings.replace(index="auto"), uri=emulated_server.uri, writer_lock=only_writer
    )
    await index.upsert(SPACE, [kept := row("text")])
    assert await found(index) == [kept.chunk_id]
    await index.close()


# ------------------------------------------------------------------------------------------------ TLS
@pytest.fixture
def authority(tmp_path: Path) -> tuple[bytes, bytes]:
    """A key and a certificate for localhost, signed by itself; the latter also in ca.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (tmp_path / "ca.pem").write_bytes(pem)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(private)
    return private, pem


@pytest.fixture
def tls_server(milvus_server: LiteServer, authority: tuple[bytes, bytes]) -> Iterator[MilvusServer]:
    server = MilvusServer(milvus_server.uri, certificate=authority)
    yield server
    server.stop()


@pytest.mark.parametrize("shown", [False, True])
async def test_a_server_is_trusted_by_the_authority_that_is_named(
    tls_server: MilvusServer, milvus_settings: MilvusSettings, tmp_path: Path, shown: bool
) -> None:
    own: Any = {
        "client_certificate": str(tmp_path / "ca.pem"),
        "client_key": str(tmp_path / "key.pem"),
    }
    settings = milvus_settings.replace(ca_file=str(tmp_path / "ca.pem"), **(own if shown else {}))
    index = MilvusIndex(settings, uri=tls_server.uri, writer_lock=only_writer)
    await index.upsert(SPACE, [kept := row("text")])
    assert await found(index) == [kept.chunk_id]
    await index.close()


async def test_a_server_with_an_unknown_certificate_is_not_asked(
    tls_server: MilvusServer, milvus_settings: MilvusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 1.0)
    index = MilvusIndex(milvus_settings, uri=tls_server.uri, writer_lock=only_writer)
    with pytest.raises(IndexUnavailableError):
        await index.ping()
    assert not tls_server.calls
    await index.close()


def test_a_client_certificate_needs_its_key_and_the_authority() -> None:
    with pytest.raises(ValidationError, match="RAG_MILVUS_CLIENT_KEY and RAG_MILVUS_CA_FILE"):
        MilvusSettings(client_certificate="client.pem")
