"""Brings one document into the index: parse, chunk, embed, write; each stage can be taken up where it broke off.

    claim the job ─► parse ─► all chunks in one transaction ─► per batch: embed ─► index.upsert ─► flag ─► ready
                              (ids follow from document and seq: doing it twice writes the same rows;
                               where only metadata changed, the stored vectors are taken)

A worker that is killed leaves a lease that runs out, and flags that tell the next one which chunks are still to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction

from ragsite.errors import UnsupportedFileError
from retrieval.engine import Engine, get_engine
from retrieval.errors import (
    DocumentUnreadableError,
    EmbeddingMismatchError,
    EmbeddingUnavailableError,
    IndexUnavailableError,
)
from retrieval.ingest.blocks import ParsedDocument
from retrieval.ingest.chunking import Chunker, TextChunk
from retrieval.ingest.parsing import parse_file
from retrieval.ingest.summary import summarize
from retrieval.language import detect_language
from retrieval.models import Chunk, Collection, Document, IngestJob
from retrieval.ports import Embedder, Models, Vectors
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.selectors import collection_space
from retrieval.services.index_rows import (
    embedding_text,
    index_rows,
    row_metadata,
    row_terms,
    summary_chunk,
    with_summary,
)
from retrieval.services.ingest_jobs import (
    Claim,
    LeaseLostError,
    job_check,
    job_claim,
    job_fail,
    job_finish,
    job_give_back,
    job_renew,
    job_wait,
)
from retrieval.tokens import estimate_tokens
from retrieval.values import EmbeddingSpace

logger = logging.getLogger(__name__)
IngestOutcome = Literal["ready", "failed", "waiting", "busy"]
Progress = Callable[[float], None]
PARSED_SHARE = 0.1  # of the progress, when all chunks are known
DB_BATCH = 500
FILE_GONE = "The stored file is gone; upload it again."


@dataclass(slots=True)
class _Run:
    """One worker's work on one document."""

    claim: Claim
    report: Progress
    started: float = field(default_factory=time.monotonic)
    timings_ms: dict[str, float] = field(default_factory=dict)
    embedder: Embedder | None = None  # once it was needed

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self.timings_ms[stage] = round(self.timings_ms.get(stage, 0.0) + (time.monotonic() - begin) * 1000, 1)


async def document_ingest(document_id: uuid.UUID | str, *, report: Progress = lambda _: None) -> IngestOutcome:
    """Work on the document's open job until it is ready, failed, or has to wait for a server.

    busy: another worker holds it, or there is nothing to do. `report`: progress, 0–1.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"[:100]
    claim = await sync_to_async(job_claim)(document_id=document_id, holder=holder)
    if claim is None:
        failed = await Document.objects.filter(pk=document_id, status=Document.Status.FAILED).aexists()
        return "failed" if failed else "busy"
    try:
        async with _heartbeat(claim):
            return await _work(_Run(claim, report))
    except (LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist):
        logger.info("Document %s: taken over by another worker, or deleted", document_id)
        return "busy"
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(job_give_back)(claim=claim, counted=False))
        raise
    except Exception as error:  # a worker's outermost loop: one odd document must not stop the others
        logger.exception("Document %s: ingest broke off", document_id)
        reason = f"An unexpected error ({type(error).__name__}); the log has the details."
        await sync_to_async(job_give_back)(claim=claim, reason=reason)
        return "waiting"


async def _work(run: _Run) -> IngestOutcome:
    """Raises LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist."""
    try:
        document = await sync_to_async(_begin)(run.claim)
        if document.status == Document.Status.PARSING:
            await _parse(run, document)
        await _embed(run, document.collection)
    except (DocumentUnreadableError, UnsupportedFileError, EmbeddingMismatchError) as error:
        await sync_to_async(job_fail)(claim=run.claim, reason=error.message)
        return "failed"
    except (EmbeddingUnavailableError, IndexUnavailableError) as error:
        waits = await sync_to_async(job_wait)(claim=run.claim, reason=error.message)
        return "waiting" if waits else "failed"
    return "ready"


@contextlib.asynccontextmanager
async def _heartbeat(claim: Claim) -> AsyncIterator[None]:
    """Keeps the lease while the body runs. A lost one is noticed at the body's next write."""

    async def beat() -> None:
        renewed = True
        while renewed:
            await asyncio.sleep(settings.RAG.ingest.lease_s / 3)
            renewed = await sync_to_async(job_renew)(claim=claim)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _begin(claim: Claim) -> Document:
    """The document with its collection, and with the status that says what is to do: PARSING or EMBEDDING.

    Raises Document.DoesNotExist.
    """
    document = Document.objects.select_related("collection").get(pk=claim.document_id)
    # All chunks are written in one transaction: some mean all.
    parsed = document.chunks.exists()
    document.status = Document.Status.EMBEDDING if parsed else Document.Status.PARSING
    document.progress, document.error = document.progress if parsed else 0.0, ""
    Document.objects.filter(pk=document.pk).update(status=document.status, progress=document.progress, error="")
    return document


