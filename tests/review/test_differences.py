"""How two answers differ."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.review.replay.differences import answer_differences, source_differences, text_differences

WORDS = st.text(alphabet="ab 图书。\n", max_size=60)


def answer(**fields: Any) -> dict[str, Any]:
    return {
        "status": "complete", "decision": "ANSWER", "workflow": "corrective", "model": "m", "answer": "Ten books.",
        "sources": [], "decision_path": [], "usage": {"total_ms": 5}, "degraded": [], **fields,
    }  # fmt: skip


def source(chunk_id: str, *, document: str = "d", cited: bool = True) -> dict[str, Any]:
    return {"chunk_id": chunk_id, "document_id": document, "title": "T", "cited": cited, "scores": {"final": 0.5}}


@given(WORDS, WORDS)
def test_the_parts_are_both_texts(before: str, after: str) -> None:
    parts = text_differences(before, after)
    assert "".join(part["text"] for part in parts if part["op"] != "added") == before
    assert "".join(part["text"] for part in parts if part["op"] != "removed") == after


def test_chinese_is_compared_by_character() -> None:
    assert text_differences("可借十本书", "可借五本书") == [
        {"op": "same", "text": "可借"}, {"op": "removed", "text": "十"}, {"op": "added", "text": "五"},
        {"op": "same", "text": "本书"},
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["word " * 100_000, "a b\n" * 50_000, "书" * 200_000])
def test_long_texts_are_compared_in_bounded_time(text: str) -> None:
    began = perf_counter()
    text_differences(text, text[::-1])
    assert perf_counter() - began < 3


def test_equal_answers_do_not_differ() -> None:
    one = answer(sources=[source("a")], decision_path=[{"seq": 1, "name": "retrieve", "status": "ok",
                                                        "duration_ms": 3, "summary": ""}])  # fmt: skip
    assert answer_differences(one, one) == []


def test_sources_say_where_they_are_and_how_they_moved() -> None:
    before = answer(sources=[source("a"), source("b"), source("gone")])
    after = answer(sources=[source("new"), source("b"), source("a", cited=False)])
    rows = {row["chunk_id"]: row for row in source_differences(before, after)}
    assert {key: (row["in"], row["moved"]) for key, row in rows.items()} == {
        "new": ("replay", 0), "b": ("both", 0), "a": ("both", -2), "gone": ("original", 0),
    }  # fmt: skip
    assert [row["chunk_id"] for row in rows.values() if not row["changed"]] == ["b"]


def test_a_decision_and_a_step_show() -> None:
    step = {"seq": 1, "name": "retrieve", "status": "ok", "duration_ms": 3, "summary": ""}
    late = {**step, "seq": 2, "name": "rerank", "status": "degraded"}
    found = answer_differences(
        answer(decision_path=[step]),
        answer(decision="NO_ANSWER", decision_path=[step, late]),
    )
    assert [row["kind"] for row in found] == ["decision", "step"]
