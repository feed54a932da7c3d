"""Every workflow gives its reader what a cross-encoder, or a model that is asked for scores, puts first."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.engine.values import AnswerOptions
from retrieval.engine.workflows.registry import NAMES
from tests.retrieval.engine.steps.fakes import ask, chunk
from tests.retrieval.engine.workflows.runs import names, run, steps

QUESTION = "What is the deposit for a hall?"
CHUNKS = [
    chunk(number, f"The deposit for hall {number} is EUR {number}00.") for number in range(1, 7)
]
WRITER, SCORES = "Task: WRITE", "You score how well"


class CrossEncoder:
    """Likes the passage about hall 4."""

    name = "cross-encoder"

    async def rerank(self, query: str, texts: Any) -> list[float]:
        return [0.9 if "hall 4" in text else 0.2 for text in texts]


def first_passage(online: Any) -> str:
    writing = next(request.prompt for request in online.chats if WRITER in request.prompt)
    return writing.partition("EUR ")[2][:3]


@pytest.mark.parametrize("workflow", NAMES)
async def test_a_cross_encoder_comes_first_in_every_workflow(online, workflow: str) -> None:
    _, trace, _ = await run(workflow, QUESTION, CHUNKS, reranker=CrossEncoder())
    assert steps(trace, "rerank")[0].detail["reranker"] == "cross-encoder"
    if workflow not in (
        "planned",
        "self_corrective",
    ):  # where a model's scores of each passage stand above it
        assert first_passage(online) == "400"


@pytest.mark.parametrize("workflow", NAMES)
async def test_a_request_may_have_a_model_rerank(online, workflow: str) -> None:
    _, trace, _ = await run(workflow, ask(QUESTION, options=AnswerOptions(rerank=True)), CHUNKS)
    assert steps(trace, "rerank")[0].detail["reranker"] == "test-chat:latest"


@pytest.mark.parametrize(("workflow", "reranks"), [("corrective", False), ("dual_loop", True)])
async def test_by_default_a_model_reranks_in_thorough_alone(
    online, workflow: str, reranks: bool
) -> None:
    _, trace, _ = await run(workflow, QUESTION, CHUNKS)
    assert ("rerank" in names(trace)) == reranks


async def test_in_thorough_scores_and_judgement_are_one_round(online) -> None:
    _, with_scores, _ = await run("dual_loop", QUESTION, CHUNKS)
    _, without, _ = await run(
        "dual_loop", ask(QUESTION, options=AnswerOptions(rerank=False)), CHUNKS
    )
    assert with_scores.usage().llm_calls == without.usage().llm_calls + 1
    assert with_scores.usage().llm_rounds == without.usage().llm_rounds


@pytest.mark.parametrize(
    ("strategy", "order"),
    [("top_first", "100 200 300 400 500 600"), ("sandwich", "100 300 500 600 400 200")],
)
@pytest.mark.parametrize("by", ["option", "setting"])
async def test_passages_stand_in_the_prompt_as_the_strategy_says(
    online, rag_settings, strategy: Any, order: str, by: str
) -> None:
    options = AnswerOptions(position_strategy=strategy if by == "option" else None, rerank=True)
    rag_settings(answer={"position_strategy": strategy if by == "setting" else "top_first"})
    online.reply(match=SCORES, json={"scores": [10, 9, 8, 7, 6, 5]})
    in_one_order = [
        chunk(number, f"The deposit for a hall is EUR {number}00.") for number in range(1, 7)
    ]
    answer, trace, _ = await run("corrective", ask(QUESTION, options=options), in_one_order)
    writing = next(request.prompt for request in online.chats if WRITER in request.prompt)
    assert [part[:3] for part in writing.split("EUR ")[1:]] == order.split()
    assert [source.chunk.text[-4:-1] for source in answer.sources] == [
        "100",
        "200",
        "300",
        "400",
        "500",
        "600",
    ]
    assert ("in the middle" in steps(trace, "order")[-1].summary) == (strategy == "sandwich")
