"""Which embedding space a collection lives in, the embedder that may write to it, and how large its chunks may be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from django.conf import settings

from ragsite.core.messages import worded
from retrieval.engine.errors import EmbeddingMismatchError
from retrieval.engine.ports import Embedder, Models, Vectors
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.providers.server import canonical
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.index_sync.kept_vectors import kept_vectors, vectors_keep
from retrieval.knowledge.index_sync.rows import embedding_text
from retrieval.knowledge.ingest.chunk_size import ChunkSize, chunk_size
from retrieval.knowledge.scopes import collection_space
from retrieval.models import Chunk, Collection


async def space_of(collection: Collection, models: Models) -> EmbeddingSpace:
    """The collection's, which was read just now; its first document decides which that is.

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, Collection.DoesNotExist.
    """
    if space := collection_space(collection):
        return space
    embedder = await models.default_embedder()
    # Recorded only once it has shown that it works.
    await embedder.embed_documents([collection.name])
    await Collection.objects.filter(pk=collection.pk, embedding_model="").aupdate(
        embedding_model=embedder.space.model,
        embedding_dim=embedder.space.dim,
    )
    await collection.arefresh_from_db()
    return collection_space(collection) or embedder.space


async def size_of_chunks(space: EmbeddingSpace, models: Models) -> ChunkSize:
    """For documents that are cut now, by what the space's model reads of a text."""
    context = await models.context_length(space)
    return chunk_size(
        settings.RAG.ingest, context=min(context, settings.RAG.ollama.num_ctx) if context else None
    )


async def embedder_of(space: EmbeddingSpace, models: Models) -> Embedder:
    """Raises EmbeddingUnavailableError, EmbeddingMismatchError."""
    configured = settings.RAG.ollama.embed_model
    if configured and space != BUILTIN_SPACE and canonical(configured) != canonical(space.model):
        raise EmbeddingMismatchError(
            worded(
                "This collection is embedded by {model}, but {configured} is configured; re-embed the collection, "
                "or configure its model.",
                model=space.model,
                configured=configured,
            )
        )
    return await models.embedder(space)


async def vectors_of(
    chunks: Sequence[Chunk],
    space: EmbeddingSpace,
    index: MilvusIndex,
    *,
    stored: Sequence[Chunk],
    find_embedder: Callable[[], Awaitable[Embedder]],
) -> Vectors:
    """Those in the index of `stored`, of the others those that are kept, and new ones; shape (len(chunks), dim).

    Raises EmbeddingUnavailableError, EmbeddingMismatchError, IndexUnavailableError.
    """
    keeps = settings.RAG.milvus.keep_vectors
    kept = await kept_vectors(chunks, space) if keeps else {}
    vectors = kept | await index.vectors(space, [str(chunk.pk) for chunk in stored])
    if lacking := [chunk for chunk in chunks if str(chunk.pk) not in vectors]:
        embedder = await find_embedder()
        fresh = await embedder.embed_documents(
            [embedding_text(chunk.document, chunk) for chunk in lacking]
        )
        vectors |= {str(chunk.pk): vector for chunk, vector in zip(lacking, fresh, strict=True)}
    if keeps and (unkept := [chunk for chunk in chunks if str(chunk.pk) not in kept]):
        await vectors_keep(unkept, space, vectors)
    return np.stack([vectors[str(chunk.pk)] for chunk in chunks])
