"""The embedding model that needs no server."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest

from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers import builtin
from retrieval.engine.providers.builtin import BUILTIN_SPACE, BuiltinEmbedder, embed_texts


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (
            "refund of tuition fees",
            "Tuition fees are refunded within 14 days.",
            "The library opens at nine.",
        ),
        (
            "can I leave my car here",
            "Parking behind the building costs 2 euros.",
            "Books are lent for four weeks.",
        ),
        ("学费能退吗", "学费退还规定", "图书馆开放时间"),
        (
            "Wann öffnet die Bücherei?",
            "The library opens at nine.",
            "Tuition fees are refunded within 14 days.",
        ),
        (
            "图书馆几点开门",
            "The library opens at nine.",
            "Tuition fees are refunded within 14 days.",
        ),
    ],
)
def test_what_means_the_same_is_nearer(query: str, near: str, far: str) -> None:
    asked, close, distant = embed_texts([query, near, far])
    assert asked @ close > asked @ distant + 0.1


def test_both_scripts_of_chinese_have_one_vector() -> None:
    traditional, simplified = embed_texts(["圖書館開放時間", "图书馆开放时间"])
    assert np.allclose(traditional, simplified, atol=1e-6)  # a place in a batch rounds otherwise


@pytest.mark.parametrize("text", ["", " ", "\ud800", "a\0b", "x" * 5_000, "😀", "pass\u200bword"])
def test_every_text_has_a_direction(text: str) -> None:
    [vector] = embed_texts([text])
    assert vector.shape == (BUILTIN_SPACE.dim,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)


async def test_queries_and_documents_are_embedded_alike_and_in_order() -> None:
    embedder = BuiltinEmbedder()
    documents = await embedder.embed_documents(["loans", "fees"])
    queries = await embedder.embed_queries(["fees"])
    assert np.allclose(queries[0], documents[1], atol=1e-5)
    assert (await embedder.embed_documents([])).shape == (0, BUILTIN_SPACE.dim)


async def test_the_event_loop_goes_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, let_go = threading.Event(), threading.Event()

    class Slow:
        def encode(self, texts: list[str]) -> np.ndarray:
            begun.set()
            assert let_go.wait(10)
            return np.ones((len(texts), BUILTIN_SPACE.dim), dtype=np.float32)

    monkeypatch.setattr(builtin, "_load", Slow)
    embedding = asyncio.create_task(BuiltinEmbedder().embed_queries(["loans"]))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    let_go.set()
    assert len(await embedding) == 1


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "resources").mkdir()
    for name in builtin.FILES:
        (tmp_path / "resources" / name).write_bytes(b"other weights")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    builtin._load.cache_clear()
    with pytest.raises(EmbeddingUnavailableError, match="is not the one that this site knows"):
        embed_texts(["loans"])