# ------------------------------------------------------------------------------------------------ file → chunks
async def _parse(run: _Run, document: Document) -> None:
    """Raises DocumentUnreadableError, UnsupportedFileError, LeaseLostError."""
    ingest = settings.RAG.ingest
    with run.timed("parse"):
        if not document.file:
            raise DocumentUnreadableError(FILE_GONE)
        try:
            parsed = await parse_file(Path(document.file.path), file_name=document.file_name, settings=ingest)
        except FileNotFoundError as error:
            raise DocumentUnreadableError(FILE_GONE) from error
    with run.timed("chunk"):
        chunker = Chunker(
            chunk_tokens=ingest.chunk_tokens, overlap_tokens=ingest.chunk_overlap_tokens, count_tokens=estimate_tokens
        )
        chunks = await asyncio.to_thread(chunker.split, parsed)
        language = await asyncio.to_thread(detect_language, parsed.text)
        summary = await asyncio.to_thread(_summary, parsed, len(chunks))
    if len(chunks) > ingest.max_chunks:
        raise DocumentUnreadableError(f"The document makes more than {ingest.max_chunks:,} chunks; split it.")
    await sync_to_async(_chunks_store)(run.claim, parsed, chunks, language, summary)
    run.report(PARSED_SHARE)


def _summary(parsed: ParsedDocument, chunks: int) -> str:
    """Nothing for a document of one chunk, which stands for itself."""
    if chunks < 2:
        return ""
    headings = (block.label for block in parsed.blocks if block.kind == "heading")
    return summarize(parsed.text, headings=headings, tokens=settings.RAG.ingest.summary_tokens)


@transaction.atomic
def _chunks_store(
    claim: Claim, parsed: ParsedDocument, chunks: Sequence[TextChunk], language: str, summary: str
) -> None:
    job_check(claim=claim)
    document = Document.objects.select_for_update().get(pk=claim.document_id)
    rows = [
        Chunk(
            id=uuid.uuid5(document.pk, str(chunk.seq)),
            document=document,
            seq=chunk.seq,
            text=chunk.text,
            heading=chunk.heading,
            page=chunk.page,
            page_end=chunk.page_end,
            char_start=chunk.char_start,
            char_end=chunk.char_end,
            token_count=chunk.token_count,
        )
        for chunk in chunks
    ]
    Chunk.objects.bulk_create(rows, batch_size=DB_BATCH)
    if parsed.title and document.title == PurePosixPath(document.file_name).stem:
        document.title = parsed.title[:300]  # nobody chose a title: the document's own is better than its file's name
    document.language, document.summary = language, summary
    document.page_count = parsed.page_count
    document.chunk_count = len(rows)
    document.status = Document.Status.EMBEDDING
    document.progress = PARSED_SHARE
    document.save()


# ------------------------------------------------------------------------------------------------ chunks → index
async def _embed(run: _Run, collection: Collection) -> None:
    """Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError, LeaseLostError."""
    engine = get_engine()
    space = await _space_of(collection, engine.models)
    while True:
        chunks, last = await sync_to_async(_chunks_to_do)(run.claim.document_id)
        if chunks:
            await _batch(run, engine, space, chunks, last=last)
        if last:
            await _clear_former_rows(run.claim.document_id, space)
            run.timings_ms["total"] = round((time.monotonic() - run.started) * 1000, 1)
            if await sync_to_async(job_finish)(claim=run.claim, timings_ms=run.timings_ms):
                run.report(1.0)
                return


async def _batch(run: _Run, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk], *, last: bool) -> None:
    """Embed, analyse, write. The document's summary goes with its last batch: a write of its own costs a flush."""
    document = chunks[0].document
    rows_of = [*chunks, summary_chunk(document, embedded=chunks[0].embedded)] if last and document.summary else chunks
    analysing = asyncio.create_task(asyncio.to_thread(row_terms, rows_of)) if space != LEXICAL_SPACE else None
    try:
        with run.timed("embed"):
            vectors = await _vectors(run, engine, space, rows_of)
        with run.timed("analyse"):  # what the lexical embedder has analysed need not be analysed again
            terms = await (analysing or asyncio.to_thread(row_terms, rows_of))
    finally:
        if analysing is not None:
            analysing.cancel()
    with run.timed("index"):
        await engine.index.upsert(space, index_rows(document, rows_of, vectors, terms))
    try:
        progress = await sync_to_async(_chunks_flag)(run.claim, document, chunks)
    except Document.DoesNotExist:
        # Deleted while its rows were being written: nobody else would clear these away.
        await engine.index.delete_document(space, str(run.claim.document_id))
        raise
    run.report(progress)


