"""Brings one document into the index: parse, chunk, embed, write; each stage can be taken up where it broke off.

    claim the job ─► read  ─► all chunks in one transaction ─► per batch: embed ─► index.upsert ─► flag ─► ready
                              (ids follow from document and seq: doing it twice writes the same rows;
                               where only metadata changed, the stored vectors are taken)

A worker that is killed leaves a lease that runs out, and flags that tell the next one which chunks are still to do.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import PurePosixPath
from typing import Literal

import numpy as np
from asgiref.sync import sync_to_async
from django.db import transaction

from ragsite.core import metrics
from ragsite.core.errors import UnsupportedFileError
from ragsite.core.leases import LeaseLostError, hold
from ragsite.core.messages import worded
from ragsite.core.storage import is_full, is_lack_of_room
from ragsite.core.text import clean_line
from ragsite.core.uploads import UploadsAwayError, local_copy
from retrieval.compose import Engine, get_engine
from retrieval.engine.errors import (
    DocumentUnreadableError,
    EmbeddingMismatchError,
    EmbeddingUnavailableError,
    IndexUnavailableError,
)
from retrieval.engine.ports import Vectors
from retrieval.engine.providers import embeddings
from retrieval.engine.values import SUMMARY_SEQ, EmbeddingSpace
from retrieval.knowledge.index_sync.embedding_space import (
    embedder_of,
    size_of_chunks,
    space_of,
    vectors_of,
)
from retrieval.knowledge.index_sync.rows import index_rows, row_metadata, summary_chunk
from retrieval.knowledge.ingest.read_document import ReadDocument
from retrieval.knowledge.ingest.reader import read_file
from retrieval.knowledge.scopes import collection_space
from retrieval.knowledge.services.collections import collection_touch
from retrieval.knowledge.services.documents import document_supersede
from retrieval.knowledge.services.ingest_jobs import (
    DISK_FULL,
    JobClaim,
    job_claim,
    job_claim_next,
    job_fail,
    job_finish,
    job_give_back,
    job_wait,
)
from retrieval.knowledge.term_search import stored_terms
from retrieval.models import Chunk, Collection, Document, DocumentPart, IngestJob

logger = logging.getLogger(__name__)
IngestOutcome = Literal["ready", "failed", "waiting", "busy"]
PARSED_SHARE = 0.1  # of the progress, when all chunks are known
DB_BATCH = 500
WRITE_BATCH = 128  # chunks written together: each write waits for the space's writer lease, and Milvus Lite flushes it
WRITE_AFTER_S = 10.0  # … or what a slow model has embedded by then: no more is done again if the worker is killed
FILE_GONE = worded("The stored file is gone; upload it again.")


async def document_ingest(document_id: uuid.UUID | str) -> IngestOutcome:
    """Work on the document's open job until it is ready, failed, or has to wait for a server.

    busy: another worker holds it, or there is nothing to do.
    """
    claim = await sync_to_async(job_claim)(document_id=document_id)
    if claim is None:
        failed = await Document.objects.filter(
            pk=document_id, status=Document.Status.FAILED
        ).aexists()
        return "failed" if failed else "busy"
    return await _counted(claim)


async def ingest_take_next() -> IngestOutcome | Literal["idle"]:
    """The same with the job whose turn it is. idle: no job waits, or its user has enough documents being read."""
    claim = await sync_to_async(job_claim_next)()
    return await _counted(claim) if claim else "idle"


async def _counted(claim: JobClaim) -> IngestOutcome:
    outcome = await _ingest(claim)
    metrics.ingest_documents.labels(outcome).inc()
    return outcome


async def _ingest(claim: JobClaim) -> IngestOutcome:
    try:
        async with hold(claim.lease):
            return await _work(claim)
    except (LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist):
        logger.info("Document %s: taken over by another worker, or deleted", claim.document_id)
        return "busy"
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(job_give_back)(claim=claim, counted=False))
        raise
    except (
        Exception
    ) as error:  # a worker's outermost loop: one odd document must not stop the others
        if is_lack_of_room(error):
            waits = await sync_to_async(job_wait)(claim=claim, reason=DISK_FULL)
            return "waiting" if waits else "failed"
        logger.exception("Document %s: ingest broke off", claim.document_id)
        reason = worded(
            "An unexpected error ({kind}); the log has the details.", kind=type(error).__name__
        )
        await sync_to_async(job_give_back)(claim=claim, reason=reason)
        return "waiting"


async def _work(claim: JobClaim) -> IngestOutcome:
    """Raises LeaseLostError, Document.DoesNotExist, Collection.DoesNotExist."""
    document = await sync_to_async(_begin)(claim)
    try:
        space = await space_of(document.collection, get_engine().models)
        if document.status == Document.Status.PARSING:
            await _parse(claim, document, space)
        await _embed(claim, space)
    except (DocumentUnreadableError, UnsupportedFileError, EmbeddingMismatchError) as error:
        await sync_to_async(job_fail)(claim=claim, reason=error.message)
        return "failed"
    except (EmbeddingUnavailableError, IndexUnavailableError, UploadsAwayError) as error:
        reason = DISK_FULL if await asyncio.to_thread(is_full) else error.message
        waits = await sync_to_async(job_wait)(claim=claim, reason=reason)
        return "waiting" if waits else "failed"
    return "ready"


@transaction.atomic
def _begin(claim: JobClaim) -> Document:
    """The document; its status says what is to do: PARSING or EMBEDDING."""
    document = Document.objects.select_related("collection").get(pk=claim.document_id)
    # All chunks are written in one transaction: where there are some, there are all.
    parsed = document.chunk_count > 0 and document.chunks.exists()
    document.status = Document.Status.EMBEDDING if parsed else Document.Status.PARSING
    document.progress = document.progress if parsed else 0.0
    document.error = ""
    Document.objects.filter(pk=document.pk).update(
        status=document.status, progress=document.progress, error="", error_wording=None
    )
    return document


# ------------------------------------------------------------------------------------------------ file → chunks
async def _parse(claim: JobClaim, document: Document, space: EmbeddingSpace) -> None:
    """Raises DocumentUnreadableError, UnsupportedFileError, EmbeddingUnavailableError, EmbeddingMismatchError,
    IndexUnavailableError, UploadsAwayError, LeaseLostError."""
    if not document.file:
        raise DocumentUnreadableError(FILE_GONE)
    models = get_engine().models
    await embedder_of(space, models)  # one that is away could not say how much of a text it reads
    size = await size_of_chunks(space, models)
    try:
        async with local_copy(document.file) as path:
            with metrics.ingest_stages.labels("read").time():
                read = await read_file(path, file_name=document.file_name, size=size)
    except FileNotFoundError as error:
        raise DocumentUnreadableError(FILE_GONE) from error
    if await IngestJob.objects.filter(document=document.pk).exclude(pk=claim.lease.pk).aexists():
        # It was read before, perhaps into more chunks: rows of former ones would only take up room in the results.
        await get_engine().index.delete_document(space, str(document.pk))
    with metrics.ingest_stages.labels("store").time():
        await sync_to_async(_chunks_store)(claim, read)


@transaction.atomic
def _chunks_store(claim: JobClaim, read: ReadDocument) -> None:
    """Raises LeaseLostError, Document.DoesNotExist."""
    claim.lease.check()
    document = Document.objects.select_for_update().get(pk=claim.document_id)
    rows, parts = rows_of_read(document, read)
    Chunk.objects.bulk_create(rows, batch_size=DB_BATCH)
    document.parts.all().delete()
    DocumentPart.objects.bulk_create(parts, batch_size=DB_BATCH)
    if (title := clean_line(read.title)) and document.title == PurePosixPath(
        document.file_name
    ).stem:
        document.title = title[
            :300
        ]  # the uploader gave no title: the document's own is better than its file name
    document.language = read.language
    document.summary = read.summary
    document.page_count = read.page_count
    document.word_count = read.word_count
    document.unread = [sentence.wording for sentence in read.unread]
    document.chunk_count = len(rows)
    document.status = Document.Status.EMBEDDING
    document.progress = PARSED_SHARE
    document.save()


def rows_of_read(document: Document, read: ReadDocument) -> tuple[list[Chunk], list[DocumentPart]]:
    """What was read as rows, not saved."""
    chunks = [
        Chunk(id=uuid.uuid5(document.pk, str(chunk.seq)), document=document, **asdict(chunk))
        for chunk in read.chunks
    ]
    return chunks, [DocumentPart(document=document, **asdict(part)) for part in read.parts]


# ------------------------------------------------------------------------------------------------ chunks → index
async def _embed(claim: JobClaim, space: EmbeddingSpace) -> None:
    """Until every chunk is indexed.

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError, LeaseLostError.
    """
    engine = get_engine()
    document_id = claim.document_id
    progress: float | None = 0.0
    while progress != 1.0:
        chunks, last = await sync_to_async(_chunks_to_do)(document_id)
        if chunks:
            chunks = await _batch(claim, engine, space, chunks, last=last)
        try:
            progress = await sync_to_async(_chunks_flag)(claim, chunks, space)
        except (
            Document.DoesNotExist
        ):  # deleted while its rows were being written, so they have to be cleared here
            await engine.index.delete_document(space, str(document_id))
            raise
        if progress is None:
            await engine.index.delete_document(space, str(document_id))
            document = await Document.objects.select_related("collection").aget(pk=document_id)
            space = await space_of(document.collection, engine.models)


async def _batch(
    claim: JobClaim, engine: Engine, space: EmbeddingSpace, chunks: Sequence[Chunk], *, last: bool
) -> list[Chunk]:
    """Embed, analyse, write; the chunks that were: all of them, or the first ones where the model is slow.

    The document's summary goes with its last batch: a write of its own costs a flush. Raises as `_embed`.
    """
    document = chunks[0].document
    members = list(chunks)
    if last and document.summary:  # first, so that it is written whenever the last chunk is
        members.insert(0, summary_chunk(document, embedded=chunks[0].embedded))
    with metrics.ingest_stages.labels("embed").time():
        vectors = await _vectors_in_time(engine, space, members)
    members = members[: len(vectors)]
    with metrics.ingest_stages.labels("analyse").time():
        rows = await asyncio.to_thread(index_rows, members, vectors)
    written = []
    for member, row in zip(members, rows, strict=True):
        if member.seq > SUMMARY_SEQ:
            member.terms = stored_terms(row.terms)
            written.append(member)
    await claim.lease.aensure()
    with metrics.ingest_stages.labels("write").time():
        await engine.index.upsert(space, rows)
    metrics.ingest_chunks.inc(len(written))
    return written


async def _vectors_in_time(
    engine: Engine, space: EmbeddingSpace, members: Sequence[Chunk]
) -> Vectors:
    """Of the first members, at least two where there are two: as many as are embedded within WRITE_AFTER_S."""
    now = asyncio.get_running_loop().time
    deadline = now() + WRITE_AFTER_S
    size = max(2, embeddings.EMBED_BATCH_SIZE)
    parts = []
    for start in range(0, len(members), size):
        part = members[start : start + size]
        stored = [chunk for chunk in part if chunk.embedded]  # their words are still the same
        embedder = partial(embedder_of, space, engine.models)
        parts.append(
            await vectors_of(part, space, engine.index, stored=stored, find_embedder=embedder)
        )
        if now() > deadline:
            break
    return np.concatenate(parts)


def _chunks_to_do(document_id: uuid.UUID) -> tuple[list[Chunk], bool]:
    """The next batch, with the document's metadata as they are now, and whether it is the last one."""
    size = WRITE_BATCH
    todo = (
        Chunk.objects.filter(document=document_id, indexed=False)
        .select_related("document")
        .order_by("seq")
    )
    chunks = list(todo[: size + 1])
    return chunks[:size], len(chunks) <= size


