from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from retrieval.providers.lexical import DIM, SPACE, LexicalEmbedder, embed_texts


def cosine(one: str, two: str) -> float:
    first, second = embed_texts([one, two])
    return float(first @ second)


async def test_vectors_have_the_shape_of_their_space() -> None:
    vectors = await LexicalEmbedder().embed_documents(["tuition refund", "图书馆", "!!!", ""])
    assert vectors.shape == (4, SPACE.dim) == (4, DIM)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


async def test_query_and_document_of_the_same_words_are_the_same() -> None:
    model = LexicalEmbedder()
    document = (await model.embed_documents(["When is tuition refunded?"]))[0]
    assert np.allclose(await model.embed_query("When is tuition refunded?"), document)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("refund of tuition fees", "Tuition fees are refunded within 14 days.", "The library opens at nine."),
        ("accomodation", "Accommodation for students", "Library rules"),  # misspelt
        ("學費退還", "学费退还规定", "图书馆开放时间"),
        ("圖書館開放時間", "图书馆几点开放", "学费退还规定"),
    ],
)
def test_shared_words_are_nearer_than_none(query: str, near: str, far: str) -> None:
    assert cosine(query, near) > cosine(query, far) + 0.1


def test_traditional_and_simplified_are_one_text() -> None:
    assert cosine("學費退還規定", "学费退还规定") == pytest.approx(1)


def test_vectors_do_not_depend_on_the_process() -> None:
    code = "from retrieval.providers.lexical import embed_texts; print(embed_texts(['tuition 学费'])[0].nonzero()[0])"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert len(runs.pop()) > 10
