"""Is what was found enough? The estimate, blended with a model's word."""

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.judge.evaluator import Assessment, Evidence
from retrieval.steps.judge.sufficiency import RelevanceEvaluator
from tests.retrieval.steps.fakes import TRUSTED, context, make_tools, scored

QUESTION = "What is the resit fee?"
PASSAGES = (scored(1, "Students may borrow twelve books."), scored(2, "The resit fee is EUR 55."))


async def evaluate(passages=PASSAGES, *, records: Any = TRUSTED, **how: Any) -> tuple[Assessment, Any]:
    """Asks the model, whose word decides, unless told otherwise."""
    here = context(make_tools(settings.RAG, judge_records=records))
    evidence = Evidence(question=QUESTION, passages=passages, **{"insist": True, **how})
    return await RelevanceEvaluator(here, 5)(evidence), here.run.trace.steps[0]


@pytest.mark.parametrize(("said", "verdict"), [("SUFFICIENT", "ANSWER"), ("INSUFFICIENT", "REFINE")])
async def test_the_models_word_moves_the_estimate(online, said: str, verdict: str) -> None:
    online.reply(json={"verdict": said, "missing": "the amount"})
    assessment, entry = await evaluate()
    assert assessment.verdict == verdict
    assert assessment.missing == ("" if said == "SUFFICIENT" else "the amount")
    assert (assessment.retrieval_score > assessment.answerability) == (said == "SUFFICIENT")
    assert entry.detail["judge"]["said"] == ("yes" if said == "SUFFICIENT" else "no")
    assert entry.detail["holds_answer"] == pytest.approx(assessment.answerability, abs=0.001)


@pytest.mark.parametrize("nothing", ["none", "None.", "-", "", "无"])
async def test_nothing_missing_is_no_search_word(online, nothing: str) -> None:
    online.reply(json={"verdict": "INSUFFICIENT", "missing": nothing})
    assessment, _ = await evaluate()
    assert assessment.missing == ""


async def test_an_unknown_models_word_moves_it_by_no_more_than_the_prior(online) -> None:
    online.reply(json={"verdict": "INSUFFICIENT", "missing": "none"})
    unknown, _ = await evaluate(records=None)
    known, _ = await evaluate()
    assert known.retrieval_score < unknown.retrieval_score < unknown.answerability


async def test_a_sure_estimate_asks_nobody(online, rag_settings) -> None:
    rag_settings(corrective={"sure_score": 0.0, "hopeless_score": 0.0, "good_score": 0.0, "weak_score": 0.0})
    assessment, entry = await evaluate(insist=False)
    assert assessment.verdict == "ANSWER"
    assert entry.detail["not_asked"].startswith("the estimate is sure: ")
    assert entry.status == "ok"
    assert not online.chats


async def test_nothing_found_is_not_enough_and_asks_nobody(online) -> None:
    assessment, _ = await evaluate(())
    assert (assessment.verdict, assessment.reason) == ("REFINE", "nothing was found")
    assert not online.chats


async def test_what_is_no_verdict_leaves_the_estimate(online) -> None:
    online.reply(text="enough, I think")
    assessment, entry = await evaluate()
    assert assessment.retrieval_score == assessment.answerability
    assert entry.status == "degraded"
