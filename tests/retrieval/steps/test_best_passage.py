"""The likeliest passage is judged by the probability of the model's yes, where its server tells that."""

import pytest
from django.conf import settings

from ragsite.core.rag_settings import RerankSettings
from retrieval.steps.judge.blending import MOST_SURE, Judge
from retrieval.steps.judge.judge import Retrieved, likeliest
from retrieval.steps.judge.judge import judge as judge_passages
from retrieval.values import JudgeRecord
from tests.retrieval.steps.fakes import TRUSTED, context, make_tools, scored

QUESTION = "What is the resit fee?"
FEE = "The resit fee is EUR 55 for each module."
CANDIDATES = (scored(1, "Students may borrow twelve books."), scored(2, FEE), scored(3, "The gym opens at six."))


@pytest.fixture(autouse=True)
def _telling(online, rag_settings) -> None:
    rag_settings(rerank={"evaluator": "best_passage"})
    online.reply(endpoint="version", body={"version": "0.13.5"})


async def judge(language="en", passages=CANDIDATES):
    here = context(make_tools(settings.RAG, judge_records=TRUSTED), language=language)
    return await judge_passages(
        here, Retrieved(question=QUESTION, passages=passages, insist=True)
    ), here.run.trace.steps


def says(online, yes: float, text: str = "Yes") -> None:
    online.reply(text=text, likeliest={"Yes": yes, "No": 1 - yes})


async def test_only_the_likeliest_passage_is_shown(online) -> None:
    says(online, 0.9)
    _, [rerank, _] = await judge()
    [request] = online.chats
    assert FEE in request.prompt
    assert "twelve books" not in request.prompt
    assert rerank.detail["given"] == {"k2": pytest.approx(9.0)}
    assert rerank.detail["yes"] == pytest.approx(0.9)


@pytest.mark.parametrize(("language", "asked"), [("en", "Yes or No"), ("zh-hans", "是 或 否"), ("zh-hant", "是 或 否")])
async def test_it_is_asked_in_the_questions_language(online, language: str, asked: str) -> None:
    says(online, 0.9)
    await judge(language)
    assert asked in online.chats[0].prompt


async def test_a_surer_word_moves_the_estimate_further(online) -> None:
    blended = []
    for yes in (0.02, 0.4, 0.6, 0.98):
        online.reset()
        online.reply(endpoint="version", body={"version": "0.13.5"})
        says(online, yes)
        assessment, _ = await judge()
        blended.append(assessment.retrieval_score)
    assert blended == sorted(blended)
    assert len(set(blended)) == 4


async def test_a_reply_that_is_neither_leaves_the_estimate(online) -> None:
    online.reply(text="Perhaps", likeliest={"Perhaps": 0.9, "Yes": 0.1})
    assessment, [rerank, _] = await judge()
    assert rerank.status == "degraded"
    assert assessment.retrieval_score == assessment.answerability


async def test_a_server_that_does_not_tell_is_asked_about_all_passages(online) -> None:
    online.reset()
    online.reply(endpoint="version", body={"version": "0.12.0"})
    _, [rerank, _] = await judge()
    assert "relevant_passages" in online.chats[0].body["format"]["properties"]
    assert "yes" not in rerank.detail
    assert rerank.detail["weighed"] is False


async def test_by_default_all_passages_are_judged_in_one_reply(online, rag_settings) -> None:
    rag_settings(rerank={"evaluator": RerankSettings().evaluator})
    await judge()
    assert "relevant_passages" in online.chats[0].body["format"]["properties"]


def test_passages_about_as_likely_are_shown_together() -> None:
    assert likeliest([0.2, 0.8, 0.1, 0.5]) == [1, 3]
    assert likeliest([0.8, 0.8, 0.8, 0.8]) == [0, 1, 2]
    assert likeliest([]) == []


def test_a_word_said_by_a_hair_is_worth_nothing_and_no_word_more_than_its_most() -> None:
    judge = Judge(model="m", record=JudgeRecord())
    assert judge.as_sure_as(0.5).weight_yes == 0.0
    assert judge.as_sure_as(0.999).weight_yes == pytest.approx(MOST_SURE * judge.weight_yes)
