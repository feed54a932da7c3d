"""Vectors beside the index, by which a lost one is filled without embedding again. Only where RAG_MILVUS_KEEP_VECTORS.

A vector is kept as float16 with a digest of the text and the model that it was made of: it serves for nothing else, so
no edit, move or other model can make a wrong one of it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import IntegrityError
from numpy.typing import NDArray

from retrieval.engine.values import EmbeddingSpace
from retrieval.knowledge.index_sync.rows import embedding_text
from retrieval.models import Chunk, KeptVector

DIGEST_BYTES = 16
STORED_AS = np.dtype("<f2")
Vector = NDArray[np.float32]
logger = logging.getLogger(__name__)


async def kept_vectors(chunks: Sequence[Chunk], space: EmbeddingSpace) -> dict[str, Vector]:
    """By the chunk's id, those that were made of its present text by this model."""
    digests = _digests(chunks, space)
    rows = KeptVector.objects.filter(row_id__in=digests).values_list("row_id", "made_of", "vector")
    return {
        str(row_id): np.frombuffer(bytes(vector), STORED_AS).astype(np.float32)
        async for row_id, made_of, vector in rows
        if bytes(made_of) == digests[str(row_id)]
    }


async def vectors_keep(
    chunks: Sequence[Chunk], space: EmbeddingSpace, vectors: Mapping[str, Any]
) -> None:
    """Store those of `chunks`, by id; in place of what was kept of a former text."""
    digests = _digests(chunks, space)
    rows = [
        KeptVector(
            row_id=chunk.pk,
            document_id=chunk.document_id,
            made_of=digests[str(chunk.pk)],
            vector=np.asarray(vectors[str(chunk.pk)], dtype=STORED_AS).tobytes(),
        )
        for chunk in chunks
    ]
    try:
        await KeptVector.objects.abulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["row_id"],
            update_fields=["document", "made_of", "vector"],
        )
    except (
        IntegrityError
    ):  # a document was deleted meanwhile; the next comparison keeps those of the others
        logger.info("%s vectors were not kept: a document of theirs is gone", len(rows))


def _digests(chunks: Sequence[Chunk], space: EmbeddingSpace) -> dict[str, bytes]:
    """By the chunk's id. `chunk.document` must be loaded."""
    digests = {}
    for chunk in chunks:
        made_of = f"{space.model}\0{space.dim}\0{embedding_text(chunk.document, chunk)}"
        digests[str(chunk.pk)] = hashlib.sha256(made_of.encode()).digest()[:DIGEST_BYTES]
    return digests
