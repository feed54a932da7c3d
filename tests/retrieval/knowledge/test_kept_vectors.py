"""Vectors that the database keeps: an index that was lost is filled without asking the embedding model again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db.models import F

from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import Engine, close_engine, get_engine
from retrieval.engine.ports import SearchRequest
from retrieval.engine.values import EmbeddingSpace, Query
from retrieval.knowledge.index_sync.repair import index_rebuild, index_repair
from retrieval.knowledge.scopes import collection_space, scope_for_all
from retrieval.knowledge.services.documents import (
    document_create,
    document_reingest,
    document_update,
)
from retrieval.knowledge.services.ingest import document_ingest
from retrieval.models import Collection, Document, KeptVector
from tests.factories import CollectionFactory
from tests.ollama_server import OllamaServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue", "uploads")]
RULE = "# Rule {0}\n\nUndergraduates may borrow book number {0} for weeks."
TEXT = "\n\n".join(RULE.format(number) for number in range(9))
QUESTION = "Who may borrow book number 4?"


@pytest.fixture
async def engine(
    milvus: MilvusSettings, online: OllamaServer, rag_settings: Callable[..., None]
) -> Any:
    rag_settings(milvus=milvus.replace(keep_vectors=True))
    yield get_engine()
    await close_engine()


def _document() -> Document:
    upload = ContentFile(TEXT.encode(), name="loans.md")
    return document_create(
        collection=CollectionFactory(), upload=upload, file_name="loans.md", queue=False
    ).document


@pytest.fixture
async def document(engine: Engine) -> Document:
    """Read, embedded by a model, indexed."""
    document = await sync_to_async(_document)()
    assert await document_ingest(document.pk) == "ready"
    await document.arefresh_from_db()
    return document


async def space() -> EmbeddingSpace:
    found = collection_space(await Collection.objects.aget())
    assert found is not None
    return found


async def sources() -> list[tuple[str, float]]:
    scope = await sync_to_async(scope_for_all)()
    result = await get_engine().searcher.search(
        SearchRequest(queries=(Query(QUESTION),), scope=scope)
    )
    assert result.degraded == ()
    return [
        (candidate.chunk_id, round(candidate.scores.dense or 0.0, 2))
        for candidate in result.candidates
    ]


async def test_a_lost_index_is_filled_without_embedding_again(
    document: Document, online: OllamaServer
) -> None:
    before = await sources()
    await get_engine().index.drop(await space())
    online.reset()
    [repair] = await index_repair()
    assert repair.written == await document.chunks.acount() + 1  # and the summary
    assert online.count("embed") == 0
    assert await sources() == before


async def test_it_is_filled_while_the_model_is_away(
    document: Document, online: OllamaServer
) -> None:
    await get_engine().index.drop(await space())
    online.stop()
    [repair] = await index_repair()
    online.start()
    assert (repair.written, repair.problem) == (repair.missing, "")


async def test_reading_a_document_again_embeds_nothing_that_was_kept(
    document: Document, online: OllamaServer
) -> None:
    online.reset()
    await sync_to_async(document_reingest)(document=document)
    assert await document_ingest(document.pk) == "ready"
    assert online.count("embed") == 0


async def test_a_vector_of_a_former_title_does_not_serve(
    document: Document, online: OllamaServer
) -> None:
    await sync_to_async(document_update)(document=document, changes={"title": "Another title"})
    online.reset()
    assert await document_ingest(document.pk) == "ready"
    assert online.count("embed") > 0
    await get_engine().index.drop(await space())
    online.reset()
    await index_repair()
    assert online.count("embed") == 0


async def test_vectors_of_another_model_do_not_serve(document: Document) -> None:
    await Collection.objects.aupdate(embedding_model="other:latest")  # which no server has
    [repair] = await index_repair()
    assert repair.missing > 0 and repair.written == 0


async def test_a_rebuild_keeps_the_vectors_of_an_index_from_before(
    document: Document, online: OllamaServer
) -> None:
    await KeptVector.objects.all().adelete()
    online.reset()
    assert await index_rebuild() == await KeptVector.objects.acount() > 0
    assert online.count("embed") == 0


async def test_they_go_with_their_document_and_with_chunks_that_it_no_longer_has(
    document: Document,
) -> None:
    count = await KeptVector.objects.acount()
    assert count == await document.chunks.acount() + 1
    await document.chunks.filter(seq=0).aupdate(
        seq=F("seq") + 100, id="00000000-0000-0000-0000-000000000001"
    )
    await sync_to_async(document_update)(document=document, changes={"department": "Library"})
    assert await document_ingest(document.pk) == "ready"
    assert await KeptVector.objects.acount() == count
    await sync_to_async(document.delete)()
    assert not await KeptVector.objects.aexists()


async def test_by_default_none_is_kept(milvus: MilvusSettings, online: OllamaServer) -> None:
    document = await sync_to_async(_document)()
    assert await document_ingest(document.pk) == "ready"
    assert not await KeptVector.objects.aexists()
    await close_engine()


async def test_a_site_that_is_carried_over_embeds_nothing_again(
    document: Document, online: OllamaServer, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    before = await sources()
    await sync_to_async(call_command)("export_site", tmp_path / "site.zip")
    await get_engine().index.drop(await space())
    await sync_to_async(Collection.objects.all().delete)()
    await sync_to_async(call_command)("import_site", tmp_path / "site.zip")
    online.reset()
    assert await document_ingest(document.pk) == "ready"
    assert online.count("embed") == 1  # the collection's name: whether the model works
    assert await sources() == before
