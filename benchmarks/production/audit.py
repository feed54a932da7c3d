"""`python -m benchmarks.production.audit`, in a site's environment: what database and index hold, as JSON.

It is compared with what the site acknowledged (`benchmarks.production.ledger`).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict
from typing import Any

import django


def _rows() -> dict[str, Any]:
    from chat.models import Message
    from feedback.models import Rating
    from retrieval.models import Chunk, Document, DocumentKey

    chunks: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for pk, document, seq in Chunk.objects.values_list("pk", "document_id", "seq"):
        chunks[str(document)].append((str(pk), seq))
    return {
        "documents": {
            str(document.pk): {
                "status": document.status,
                "chunks": chunks[str(document.pk)],
                "summary": bool(document.summary),
            }
            for document in Document.objects.all()
        },
        "messages": {
            str(message.pk): {"role": message.role, "status": message.status, "text": message.text}
            for message in Message.objects.all()
        },
        "ratings": [str(pk) for pk in Rating.objects.values_list("message_id", flat=True)],
        "keys": {key.key: str(key.document_id) for key in DocumentKey.objects.all()},
    }


def _spaces() -> list[tuple[str, int]]:
    from retrieval.models import Collection

    pairs = Collection.objects.exclude(embedding_model="").values_list(
        "embedding_model", "embedding_dim"
    )
    return sorted({(model, dim) for model, dim in pairs if dim})


async def _index(
    spaces: list[tuple[str, int]], documents: list[str]
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The ids of each document's rows as the index gives them, doubled ones twice; and how many rows there are."""
    from pymilvus import AsyncMilvusClient

    from retrieval.compose import close_engine, get_engine
    from retrieval.engine.values import EmbeddingSpace

    index = get_engine().index
    await index.ping()
    client = AsyncMilvusClient(uri=os.environ["MILVUS_AUDIT_URI"])
    rows: dict[str, list[str]] = defaultdict(list)
    counts = {}
    for model, dim in spaces:
        alias = index.alias(EmbeddingSpace(model, dim))  # type: ignore[attr-defined]
        counts[model] = await index.count(EmbeddingSpace(model, dim))
        for start in range(0, len(documents), 20):
            names = ", ".join(f'"{document}"' for document in documents[start : start + 20])
            for row in await client.query(
                alias,
                filter=f"document_id in [{names}]",
                output_fields=["chunk_id", "document_id"],
                limit=10_000,
            ):
                rows[row["document_id"]].append(row["chunk_id"])
    await client.close()
    await close_engine()
    return rows, counts


def audit() -> dict[str, Any]:
    held = _rows()
    rows, counts = asyncio.run(_index(_spaces(), list(held["documents"])))
    missing = doubled = surplus = 0
    for pk, document in held["documents"].items():
        expected = {chunk for chunk, _ in document["chunks"]} | (
            {pk} if document["summary"] else set()
        )
        in_index = Counter(rows.get(pk, []))
        if document["status"] == "ready":
            missing += len(expected - set(in_index))
        surplus += len(set(in_index) - expected)
        doubled += sum(count - 1 for count in in_index.values())
        seqs = [seq for _, seq in document["chunks"]]
        doubled += len(seqs) - len(set(seqs))
        missing += len(set(range(len(set(seqs)))) - set(seqs))
        document["chunks"] = len(seqs)
    held["index"] = {"missing": missing, "doubled": doubled, "surplus": surplus, "rows": counts}
    return held


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    from django.conf import settings

    from ragsite.runtime.milvus_lite import current_uri

    os.environ["MILVUS_AUDIT_URI"] = settings.RAG.milvus.uri or current_uri(settings.DATA_DIR) or ""
    json.dump(audit(), sys.stdout)


if __name__ == "__main__":
    main()
