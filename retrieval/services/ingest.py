"""Brings one document into the index: parse, chunk, embed, write; each stage can be taken up where it broke off.

    claim the job ─► read  ─► all chunks in one transaction ─► per batch: embed ─► index.upsert ─► flag ─► ready
                              (ids follow from document and seq: doing it twice writes the same rows;
                               where only metadata changed, the stored vectors are taken)

A worker that is killed leaves a lease that runs out, and flags that tell the next one which chunks are still to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Exists, OuterRef

from ragsite.core.errors import UnsupportedFileError
from ragsite.core.leases import LeaseLostError, hold
from ragsite.core.storage import is_full, is_lack_of_room
from ragsite.core.text import clean_line
from ragsite.core.wording import worded
from retrieval.engine import Engine, get_engine
from retrieval.errors import (
    DocumentUnreadableError,
    EmbeddingMismatchError,
    EmbeddingUnavailableError,
    IndexUnavailableError,
)
from retrieval.ingest.parts import ReadDocument
from retrieval.ingest.reader import read_file
from retrieval.models import Chunk, Collection, Document, DocumentPart, IngestJob
from retrieval.ports import Embedder, Vectors
from retrieval.providers import embeddings
from retrieval.providers.lexical import SPACE as LEXICAL_SPACE
from retrieval.selectors import collection_space
from retrieval.services.embedding_space import check_vectors, embedder_of, size_of_chunks, space_of
from retrieval.services.index_rows import (
    embedding_text,
    index_rows,
    row_metadata,
    row_terms,
    summary_chunk,
    with_summary,
)
from retrieval.services.ingest_jobs import (
    DISK_FULL,
    Claim,
    job_claim,
    job_fail,
    job_finish,
    job_give_back,
    job_wait,
    others_wait,
    storage_is_full,
    turn_claim,
    turns,
)
from retrieval.services.questions import document_questions_wanted
from retrieval.services.queueing import questions_queue
from retrieval.values import EmbeddingSpace

TURN_S = 30.0  # a document that is embedded for longer makes room when another user's waits

logger = logging.getLogger(__name__)
IngestOutcome = Literal["ready", "failed", "waiting", "busy"]
Progress = Callable[[float], None]
PARSED_SHARE = 0.1  # of the progress, when all chunks are known
DB_BATCH = 500
FILE_GONE = worded("The stored file is gone; upload it again.")


@dataclass(slots=True)
class _Run:
    """One worker's work on one document."""

    claim: Claim
    report: Progress
    document: Document  # with its collection, as read last
    read_before: bool  # the index may hold rows of former chunks
    takes_turns: bool = False  # it makes room for others when it has lasted for long
    stored: list[Chunk] = field(default_factory=list)  # all chunks, where they were made just now and fit one batch
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
    run = await sync_to_async(_begin)(partial(job_claim, document_id=document_id), report)
    if run is None:
        failed = await Document.objects.filter(pk=document_id, status=Document.Status.FAILED).aexists()
        return "failed" if failed else "busy"
    return await _ingest(run)


async def ingest_take_next() -> IngestOutcome | Literal["idle"]:
    """The same with the job whose turn it is. idle: no job waits, or its user has enough documents being read."""
    run = await sync_to_async(_begin_next)()
    return await _ingest(run) if run else "idle"


async def _ingest(run: _Run) -> IngestOutcome:
    document_id = run.claim.document_id
    try:
        async with hold(run.claim.lease):
            return await _work(run)
    except (LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist):
        logger.info("Document %s: taken over by another worker, or deleted", document_id)
        return "busy"
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(job_give_back)(claim=run.claim, counted=False))
        raise
    except Exception as error:  # a worker's outermost loop: one odd document must not stop the others
        if is_lack_of_room(error):
            waits = await sync_to_async(job_wait)(claim=run.claim, reason=DISK_FULL)
            return "waiting" if waits else "failed"
        logger.exception("Document %s: ingest broke off", document_id)
        reason = worded("An unexpected error ({kind}); the log has the details.", kind=type(error).__name__)
        await sync_to_async(job_give_back)(claim=run.claim, reason=reason)
        return "waiting"


async def _work(run: _Run) -> IngestOutcome:
    """Raises LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist."""
    try:
        if run.document.status == Document.Status.PARSING or await _is_cut_too_large(run):
            await _parse(run)
        if not await _embed(run):
            await sync_to_async(job_give_back)(claim=run.claim, counted=False)
            return "waiting"
    except (DocumentUnreadableError, UnsupportedFileError, EmbeddingMismatchError) as error:
        await sync_to_async(job_fail)(claim=run.claim, reason=error.message)
        return "failed"
    except (EmbeddingUnavailableError, IndexUnavailableError) as error:
        reason = DISK_FULL if await asyncio.to_thread(is_full) else error.message
        waits = await sync_to_async(job_wait)(claim=run.claim, reason=reason)
        return "waiting" if waits else "failed"
    return "ready"


