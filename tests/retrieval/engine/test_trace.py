"""The decision path: what a step leaves behind, and how rounds are counted."""

from __future__ import annotations

import asyncio

import pytest

from retrieval.engine.model_calls import model_call
from retrieval.engine.reasons import Reason
from retrieval.engine.trace import Trace
from retrieval.engine.usage import ModelCall, longest_chain


def call(started: float, ended: float | None) -> ModelCall:
    return ModelCall(kind="chat", model="m", started_ms=started, ended_ms=ended)


@pytest.mark.parametrize(
    ("spans", "rounds"),
    [
        ([], 0),
        ([(0, 10)], 1),
        ([(0, 10), (1, 9), (2, 12)], 1),
        ([(0, 10), (10, 20), (20, None)], 3),
        ([(0, 100), (0, 10), (10, 20)], 2),
    ],
)
def test_calls_that_overlap_are_one_round(
    spans: list[tuple[float, float | None]], rounds: int
) -> None:
    assert longest_chain([call(*span) for span in spans]) == rounds


def test_calls_begun_after_the_first_token_are_not_counted() -> None:
    assert longest_chain([call(0, 10), call(12, 40), call(41, 50)], until_ms=20) == 2


async def test_a_step_that_fell_back_more_than_once_is_one_entry_with_each_reason_once() -> None:
    trace = Trace()
    for name, reason in (
        ("rewrite", "cut"),
        ("rerank", "cut"),
        ("rewrite", "cut"),
        ("rewrite", "no JSON"),
    ):
        async with trace.step(name) as step:  # type: ignore[arg-type]
            step.degrade(Reason("model_failed", {"error": reason}))
    assert trace.degraded == [
        {"step": "rewrite", "reason": "cut; no JSON"},
        {"step": "rerank", "reason": "cut"},
    ]


async def test_a_model_call_is_filed_under_the_step_whose_task_made_it() -> None:
    trace = Trace()

    async def call(name: str) -> None:
        with model_call(ModelCall(kind="chat", model=name)):
            await asyncio.sleep(0)

    async def one_step(step_name: str) -> None:
        async with trace.step(step_name):  # type: ignore[arg-type]
            await call(step_name)

    await asyncio.gather(one_step("rewrite"), one_step("hyde"))
    assert {step.name: [c.model for c in step.calls] for step in trace.steps} == {
        "rewrite": ["rewrite"],
        "hyde": ["hyde"],
    }
    assert trace.usage().llm_calls == 2
    assert trace.usage().llm_rounds == 1