@transaction.atomic
def _chunks_flag(claim: JobClaim, chunks: Sequence[Chunk], space: EmbeddingSpace) -> float | None:
    """Flag them as durably indexed; with the last one flagged the document is ready. The progress; None: its collection
    was re-embedded meanwhile, and the rows are in its former `space`. Raises LeaseLostError, Document.DoesNotExist."""
    documents = Document.objects.select_for_update(of=("self",)).select_related("collection")
    document = documents.get(pk=claim.document_id)
    claim.lease.check()
    if (now := collection_space(document.collection)) and now != space:
        return None
    # Edited meanwhile: what was just written is stale, so the same chunks stay to be done; without a new title, their
    # vectors are right all the same.
    if chunks and document.title == (used := chunks[0].document).title:
        current = row_metadata(document) == row_metadata(used)
        Chunk.objects.bulk_update(chunks, ["terms"])
        Chunk.objects.filter(pk__in=[chunk.pk for chunk in chunks]).update(
            indexed=current, embedded=True
        )
    left = Chunk.objects.filter(document=document, indexed=False).count()
    if left:
        progress = round(1 - (1 - PARSED_SHARE) * left / max(left, document.chunk_count), 4)
        Document.objects.filter(pk=document.pk).update(progress=progress)
        return progress
    _former_vectors_delete(document)
    job_finish(claim=claim, document=document)
    if document.replaces_id is not None:
        document_supersede(document_id=document.replaces_id, by_id=document.uploaded_by_id)
    collection_touch(collection_id=document.collection_id)
    return 1.0


def _former_vectors_delete(document: Document) -> None:
    """Those that were kept of chunks that it no longer has."""
    present = document.chunks.values("pk")
    document.kept_vectors.exclude(row_id__in=present).exclude(row_id=document.pk).delete()
