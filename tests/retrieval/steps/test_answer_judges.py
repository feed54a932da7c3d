"""What the judges of written answers go by: our own check first, a model's word where it can change what follows."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.judge.answers import OTHER_FIGURE, OTHER_WORDS, SUPPORTED, support
from retrieval.steps.judge.evaluator import AnswerAssessment, WrittenAnswer
from retrieval.trace import StepRecord
from retrieval.values import Answer, GroundedSentence, Scores, Source
from retrieval.workflows.dual_loop.answer_grade import GradeAnswer
from retrieval.workflows.planned.answer_check import AnswerCheck
from tests.retrieval.steps.fakes import HANDBOOK, context, make_tools

QUESTION = "What is the deposit for a room in Lakeside hall?"
GOOD, OTHER, WRONG = "The deposit is EUR 300.", "Three hundred are put down.", "The deposit is EUR 950."
MODELS = {GradeAnswer: {"score": 9, "missing": "none"}, AnswerCheck: dict.fromkeys(
    ("relevance", "completeness", "factuality"), 9)}  # fmt: skip
both = pytest.mark.parametrize("judge", MODELS)


def written(*sentences: tuple[str, bool | None], likely: float = 0.5) -> WrittenAnswer:
    source = Source(marker=1, chunk=HANDBOOK[2], scores=Scores(), cited=True)
    grounding = tuple(
        GroundedSentence(sentence=text, start=0, end=len(text), supported=supported) for text, supported in sentences
    )
    text = " ".join(text for text, _ in sentences) or "It is so."
    answer = Answer(decision="ANSWER", text=text, model="m", sources=(source,), grounding=grounding)
    return WrittenAnswer(answer=answer, question=QUESTION, likely=likely)


async def judged(judge: Any, given: WrittenAnswer) -> tuple[AnswerAssessment, StepRecord]:
    here = context(make_tools(settings.RAG))
    return await judge(here)(given), here.run.trace.steps[0]


@pytest.mark.parametrize(
    ("sentences", "probability"),
    [([(GOOD, True)], SUPPORTED), ([(OTHER, False)], OTHER_WORDS), ([(WRONG, False)], OTHER_FIGURE),
     ([(GOOD, True), (WRONG, False)], (SUPPORTED + OTHER_FIGURE) / 2), ([("Yes.", None)], 0.7), ([], 0.7)],
)  # fmt: skip
def test_an_answer_is_as_good_as_its_statements_are_borne_out(sentences: Any, probability: float) -> None:
    assert support(written(*sentences, likely=0.7)) == pytest.approx(probability)


@both
async def test_what_our_own_check_is_sure_of_is_not_asked_about(online, judge: Any) -> None:
    good, step = await judged(judge, written((GOOD, True)))
    bad, _ = await judged(judge, written((WRONG, False)))
    assert (good.accepted, bad.accepted) == (True, False)
    assert "sure" in step.detail["not_asked"]
    assert not online.chats


@both
async def test_a_model_is_asked_about_what_is_said_in_other_words(online, judge: Any) -> None:
    online.reply(json=MODELS[judge])
    yes, step = await judged(judge, written((OTHER, False)))
    assert yes.accepted and step.detail["answer_judge"]["said"] == "yes"
    online.reset()
    online.reply(json={name: 0 if value == 9 else value for name, value in MODELS[judge].items()})
    no, _ = await judged(judge, written((OTHER, False)))
    assert not no.accepted


@both
@pytest.mark.parametrize("number", [-1, 11, 0.9])
async def test_a_number_outside_its_scale_is_no_judgement(online, judge: Any, number: float) -> None:
    online.reply(json={name: number if value == 9 else value for name, value in MODELS[judge].items()})
    _, step = await judged(judge, written((OTHER, False)))
    assert step.status == "degraded" and "answer_judge" not in step.detail


async def test_an_answer_that_states_nothing_to_be_checked_is_never_called_baseless(online) -> None:
    online.reply(json=dict.fromkeys(("relevance", "completeness", "factuality"), 0))
    graded, _ = await judged(AnswerCheck, written(("So it is.", None)))
    assert not graded.accepted and not graded.baseless
