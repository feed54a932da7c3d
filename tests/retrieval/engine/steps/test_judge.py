"""One short call: which passages answer, and a verdict. Only a model's word refuses or asks back."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.errors import ModelUnavailableError
from retrieval.engine.steps.judge import Assessment, rerank
from retrieval.engine.steps.judge import judge as judge_passages
from retrieval.engine.values import AnswerOptions
from tests.retrieval.engine.steps.fakes import ask, make_tools, scored

QUESTION = "What is the resit fee?"
PASSAGES = (
    scored(1, "Students may borrow twelve books."),
    scored(2, "The resit fee is EUR 55."),
    scored(3, "The library opens at eight."),
)


async def judge(passages=PASSAGES, *, reranker: Any = None, **options: Any) -> tuple[Assessment, list]:
    deps, question = make_tools(settings.RAG, reranker=reranker), ask(QUESTION, options=AnswerOptions(**options))
    assessment = await judge_passages(deps, question, await rerank(deps, question, passages))
    return assessment, deps.trace.steps


def reply(verdict: str, *named: int) -> dict[str, Any]:
    return {"relevant_passages": list(named), "verdict": verdict}


async def test_the_passages_that_answer_are_named_and_all_stay_in_their_order(online) -> None:
    online.reply(json=reply("answer", 2))
    assessment, _ = await judge()
    assert [one.chunk_id for one in assessment.named] == ["k2"]
    assert [one.chunk_id for one in assessment.candidates] == ["k1", "k2", "k3"]


@pytest.mark.parametrize(
    "wrong",
    [{"text": "the second one"}, {"json": {"verdict": "MAYBE"}}, {"json": reply("answer", 4)},
     {"json": reply("answer", 0)}, {"json": {"verdict": "no_answer"}}, {"status": 500, "error": "oom"}, {"text": ""},
     {"delay_s": 5}],
)  # fmt: skip
async def test_without_a_usable_word_nothing_is_refused_and_the_path_says_why(online, rag_settings, wrong) -> None:
    rag_settings(ollama={"structured_timeout_s": 0.3})
    online.reply(**wrong)
    assessment, steps = await judge()
    assert assessment.verdict == "REFINE"
    assert steps[-1].status == "degraded"


async def test_by_eight_criteria_a_passage_is_named_by_their_mean(online, rag_settings) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria"})
    criteria = [[1] * 8, [9] * 8, [0] * 8]
    entries = [{"passage": number, "criteria": given} for number, given in enumerate(criteria, start=1)]
    online.reply(json={"passages": entries, "verdict": "answer"})
    assessment, _ = await judge()
    assert [one.chunk_id for one in assessment.named] == ["k2"]


class CrossEncoder:
    name = "cross-encoder"

    def __init__(self, *scores: float, fails: bool = False) -> None:
        self.scores, self.fails = list(scores), fails

    async def rerank(self, query: str, texts: Any) -> list[float]:
        if self.fails:
            raise ModelUnavailableError("the rerank server is away")
        return self.scores


async def test_a_cross_encoder_orders_the_passages_and_is_the_estimate(online) -> None:
    assessment, steps = await judge(reranker=CrossEncoder(0.1, 0.9, 0.2))
    assert steps[0].name == "rerank"
    assert [one.chunk_id for one in assessment.candidates] == ["k2", "k3", "k1"]


async def test_a_cross_encoder_that_fails_leaves_the_order_and_the_path_says_so(online) -> None:
    online.reply(json=reply("answer", 2))
    assessment, steps = await judge(reranker=CrossEncoder(fails=True))
    assert [one.chunk_id for one in assessment.candidates] == ["k1", "k2", "k3"]
    assert steps[0].status == "degraded"
    assert assessment.verdict == "ANSWER"
