"""From the stored file to the index, and on after whatever broke off."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile
from django.utils import timezone

from ragsite.core import storage
from retrieval.compose import close_engine, get_engine
from retrieval.engine.ports import Vectors
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.text.analysis import search_terms
from retrieval.engine.values import SearchFilters
from retrieval.knowledge.index_sync import repair
from retrieval.knowledge.index_sync.repair import collection_reembed
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.services import ingest
from retrieval.knowledge.services.documents import document_create, document_retry, document_update
from retrieval.knowledge.services.ingest import document_ingest, ingest_take_next
from retrieval.knowledge.services.ingest_jobs import turns
from retrieval.models import Chunk, Collection, Document, IngestJob
from tests.factories import CollectionFactory
from tests.ollama_server import OllamaServer

pytestmark = pytest.mark.django_db(transaction=True)
BATCH = 4
REGISTRY = SearchFilters(department="Registry")
MORE_THAN_THERE_IS = 10**9  # MiB
TEXT = "\n\n".join(
    f"第{n}条 学生借阅图书不得超过{n}册，逾期每日罚款一元。" * 3 for n in range(1, 11)
)


@pytest_asyncio.fixture(autouse=True)
async def site(
    milvus: Any,
    offline: None,
    uploads: None,
    rag_settings: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[None]:
    """A site without a model server. Small chunks make several batches."""
    monkeypatch.setattr(ingest, "WRITE_BATCH", BATCH)
    rag_settings(ingest={"chunk_tokens": 80, "chunk_overlap_tokens": 10})
    yield
    await close_engine()


@sync_to_async
def add(
    text: str | bytes = TEXT, name: str = "规定.txt", collection: Collection | None = None
) -> Document:
    data = text.encode("gbk") if isinstance(text, str) else text
    collection = collection or CollectionFactory(name="rules")
    return document_create(
        collection=collection, upload=ContentFile(data, name=name), file_name=name, queue=False
    ).document


async def indexed_ids(document: Document) -> set[str]:
    """Without the summary's row."""
    return await get_engine().index.chunk_ids(BUILTIN_SPACE) - {str(document.pk)}


async def chunk_ids(document: Document) -> set[str]:
    return {
        str(pk) async for pk in Chunk.objects.filter(document=document).values_list("pk", flat=True)
    }


async def open_job(document: Document) -> IngestJob:
    return await IngestJob.objects.filter(document=document).alatest("created_at")


def before_upsert(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], Any]) -> None:
    """Let `act(n)` happen before the n-th write to the index, from 1."""
    index = get_engine().index
    upsert, calls = index.upsert, 0

    async def wrapped(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        await act(calls)
        await upsert(*arguments)

    monkeypatch.setattr(index, "upsert", wrapped)


async def test_document_becomes_ready_with_every_chunk_indexed() -> None:
    document = await add()
    assert await document_ingest(document.pk) == "ready"
    await document.arefresh_from_db()
    assert (document.status, document.progress, document.error) == ("ready", 1.0, "")
    assert document.language == "zh-hans"
    assert document.chunk_count > 2 * BATCH
    assert await indexed_ids(document) == await chunk_ids(document)
    assert not await Chunk.objects.filter(indexed=False).aexists()


async def test_document_tells_how_many_words_it_gave_and_what_was_not_read() -> None:
    document = await add("<p>Open daily, 周末休息.</p><img src=a.png>".encode(), "a.html")
    assert await document_ingest(document.pk) == "ready"
    document = await Document.objects.aget(pk=document.pk)
    assert (document.word_count, document.localized_unread) == (6, ["1 picture without text"])


async def test_killed_worker_is_succeeded_without_losing_or_doubling_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = await add()

    async def killed(call: int) -> None:
        if call == 2:
            raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(
            ingest, "job_give_back", lambda **_: None
        )  # a killed worker tidies nothing up
        before_upsert(patch, killed)
        with pytest.raises(asyncio.CancelledError):
            await document_ingest(document.pk)
    assert (await open_job(document)).state == "running"
    assert await Chunk.objects.filter(indexed=True).acount() == BATCH
    known = await chunk_ids(document)

    assert await document_ingest(document.pk) == "busy"  # the lease still runs
    await IngestJob.objects.aupdate(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert await sync_to_async(turns)() == [None]
    assert await document_ingest(document.pk) == "ready"
    assert await chunk_ids(document) == known == await indexed_ids(document)
    assert (await open_job(document)).attempts == 2


async def test_what_a_slow_model_has_embedded_is_written_before_the_batch_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest, "WRITE_BATCH", 100)
    monkeypatch.setattr(ingest, "WRITE_AFTER_S", 0.0)
    monkeypatch.setattr("retrieval.engine.providers.embeddings.EMBED_BATCH_SIZE", 3)
    document = await add()
    flagged = []

    async def count(_: int) -> None:
        flagged.append(await Chunk.objects.filter(indexed=True).acount())

    before_upsert(monkeypatch, count)
    assert await document_ingest(document.pk) == "ready"
    assert flagged == [
        *range(0, len(await chunk_ids(document)), 2)
    ]  # the summary goes with each write
    assert str(document.pk) in await get_engine().index.chunk_ids(BUILTIN_SPACE)
    assert await indexed_ids(document) == await chunk_ids(document)


async def test_a_short_document_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "WRITE_BATCH", 100)
    monkeypatch.setattr("retrieval.engine.providers.embeddings.EMBED_BATCH_SIZE", 3)
    document = await add()
    writes = []

    async def note(call: int) -> None:
        writes.append(call)

    before_upsert(monkeypatch, note)
    assert await document_ingest(document.pk) == "ready"
    assert writes == [1]
    assert await indexed_ids(document) == await chunk_ids(document)


