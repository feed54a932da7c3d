from __future__ import annotations

from datetime import date

import pytest
from django.conf import settings

from retrieval.steps.judge.assessment import Assessment
from retrieval.workflows.planned.reflect import (
    MOST_SHOWN,
    Findings,
    Reflect,
    Scores,
    choose_remedies,
    diagnose,
    is_outdated,
    outcome_of,
)
from tests.retrieval.steps.fakes import HANDBOOK, context, make_tools, scored

QUESTION = "What is the deposit for a room in Lakeside hall?"
HOUSING = scored(3, HANDBOOK[2].text, title="Student Housing Policy", policy_year=2024)
WIFI = scored(5, HANDBOOK[4].text, title="Campus Wi-Fi Guide")
LOANS = scored(1, HANDBOOK[0].text, title="Library Loan Regulations")


async def reflect(question: str = QUESTION, passages=(HOUSING, WIFI), parts=(), **options):
    here = context(make_tools(settings.RAG))
    result = await Reflect(here)(Findings(question=question, passages=passages, parts=parts, **options))
    return result, here.run.trace


def told(*scores: int, completeness: int = 10, factuality: int = 10):
    return {"scores": scores, "completeness": completeness, "factuality": factuality}


@pytest.mark.parametrize(
    ("relevance", "completeness", "factuality", "outcome"),
    [(0.9, 0.9, 0.9, "pass"), (0.75, 0.9, 0.9, "pass"), (0.7, 0.7, 0.7, "tune"), (0.5, 0.5, 0.5, "tune"),
     (0.4, 0.4, 0.4, "retry"), (0.1, 1.0, 1.0, "retry")],
)  # fmt: skip
def test_the_thresholds_are_the_seeds(relevance, completeness, factuality, outcome) -> None:
    scores = Scores(grades=(), relevance=relevance, completeness=completeness, factuality=factuality)
    assert outcome_of(scores, good_documents=1)[1] == outcome


@pytest.mark.parametrize(
    ("ranked", "scores", "problem", "remedy"),
    [
        ((0.2, 0.1), Scores(grades=(0.2, 0.1), relevance=0.2, completeness=1.0, factuality=1.0), "absent", "web"),
        ((0.7, 0.1), Scores(grades=(0.7, 0.1), relevance=0.7, completeness=1.0, factuality=1.0), "low_relevance",
         "reword"),
        ((0.7, 0.6), Scores(grades=(0.7, 0.6), relevance=0.7, completeness=0.5, factuality=1.0), "incomplete", "widen"),
        ((0.7, 0.1), Scores(grades=(0.1, 0.7), relevance=0.7, completeness=0.7, factuality=1.0), "badly_ordered",
         "rerank"),
        ((0.7, 0.6), Scores(grades=(0.7, 0.6), relevance=0.7, completeness=0.7, factuality=1.0), "low_relevance",
         "reword"),
    ],
)  # fmt: skip
def test_each_sign_of_the_table_has_its_remedy(ranked, scores, problem, remedy) -> None:
    passages = [scored(number, "A room.", rerank=score) for number, score in enumerate(ranked, start=1)]
    problems = diagnose(QUESTION, passages, scores)
    assert problem in problems
    assert remedy in choose_remedies(problems, tried=set(), web=True)


def test_a_remedy_is_tried_once_and_the_web_only_where_it_is_allowed() -> None:
    assert choose_remedies(("absent",), tried=set(), web=False) == ("switch",)
    assert choose_remedies(("absent",), tried={"switch", "reword"}, web=False) == ("widen",)
    assert choose_remedies(("absent", "low_relevance"), tried={"switch"}, web=False) == ("reword",)
    assert choose_remedies(("low_relevance",), tried=set(), web=False, tune=True) == ("widen",)
    assert choose_remedies(("badly_ordered",), tried={"rerank"}, web=True) == ()


async def test_passages_come_back_in_the_order_of_their_scores(online) -> None:
    online.reply(json=told(1, 9))
    result, _trace = await reflect(passages=(WIFI, HOUSING))
    assert [one.chunk_id for one in result.candidates] == ["k3", "k5"]
    assert result.verdict == "ANSWER"


