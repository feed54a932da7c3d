"""One short call: which passages answer, and a verdict. Only a model's word refuses or asks back."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.errors import ModelUnavailableError
from retrieval.engine.steps.judge.assessment import Assessment
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.judge.verdict import judge as judge_passages
from retrieval.engine.values import AnswerOptions
from tests.retrieval.engine.steps.fakes import ask, make_tools, scored

QUESTION = "What is the resit fee?"
PASSAGES = (
    scored(1, "Students may borrow twelve books."),
    scored(2, "The resit fee is EUR 55."),
    scored(3, "The library opens at eight."),
)


async def judge(
    passages=PASSAGES, *, reranker: Any = None, **options: Any
) -> tuple[Assessment, list]:
    deps, question = (
        make_tools(settings.RAG, reranker=reranker),
        ask(QUESTION, options=AnswerOptions(**options)),
    )
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
async def test_without_a_usable_word_nothing_is_refused_and_the_path_says_why(
    online, rag_settings, wrong
) -> None:
    rag_settings(ollama={"structured_timeout_s": 0.3})
    online.reply(**wrong)
    assessment, steps = await judge()
    assert assessment.verdict == "REFINE"
    assert steps[-1].status == "degraded"


async def test_by_eight_criteria_a_passage_is_named_by_their_mean(online, rag_settings) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria"})
    criteria = [[1] * 8, [9] * 8, [0] * 8]
    entries = [
        {"passage": number, "criteria": given} for number, given in enumerate(criteria, start=1)
    ]
    online.reply(json={"passages": entries, "verdict": "answer"})
    assessment, _ = await judge()
    assert [one.chunk_id for one in assessment.named] == ["k2"]


# ------------------------------------------------------------------------------------------------ rerank
RERANKED = '"scores"'


def ids(passages: Any) -> list[str]:
    return [passage.chunk_id for passage in passages]


async def reranked(
    passages: Any = PASSAGES, *, by_default: bool = False, reranker: Any = None, **options: Any
) -> tuple[Any, list]:
    deps, question = (
        make_tools(settings.RAG, reranker=reranker),
        ask(QUESTION, options=AnswerOptions(**options)),
    )
    return await rerank(deps, question, passages, by_default=by_default), deps.trace.steps


async def test_a_model_scores_the_passages_and_orders_them(online) -> None:
    online.reply(match=RERANKED, json={"scores": [1, 9, 3]})
    passages, steps = await reranked(rerank=True)
    assert ids(passages) == ["k2", "k3", "k1"]
    assert [passage.scores.rerank for passage in passages] == [0.9, 0.3, 0.1]
    assert steps[0].name == "rerank" and steps[0].detail["reranker"] == "test-chat:latest"


async def test_a_model_is_shown_snippets_of_the_first_candidates_alone(
    online, rag_settings
) -> None:
    rag_settings(rerank={"enabled": True, "max_candidates": 2, "snippet_length": 50})
    online.reply(match=RERANKED, json={"scores": [1, 9]})
    long = scored(1, f"Students may borrow {'very ' * 20} many books.")
    passages, _ = await reranked((long, *PASSAGES[1:]))
    assert ids(passages) == ["k2", "k1", "k3"]
    assert (
        "many books" not in online.chats[0].prompt
        and "opens at eight" not in online.chats[0].prompt
    )
    assert "many books" in passages[1].chunk.text


@pytest.mark.parametrize(
    ("setting", "option", "by_default", "calls"),
    [(None, None, False, 0), (None, None, True, 1), (True, None, False, 1), (False, None, True, 0),
     (True, False, True, 0), (False, True, False, 1)],
)  # fmt: skip
async def test_the_request_says_then_the_setting_then_the_workflow(
    online, rag_settings, setting: Any, option: Any, by_default: bool, calls: int
) -> None:
    rag_settings(rerank={"enabled": setting})
    await reranked(by_default=by_default, rerank=option)
    assert len(online.chats) == calls


@pytest.mark.parametrize(
    "wrong",
    [
        {"json": {"scores": [1, 9]}},
        {"json": {"scores": [1, 9, 70]}},
        {"text": "the second"},
        {"status": 500},
    ],
)
async def test_scores_that_cannot_be_used_leave_the_order_and_the_path_says_so(
    online, wrong: Any
) -> None:
    online.reply(match=RERANKED, **wrong)
    passages, steps = await reranked(rerank=True)
    assert ids(passages) == ["k1", "k2", "k3"]
    assert steps[0].status == "degraded"


@pytest.mark.parametrize(
    ("options", "left"),
    [({"top_n": 2}, ["k2", "k3"]), ({"min_score": 0.3}, ["k2", "k3"]), ({"min_score": 0.95}, ["k2"]),
     ({"min_score": 0.3, "top_n": 1}, ["k2"])],
)  # fmt: skip
@pytest.mark.parametrize("by", ["a model", "a cross-encoder"])
async def test_top_n_and_min_score_leave_out_what_was_scored_low(
    online, by: str, options: Any, left: list
) -> None:
    online.reply(match=RERANKED, json={"scores": [1, 9, 3]})
    reranker = CrossEncoder(0.1, 0.9, 0.3) if by == "a cross-encoder" else None
    passages, steps = await reranked(reranker=reranker, rerank=True, **options)
    assert ids(passages) == left
    assert steps[0].detail["left_out"] == 3 - len(left)
    assert ("none reaches" in steps[0].summary) == (options.get("min_score") == 0.95)


async def test_top_n_and_min_score_are_settings_too(online, rag_settings) -> None:
    rag_settings(rerank={"enabled": True, "top_n": 1, "min_score": 0.2})
    online.reply(match=RERANKED, json={"scores": [1, 9, 3]})
    assert ids((await reranked())[0]) == ["k2"]


def by_criteria(*means: int, verdict: str = "answer") -> dict[str, Any]:
    """Of each passage, of 10."""
    entries = [
        {"passage": number, "criteria": [mean] * 8} for number, mean in enumerate(means, start=1)
    ]
    return {"passages": entries, "verdict": verdict}


async def test_by_eight_criteria_the_good_passages_alone_are_left_the_best_first(
    online, rag_settings
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria", "min_docs": 2})
    online.reply(json=by_criteria(7, 2, 9))
    assessment, steps = await judge()
    assert assessment.verdict == "ANSWER"
    assert [(one.chunk_id, one.scores.rerank) for one in assessment.candidates] == [
        ("k3", 0.9),
        ("k1", 0.7),
    ]
    assert steps[-1].detail["scores"] == {"k1": 0.7, "k2": 0.2, "k3": 0.9}


async def test_by_eight_criteria_fewer_good_passages_than_are_needed_do_not_answer(
    online, rag_settings
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria", "min_docs": 2})
    online.reply(json=by_criteria(7, 2, 5))
    assessment, _ = await judge()
    assert assessment.verdict == "NO_ANSWER"
    assert assessment.reason and assessment.reason.text == "good passages: 1, too few; needed: 2"
    assert [one.chunk_id for one in assessment.candidates] == ["k1", "k3", "k2"]


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
