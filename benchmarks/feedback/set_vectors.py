"""Vectors of a labelled set, kept on disk: by the embedding model of the Ollama server at OLLAMA_BASE_URL, and without
one by the hashed words that a site without a model uses."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.feedback.kept_embeddings import KeptEmbedder, Kind
from ragsite.core.rag_settings import OllamaSettings
from retrieval.engine.providers.registry import ModelRegistry

Vector = NDArray[np.float32]
NO_SERVER = "http://127.0.0.1:9"  # not asked


def embedded(texts: Sequence[str], kind: Kind, cache: Path) -> dict[str, Vector]:
    """text → vector, shape (dim,), unit length. cache: an SQLite file. Raises EmbeddingUnavailableError."""
    return asyncio.run(_embedded(texts, kind, cache))


def has_model() -> bool:
    return "OLLAMA_BASE_URL" in os.environ


async def _embedded(texts: Sequence[str], kind: Kind, cache: Path) -> dict[str, Vector]:
    server = os.environ.get("OLLAMA_BASE_URL", NO_SERVER)
    offline = "0" if has_model() else "1"
    settings = OllamaSettings(base_url=server, offline=offline)
    models = ModelRegistry(settings)
    try:
        embedder = KeptEmbedder(await models.default_embedder(), cache)
        wanted = list(dict.fromkeys(texts))
        embed = embedder.embed_documents if kind == "document" else embedder.embed_queries
        return dict(zip(wanted, await embed(wanted), strict=True)) if wanted else {}
    finally:
        await models.close()