async def test_worker_whose_job_was_taken_over_stops_where_it_is(
    monkeypatch: pytest.MonkeyPatch, rag_settings: Callable[..., None]
) -> None:
    document = await add()
    get_engine()  # keeps its settings
    monkeypatch.setattr("retrieval.knowledge.services.ingest_jobs.LEASE_S", 1.0)

    async def taken_over(call: int) -> None:
        await IngestJob.objects.aupdate(lease_token=uuid.uuid4(), holder="other")
        await asyncio.sleep(60)

    before_upsert(monkeypatch, taken_over)
    assert await document_ingest(document.pk) == "busy"
    assert await indexed_ids(document) == set()
    job = await open_job(document)
    assert (job.state, job.holder, job.error) == ("running", "other", "")


async def test_unexpected_error_is_tried_again_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = await add()

    def broken(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(ingest, "index_rows", broken)
    assert [await document_ingest(document.pk) for _ in range(4)] == [
        "waiting",
        "waiting",
        "waiting",
        "failed",
    ]
    await document.arefresh_from_db()
    assert "RuntimeError" in document.error
    assert "secret" not in document.error


async def test_absent_embedding_model_is_waited_for() -> None:
    collection = await sync_to_async(CollectionFactory)(
        embedding_model="bge-m3:latest", embedding_dim=8
    )
    document = await add(collection=collection)
    assert await document_ingest(document.pk) == "waiting"
    await document.arefresh_from_db()
    job = await open_job(document)
    assert document.status == "parsing" or document.status == "embedding"
    assert document.error.startswith("Waiting: ")
    assert (job.state, job.attempts, job.waits) == ("waiting", 0, 1)
    assert job.not_before is not None and job.not_before > timezone.now()


async def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.knowledge.services.ingest_jobs.MAX_WAITS", 2)
    collection = await sync_to_async(CollectionFactory)(
        embedding_model="bge-m3:latest", embedding_dim=8
    )
    document = await add(collection=collection)
    assert [await document_ingest(document.pk) for _ in range(3)] == [
        "waiting",
        "waiting",
        "failed",
    ]
    await document.arefresh_from_db()
    assert "Given up after 2 tries" in document.error


async def test_absent_index_is_waited_for(
    rag_settings: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rag_settings(milvus={"uri": "http://127.0.0.1:9"})
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 0.2)
    monkeypatch.setattr("retrieval.engine.search.milvus.connection.TIMEOUT_S", 0.5)
    document = await add()
    assert await document_ingest(document.pk) == "waiting"
    assert (await open_job(document)).waits == 1
    assert await Chunk.objects.filter(indexed=True).acount() == 0


async def test_document_waits_for_room_on_the_disk_and_goes_on_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = await add()
    await IngestJob.objects.aupdate(not_before=None)
    monkeypatch.setattr(storage, "MIN_FREE_MIB", MORE_THAN_THERE_IS)
    assert await ingest_take_next() == "idle"
    monkeypatch.setattr(storage, "MIN_FREE_MIB", 0)
    assert await ingest_take_next() == "ready"
    await document.arefresh_from_db()
    assert document.status == "ready"


async def test_collection_of_another_model_is_a_clear_failure(
    rag_settings: Callable[..., None],
) -> None:
    rag_settings(ollama={"embed_model": "bge-m3"})
    collection = await sync_to_async(CollectionFactory)(
        embedding_model="nomic-embed-text:latest", embedding_dim=8
    )
    document = await add(collection=collection)
    assert await document_ingest(document.pk) == "failed"
    await document.arefresh_from_db()
    assert "embedded by nomic-embed-text:latest, but bge-m3 is configured" in document.error


async def test_metadata_edited_meanwhile_reach_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    document = await add()

    async def edit(call: int) -> None:
        if call == 2:
            fresh = await Document.objects.aget(pk=document.pk)
            await sync_to_async(document_update)(document=fresh, changes={"department": "Registry"})

    before_upsert(monkeypatch, edit)
    assert await document_ingest(document.pk) == "ready"
    assert await found(document, filters=REGISTRY) == await chunk_ids(document)


async def found(document: Document, text: str = "学生", **how: Any) -> set[str]:
    """By text search, as `how` says."""
    how = {"filters": SearchFilters(), **how}
    (hits,) = await get_engine().index.search_bm25(
        BUILTIN_SPACE,
        [" ".join(search_terms(text))],
        collection_ids=[str(document.collection_id)],
        limit=100,
        **how,
    )
    return {hit.chunk_id for hit in hits}


async def changed(document: Document, **changes: Any) -> list[str]:
    """Edit a ready document and bring it to the index again; the texts that were embedded for it."""
    texts: list[str] = []
    embedder = await get_engine().models.embedder(BUILTIN_SPACE)
    embed = embedder.embed_documents

    async def counted(given: Sequence[str]) -> Vectors:
        texts.extend(given)
        return await embed(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedder, "embed_documents", counted)
        fresh = await Document.objects.aget(pk=document.pk)
        await sync_to_async(document_update)(document=fresh, changes=changes)
        assert await document_ingest(document.pk) == "ready"
    return texts


async def test_changed_metadata_reach_the_index_without_embedding_anything() -> None:
    document = await add()
    await document_ingest(document.pk)
    ids = sorted(await chunk_ids(document))
    before = await get_engine().index.vectors(BUILTIN_SPACE, ids)
    assert await changed(document, department="Registry", tags=["loans"]) == []
    assert await found(document, filters=REGISTRY) == set(ids)
    after = await get_engine().index.vectors(BUILTIN_SPACE, ids)
    assert all((before[key] == after[key]).all() for key in ids)


async def test_document_deleted_meanwhile_leaves_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    document = await add()

    async def delete(call: int) -> None:
        if call == 2:
            await Document.objects.filter(pk=document.pk).adelete()

    before_upsert(monkeypatch, delete)
    assert await document_ingest(document.pk) == "busy"
    assert await indexed_ids(document) == set()


async def test_document_whose_collection_is_re_embedded_meanwhile_is_in_the_new_space(
    ollama: OllamaServer, rag_settings: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await sync_to_async(CollectionFactory)(builtin=True)
    document = await add(collection=collection)
    rag_settings(ollama={"offline": "auto", "base_url": ollama.url})

    async def re_embed(call: int) -> None:
        if call == 2:  # by another process, which read what there was before this document came
            monkeypatch.setattr(get_engine().index, "upsert", upsert)
            monkeypatch.setattr(repair, "_write_rows", nothing)
            await collection_reembed(collection=await Collection.objects.aget())

    async def nothing(*_: Any) -> int:
        monkeypatch.setattr(repair, "_write_rows", write_rows)
        return 0

    write_rows = repair._write_rows

    upsert = get_engine().index.upsert
    before_upsert(monkeypatch, re_embed)
    assert await document_ingest(document.pk) == "ready"
    collection = await Collection.objects.aget()
    space = collection_space(collection)
    assert space is not None and space != BUILTIN_SPACE
    there = await get_engine().index.chunk_ids(space)
    assert there - {str(document.pk)} == await chunk_ids(document)
    assert await indexed_ids(document) == set()


async def test_document_read_anew_leaves_no_rows_of_former_chunks(
    rag_settings: Callable[..., None],
) -> None:
    document = await add()
    await document_ingest(document.pk)
    before = await indexed_ids(document)
    rag_settings(ingest={"chunk_tokens": 400})
    await Chunk.objects.all().adelete()
    await sync_to_async(document_retry)(document=document, queue=False)
    assert await document_ingest(document.pk) == "ready"
    assert await indexed_ids(document) == await chunk_ids(document) < before


async def test_a_document_of_several_chunks_is_found_by_its_summary() -> None:
    document = await add()
    await document_ingest(document.pk)
    await document.arefresh_from_db()
    assert "学生借阅图书" in document.summary
    assert str(document.pk) in await found(document, "借阅图书", level="documents")
