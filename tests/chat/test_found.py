"""How an answer was found: a few lines that anybody understands, out of its decision path."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from chat.labels import AFTER_STEPS, STEPS
from chat.messages.found import found_lines
from retrieval.engine.path_details import DETAILS

RETRIEVE = {"name": "retrieve", "status": "ok", "detail": {"documents": 24}}
NAMED = {
    "name": "assess",
    "status": "ok",
    "detail": {"verdict": "ANSWER", "by_model": True, "named": list("abcdef")},
}


def answer(*path: dict[str, Any], cited: int = 2, read: int = 6, **changes: Any) -> dict[str, Any]:
    sources = [{"cited": number < cited} for number in range(read)]
    return {
        "status": "complete", "decision": "ANSWER", "model": "qwen3:4b", "curated": None, "degraded": [],
        "sources": sources, "decision_path": list(path),
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (answer(RETRIEVE), ["Searched 24 documents · 6 passages read · answered from 2"]),
        (
            answer(RETRIEVE, RETRIEVE, NAMED),
            [
                "Searched 24 documents · 6 passages fit · answered from 2",
                "Asked the model whether they answer · looked again in other words",
            ],
        ),
        (answer(RETRIEVE, model=""), ["Searched 24 documents · 6 passages read · quoted from 2"]),
        (
            answer(
                RETRIEVE, decision="NO_ANSWER", degraded=[{"step": "rerank", "reason": "too late"}]
            ),
            [
                "Searched 24 documents · 6 passages read · none of them answers the question",
                "Not everything worked: Re-rank (too late)",
            ],
        ),
        (
            answer(RETRIEVE, model="", decision="NO_ANSWER", cited=0, read=0),
            ["Searched 24 documents"],
        ),
        (answer(cited=0, read=0), ["Answered without a search"]),
        (answer(RETRIEVE, curated={"by": "ann"}), ["A checked answer"]),
        (
            answer(RETRIEVE, status="stopped", decision=None),
            ["Searched 24 documents · 6 passages read"],
        ),
    ],
)
def test_it_is_told_in_three_lines_at_most(data: dict[str, Any], lines: list[str]) -> None:
    with translation.override("en"):
        assert found_lines(data) == lines


def test_every_step_has_a_name_for_people() -> None:
    assert STEPS.keys() == DETAILS.keys()
    assert AFTER_STEPS.keys() <= STEPS.keys()