def _begin_next() -> _Run | None:
    if storage_is_full():
        return None
    for user_id in turns():  # a transaction each: one user's row is locked at a time
        run = _begin(partial(turn_claim, user_id=user_id), lambda _: None)
        if run is not None:
            run.takes_turns = True
            return run
    return None


@transaction.atomic
def _begin(take: Callable[[], Claim | None], report: Progress) -> _Run | None:
    """Take the job. The document's status says what is to do: PARSING or EMBEDDING. None: there is nothing to take."""
    claim = take()
    if claim is None:
        return None
    former = IngestJob.objects.filter(document=OuterRef("pk")).exclude(pk=claim.job_id)
    documents = Document.objects.select_related("collection").annotate(read_before=Exists(former))
    document = documents.get(pk=claim.document_id)
    # All chunks are written in one transaction: where there are some, there are all.
    parsed = document.chunk_count > 0 and document.chunks.exists()
    document.status = Document.Status.EMBEDDING if parsed else Document.Status.PARSING
    document.progress, document.error = document.progress if parsed else 0.0, ""
    Document.objects.filter(pk=document.pk).update(
        status=document.status, progress=document.progress, error="", error_wording=None
    )
    return _Run(claim, report, document, read_before=document.read_before)


async def _is_cut_too_large(run: _Run) -> bool:
    """Cut while its embedding model was away, and now that one reads less. Raises EmbeddingMismatchError."""
    document = run.document
    if run.read_before or not document.chunk_tokens or await document.chunks.filter(indexed=True).aexists():
        return False
    size = await size_of_chunks(document.collection, get_engine().models)
    run.read_before = document.chunk_tokens > size.tokens  # a killed worker may have written some of it
    return run.read_before


# ------------------------------------------------------------------------------------------------ file → chunks
async def _parse(run: _Run) -> None:
    """Raises DocumentUnreadableError, UnsupportedFileError, EmbeddingMismatchError, LeaseLostError."""
    document = run.document
    if not document.file:
        raise DocumentUnreadableError(FILE_GONE)
    size = await size_of_chunks(document.collection, get_engine().models)
    with run.timed("read"):
        try:
            read = await read_file(Path(document.file.path), file_name=document.file_name, size=size)
        except FileNotFoundError as error:
            raise DocumentUnreadableError(FILE_GONE) from error
    run.document, chunks = await sync_to_async(_chunks_store)(run.claim, read)
    if len(chunks) <= embeddings.EMBED_BATCH_SIZE:  # a small document need not be read back
        run.stored = chunks
    run.report(PARSED_SHARE)


@transaction.atomic
def _chunks_store(claim: Claim, read: ReadDocument) -> tuple[Document, list[Chunk]]:
    """The document with its collection as they are now, and its rows. Raises LeaseLostError, Document.DoesNotExist."""
    claim.lease.check()
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.get(pk=claim.document_id)
    rows, parts = rows_of_read(document, read)
    if document.chunk_count:  # cut too large, while the embedding model was not known
        document.chunks.all().delete()
    Chunk.objects.bulk_create(rows, batch_size=DB_BATCH)
    document.parts.all().delete()
    DocumentPart.objects.bulk_create(parts, batch_size=DB_BATCH)
    if (title := clean_line(read.title)) and document.title == PurePosixPath(document.file_name).stem:
        document.title = title[:300]  # the uploader gave no title: the document's own is better than its file name
    document.language, document.summary = read.language, read.summary
    document.page_count = read.page_count
    document.chunk_count, document.chunk_tokens = len(rows), read.chunk_tokens
    document.status = Document.Status.EMBEDDING
    document.progress = PARSED_SHARE
    document.save()
    return document, rows


def rows_of_read(document: Document, read: ReadDocument) -> tuple[list[Chunk], list[DocumentPart]]:
    """What was read as rows, not saved."""
    chunks = [
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
        for chunk in read.chunks
    ]
    return chunks, [DocumentPart(document=document, **asdict(part)) for part in read.parts]


