"""Seed 002's eight criteria in place of one overall score."""

import pytest
from django.conf import settings

from retrieval.steps.judge.judge import Retrieved
from retrieval.steps.judge.judge import judge as judge_passages
from retrieval.steps.schemas import CRITERIA, CriteriaJudgement
from tests.retrieval.steps.fakes import TRUSTED, context, make_tools, scored

QUESTION = "What is the resit fee?"
CANDIDATES = (scored(1, "Students may borrow twelve books."), scored(2, "The resit fee is EUR 55."))
GOOD, POOR, WORST = [9, 10, 9, 10, 8, 10, 10, 10], [1, 0, 0, 0, 0, 1, 5, 9], [0] * 8


@pytest.fixture(autouse=True)
def _by_eight_criteria(rag_settings) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria"})


async def judge(language="en"):
    here = context(make_tools(settings.RAG, judge_records=TRUSTED), language=language)
    return await judge_passages(
        here, Retrieved(question=QUESTION, passages=CANDIDATES, insist=True)
    ), here.run.trace.steps


def reply(*criteria: list[int], verdict: str = "ANSWER") -> dict:
    entries = [{"passage": number, "criteria": given} for number, given in enumerate(criteria, start=1)]
    return {"passages": entries, "verdict": verdict}


async def test_a_passage_gets_the_mean_of_its_criteria_in_one_call(online) -> None:
    online.reply(json=reply(POOR, GOOD))
    assessment, steps = await judge()
    assert len(online.chats) == 1
    assert [candidate.chunk_id for candidate in assessment.candidates] == ["k2", "k1"]
    assert steps[0].detail["given"] == {"k1": pytest.approx(2.0), "k2": pytest.approx(9.5)}
    assert (assessment.verdict, assessment.by_model) == ("ANSWER", True)
    assert steps[0].detail["criteria"]["2"] == dict(zip(CRITERIA, GOOD, strict=True))


@pytest.mark.parametrize(
    ("language", "named"), [("en", "DirectAnswerability: it"), ("zh-hant", "DirectAnswerability（")]
)
async def test_all_eight_are_asked_for_in_the_questions_language(online, language: str, named: str) -> None:
    online.reply(json=reply(POOR, GOOD))
    await judge(language)
    system = online.chats[0].body["messages"][0]["content"]
    assert named in system
    assert all(f"{number}. " in system for number in range(1, 9))
    passages = online.chats[0].body["format"]["properties"]["passages"]
    assert (passages["minItems"], passages["maxItems"]) == (2, 2)
    criteria = passages["items"]["properties"]["criteria"]
    assert (criteria["minItems"], criteria["maxItems"]) == (8, 8)


async def test_a_verdict_must_be_borne_out_by_the_criteria(online) -> None:
    online.reply(json=reply(POOR, WORST))
    assessment, _ = await judge()
    assert assessment.verdict == "REFINE"


@pytest.mark.parametrize("wrong", [{"passages": [], "verdict": "ANSWER"}, {"verdict": "ANSWER"}, {"passages": "x"}])
async def test_without_usable_criteria_the_model_free_grader_serves(online, wrong: dict) -> None:
    online.reply(json=wrong)
    assessment, steps = await judge()
    assert not assessment.by_model
    assert assessment.candidates[0].chunk_id == "k2"
    assert steps[0].status == "degraded"


def test_a_criterion_that_is_missing_is_not_counted_and_a_passage_that_is_has_no_score() -> None:
    judgement = CriteriaJudgement.model_validate(reply([10, 5], [4] * 9))
    assert judgement.scores(3) == [7.5, pytest.approx(4), None]
