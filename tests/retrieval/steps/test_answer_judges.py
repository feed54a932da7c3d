"""The judges of written answers: a model's word; without one, our own check of the statements."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.judge.assessment import AnswerAssessment, WrittenAnswer
from retrieval.trace import StepRecord
from retrieval.values import Answer, GroundedSentence, Scores, Source
from retrieval.workflows.dual_loop.answer_grade import GradeAnswer
from retrieval.workflows.planned.answer_check import AnswerCheck
from tests.retrieval.steps.fakes import HANDBOOK, context, make_tools

QUESTION = "What is the deposit for a room in Lakeside hall?"
GOOD, OTHER = "The deposit is EUR 300.", "Three hundred are put down."
MODELS = {GradeAnswer: {"score": 9, "missing": "none"}, AnswerCheck: dict.fromkeys(
    ("relevance", "completeness", "factuality"), 9)}  # fmt: skip
both = pytest.mark.parametrize("judge", MODELS)


def written(*sentences: tuple[str, bool | None], model: str = "m") -> WrittenAnswer:
    source = Source(marker=1, chunk=HANDBOOK[2], scores=Scores(), cited=True)
    grounding = tuple(
        GroundedSentence(sentence=text, start=0, end=len(text), supported=supported) for text, supported in sentences
    )
    text = " ".join(text for text, _ in sentences) or "It is so."
    answer = Answer(decision="ANSWER", text=text, model=model, sources=(source,), grounding=grounding)
    return WrittenAnswer(answer=answer, question=QUESTION)


async def judged(judge: Any, given: WrittenAnswer) -> tuple[AnswerAssessment, StepRecord]:
    here = context(make_tools(settings.RAG))
    return await judge(here)(given), here.run.trace.steps[0]


@both
async def test_the_models_word_decides(online, judge: Any) -> None:
    online.reply(json=MODELS[judge])
    yes, _ = await judged(judge, written((OTHER, False)))
    online.reset()
    online.reply(json={name: 0 if value == 9 else value for name, value in MODELS[judge].items()})
    no, _ = await judged(judge, written((GOOD, True)))
    assert (yes.accepted, no.accepted) == (True, False)


@both
@pytest.mark.parametrize("number", [-1, 11, 0.9])
async def test_a_number_outside_its_scale_is_no_judgement(online, judge: Any, number: float) -> None:
    online.reply(json={name: number if value == 9 else value for name, value in MODELS[judge].items()})
    graded, step = await judged(judge, written((GOOD, True)))
    assert step.status == "degraded"
    assert graded.accepted


@both
async def test_without_a_word_what_is_borne_out_is_accepted_and_what_is_not_is_not(online, judge: Any) -> None:
    online.reply(status=500, error="oom")
    good, _ = await judged(judge, written((GOOD, True)))
    bad, _ = await judged(judge, written((OTHER, False)))
    assert (good.accepted, bad.accepted) == (True, False)


@both
async def test_what_no_model_wrote_is_judged_by_none(online, judge: Any) -> None:
    graded, _ = await judged(judge, written((GOOD, None), model=""))
    assert graded.accepted
    assert not online.chats


async def test_an_answer_that_states_nothing_to_be_checked_is_never_called_baseless(online) -> None:
    online.reply(json=dict.fromkeys(("relevance", "completeness", "factuality"), 0))
    graded, _ = await judged(AnswerCheck, written(("So it is.", None)))
    assert not graded.accepted and not graded.baseless