# ------------------------------------------------------------------------------------------------ chunks → index
async def _embed(run: _Run) -> bool:
    """False: chunks are left, and it is another user's turn.

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError, LeaseLostError.
    """
    engine = get_engine()
    space = await space_of(run.document.collection, engine.models)
    while True:
        chunks, last = (run.stored, True) if run.stored else await sync_to_async(_chunks_to_do)(run.claim.document_id)
        run.stored = []
        if chunks:
            await _batch(run, engine, space, chunks, last=last)
        if last and run.read_before:
            await _clear_former_rows(run.claim.document_id, space)
        progress = await _note(run, engine, space, chunks)
        if progress is None:
            await engine.index.delete_document(space, str(run.claim.document_id))
            run.document = await Document.objects.select_related("collection").aget(pk=run.claim.document_id)
            space, run.embedder = await space_of(run.document.collection, engine.models), None
            continue
        run.report(progress)
        if progress == 1.0:
            return True
        lasted_s = time.monotonic() - run.started
        if run.takes_turns and lasted_s > TURN_S and await sync_to_async(others_wait)(claim=run.claim):
            return False


async def _batch(run: _Run, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk], *, last: bool) -> None:
    """Embed, analyse, write. The document's summary goes with its last batch: a write of its own costs a flush.

    Raises as `_embed`.
    """
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
    await run.claim.lease.aensure()
    with run.timed("index"):
        await engine.index.upsert(space, index_rows(document, rows_of, vectors, terms))


async def _note(run: _Run, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk]) -> float | None:
    """Note that these chunks are durably indexed; the progress. None: see `_chunks_flag`.

    Raises LeaseLostError, Document.DoesNotExist.
    """
    try:
        return await sync_to_async(_chunks_flag)(run, chunks, space)
    except Document.DoesNotExist:
        # Deleted while its rows were being written, so they have to be cleared here.
        await engine.index.delete_document(space, str(run.claim.document_id))
        raise


async def _clear_former_rows(document_id: uuid.UUID, space: EmbeddingSpace) -> None:
    """A document read anew may have fewer chunks than before: their rows would only take up room in the results."""
    index = get_engine().index
    chunk_ids = {str(key) async for key in Chunk.objects.filter(document=document_id).values_list("pk", flat=True)}
    chunk_ids |= {
        str(key) async for key in with_summary(Document.objects.filter(pk=document_id)).values_list("pk", flat=True)
    }
    if former := await index.chunk_ids(space, document_id=str(document_id)) - chunk_ids:
        await index.delete_chunks(space, sorted(former))


async def _vectors(run: _Run, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk]) -> Vectors:
    """The stored ones of chunks whose words are still the same, new ones of the others; shape (len(chunks), dim).

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError.
    """
    vectors = await engine.index.vectors(space, [str(chunk.pk) for chunk in chunks if chunk.embedded])
    if lacking := [chunk for chunk in chunks if str(chunk.pk) not in vectors]:
        run.embedder = run.embedder or await embedder_of(space, engine.models)
        fresh = await run.embedder.embed_documents([embedding_text(chunk.document, chunk) for chunk in lacking])
        check_vectors(fresh, space, len(lacking))
        vectors |= {str(chunk.pk): vector for chunk, vector in zip(lacking, fresh, strict=True)}
    return np.stack([vectors[str(chunk.pk)] for chunk in chunks])


def _chunks_to_do(document_id: uuid.UUID) -> tuple[list[Chunk], bool]:
    """The next batch, with the document's metadata as they are now, and whether it is the last one."""
    size = embeddings.EMBED_BATCH_SIZE
    todo = Chunk.objects.filter(document=document_id, indexed=False).select_related("document").order_by("seq")
    chunks = list(todo[: size + 1])
    return chunks[:size], len(chunks) <= size


@transaction.atomic
def _chunks_flag(run: _Run, chunks: Sequence[Chunk], space: EmbeddingSpace) -> float | None:
    """Flag them; with the last one flagged the document is ready. None: its collection was re-embedded meanwhile, and
    the rows are in its former `space`. Raises LeaseLostError, Document.DoesNotExist."""
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.get(pk=run.claim.document_id)
    run.claim.lease.check()
    if (now := collection_space(document.collection)) and now != space:
        return None
    # Edited meanwhile: what was just written is stale, so the same chunks stay to be done; without a new title, their
    # vectors are right all the same.
    if chunks and document.title == (used := chunks[0].document).title:
        current = row_metadata(document) == row_metadata(used)
        Chunk.objects.filter(pk__in=[chunk.pk for chunk in chunks]).update(indexed=current, embedded=True)
    left = Chunk.objects.filter(document=document, indexed=False).count()
    if not left:
        run.timings_ms["total"] = round((time.monotonic() - run.started) * 1000, 1)
        job_finish(claim=run.claim, document=document, timings_ms=run.timings_ms)
        if document_questions_wanted(document):
            transaction.on_commit(partial(questions_queue, document_id=document.pk))
        return 1.0
    progress = round(1 - (1 - PARSED_SHARE) * left / max(left, document.chunk_count), 4)
    Document.objects.filter(pk=document.pk).update(progress=progress)
    return progress