async def _clear_former_rows(document_id: uuid.UUID, space: EmbeddingSpace) -> None:
    """A document read anew may have fewer chunks than before: their rows would only take up room in the results."""
    if await IngestJob.objects.filter(document=document_id).acount() < 2:
        return
    index = get_engine().index
    chunk_ids = {str(key) async for key in Chunk.objects.filter(document=document_id).values_list("pk", flat=True)}
    chunk_ids |= {
        str(key) async for key in with_summary(Document.objects.filter(pk=document_id)).values_list("pk", flat=True)
    }
    if former := await index.chunk_ids(space, document_id=str(document_id)) - chunk_ids:
        await index.delete_chunks(space, sorted(former))


async def _space_of(collection: Collection, models: Models) -> EmbeddingSpace:
    """The collection's; its first document decides which that is.

    Raises EmbeddingUnavailableError, EmbeddingMismatchError.
    """
    await collection.arefresh_from_db()
    if space := collection_space(collection):
        return space
    embedder = await models.default_embedder()
    # Recorded only once it has shown that it works.
    _check_vectors(await embedder.embed_documents([collection.name]), embedder.space, 1)
    await Collection.objects.filter(pk=collection.pk, embedding_model="").aupdate(
        embedding_model=embedder.space.model, embedding_dim=embedder.space.dim
    )
    await collection.arefresh_from_db()
    return collection_space(collection) or embedder.space


async def _vectors(run: _Run, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk]) -> Vectors:
    """The stored ones of chunks whose words are still the same, new ones of the others; shape (len(chunks), dim).

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError.
    """
    vectors = await engine.index.vectors(space, [str(chunk.pk) for chunk in chunks if chunk.embedded])
    if lacking := [chunk for chunk in chunks if str(chunk.pk) not in vectors]:
        run.embedder = run.embedder or await _embedder_of(space, engine.models)
        fresh = await run.embedder.embed_documents([embedding_text(chunk.document, chunk) for chunk in lacking])
        _check_vectors(fresh, space, len(lacking))
        vectors |= {str(chunk.pk): vector for chunk, vector in zip(lacking, fresh, strict=True)}
    return np.stack([vectors[str(chunk.pk)] for chunk in chunks])


async def _embedder_of(space: EmbeddingSpace, models: Models) -> Embedder:
    """Raises EmbeddingUnavailableError, EmbeddingMismatchError."""
    configured = settings.RAG.ollama.embed_model
    if configured and space != LEXICAL_SPACE and _full_name(configured) != _full_name(space.model):
        raise EmbeddingMismatchError(
            f"This collection is embedded by {space.model}, but {configured} is configured; re-embed the collection, "
            "or configure its model."
        )
    return await models.embedder(space)


def _full_name(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def _check_vectors(vectors: Vectors, space: EmbeddingSpace, count: int) -> None:
    if vectors.shape != (count, space.dim):
        raise EmbeddingMismatchError(
            f"The model {space.model} now gives vectors of {vectors.shape[-1]} dimensions, the collection holds "
            f"{space.dim}; re-embed the collection, or bring back the model that it was made with."
        )


def _chunks_to_do(document_id: uuid.UUID) -> tuple[list[Chunk], bool]:
    """The next batch, with the document's metadata as they are now, and whether it is the last one."""
    size = settings.RAG.ollama.embed_batch_size
    todo = Chunk.objects.filter(document=document_id, indexed=False).select_related("document").order_by("seq")
    found = list(todo[: size + 1])
    return found[:size], len(found) <= size


@transaction.atomic
def _chunks_flag(claim: Claim, used: Document, chunks: Sequence[Chunk]) -> float:
    """Note that these chunks are durably indexed; the progress. Raises LeaseLostError, Document.DoesNotExist."""
    document = Document.objects.select_for_update().get(pk=claim.document_id)
    job_check(claim=claim)
    # Edited meanwhile: what was just written is stale, so the same chunks stay to be done; without a new title, their
    # vectors are right all the same.
    if document.title == used.title:
        current = row_metadata(document) == row_metadata(used)
        Chunk.objects.filter(pk__in=[chunk.pk for chunk in chunks]).update(indexed=current, embedded=True)
    done = Chunk.objects.filter(document=document, indexed=True).count()
    progress = PARSED_SHARE + (1 - PARSED_SHARE) * done / max(1, document.chunk_count)
    Document.objects.filter(pk=document.pk).update(progress=round(min(progress, 1.0), 4))
    return progress