async def test_a_model_that_scores_no_passage_high_has_refused(online) -> None:
    online.reply(json=told(1, 0, completeness=1, factuality=9))
    no, _ = await reflect()
    assert no.refused
    assert no.outcome == "retry"


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"text": "no json"}, {"json": {"scores": []}}, {"json": told()}, {"text": ""},
     {"json": told(90, 10)}, {"json": told(9, 1, completeness=11)},
     {"json": {"scores": [0.9, 0.1], "completeness": 0.9, "factuality": 1.0}}],
)  # fmt: skip
async def test_without_a_usable_reflection_the_estimate_serves_and_refuses_nothing(online, fault) -> None:
    online.reply(**fault)
    result, trace = await reflect()
    assert not result.by_model
    assert trace.degraded[0]["step"] == "reflect"


async def test_a_reply_is_short_whatever_was_found(online) -> None:
    many = [scored(number, f"Note {number} on Lakeside hall and its deposit.") for number in range(1, 11)]
    await reflect(passages=many)
    [request] = online.chats
    scores = request.body["format"]["properties"]["scores"]
    assert scores["minItems"] == scores["maxItems"] <= MOST_SHOWN
    assert request.body["format"]["required"] == ["scores", "completeness", "factuality"]


async def test_offline_what_answers_scores_above_what_does_not(offline) -> None:
    good, _ = await reflect(passages=(HOUSING, WIFI, LOANS))
    bad, _ = await reflect("Who won the football cup last year?", passages=(HOUSING, WIFI, LOANS))
    assert good.score > 0.5 > bad.score
    assert good.completeness > bad.completeness
    assert bad.outcome == "retry"


async def test_offline_every_part_of_a_question_counts(offline) -> None:
    parts = ("deposit Lakeside hall", "Wi-Fi error NLU-E107")
    whole, _ = await reflect("deposit and Wi-Fi error?", (HOUSING, WIFI), parts)
    half, _ = await reflect("deposit and Wi-Fi error?", (HOUSING, LOANS), parts)
    assert whole.completeness > half.completeness


async def test_offline_a_code_that_no_passage_has_costs_factuality(offline) -> None:
    result, _ = await reflect("What does Wi-Fi error NLU-E999 mean?", (WIFI, HOUSING))
    assert result.factuality < 1


async def test_nothing_found_is_worth_nothing_and_costs_no_call(online) -> None:
    result, _ = await reflect(passages=())
    assert (result.score, result.outcome) == (0.0, "retry")
    assert not online.chats


async def test_a_judgement_of_the_plan_is_used_where_it_saw_every_passage(online) -> None:
    judged = Assessment(verdict="ANSWER", score=0.95, candidates=(
        scored(3, HANDBOOK[2].text, rerank=0.95), scored(5, HANDBOOK[4].text, rerank=0.1),
    ))  # fmt: skip
    result, _ = await reflect(judged=judged)
    assert result.relevance == 0.95
    assert not online.chats
    await reflect(passages=(HOUSING, WIFI, LOANS), judged=judged)
    assert len(online.chats) == 1


async def test_a_retry_that_brings_nothing_new_is_not_judged_anew(online) -> None:
    online.reply(json=told(6, 1, completeness=5), times=1)
    online.reply(json=told(0, 6, 1, completeness=5))
    first, _ = await reflect()
    again, _ = await reflect(passages=(WIFI, HOUSING), before=first)
    assert (again.score, again.by_model) == (first.score, True)
    assert len(online.chats) == 1
    later, _ = await reflect(passages=(HOUSING, WIFI, LOANS), before=first)
    assert len(online.chats) == 2
    assert len(later.candidates) == 3
    assert later.verdict == first.verdict == "ANSWER"


@pytest.mark.parametrize(
    ("question", "year", "outdated"),
    [("What did a room cost in 2019?", 2024, True), ("What did a room cost in 2024?", 2024, False),
     ("What does a room cost?", 2001, False), ("What is the latest deposit?", 2001, True),
     ("What is the latest deposit?", date.today().year, False), ("目前押金是多少？", 2001, True)],
)  # fmt: skip
def test_outdated_is_what_is_older_than_the_question_asks_for(question: str, year: int, outdated: bool) -> None:
    assert is_outdated(question, [scored(1, "A room.", policy_year=year)], 3) is outdated
