"""What the evaluators of written answers share: how far an answer is borne out, by our own check of its statements, and
a model's word about it, where that check is not sure and the word can change what follows.

Evaluators: `planned.answer_check` and `dual_loop.answer_grade`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from statistics import fmean
from typing import Any, TypeVar

from retrieval.steps.judge.blending import blend, why_not_to_ask
from retrieval.steps.judge.evaluator import AnswerAssessment, Evaluator, Opinion, WrittenAnswer
from retrieval.text.numbers import missing_numbers
from retrieval.text.term_coverage import full_text
from retrieval.trace import StepRecord
from retrieval.values import GroundedSentence

Reply = TypeVar("Reply")
ACCEPT = 0.5  # P(the answer is good) from which it is accepted
# P(a statement holds) by what the words say: its passage bears it out, its words are not in the passage (it may be said
# in others), it has a figure that no passage has. One that can't be checked is as likely as that the passages answer.
SUPPORTED, OTHER_WORDS, OTHER_FIGURE = 0.9, 0.35, 0.1


class AnswerEvaluator(Evaluator[WrittenAnswer, AnswerAssessment]):
    async def ask_of_answer(
        self,
        entry: StepRecord,
        given: WrittenAnswer,
        ask: Callable[[], Coroutine[Any, Any, Reply]],
        *,
        said: Callable[[Reply], bool],
    ) -> Opinion[Reply]:
        """P(the answer is good) and the model's reply, where it was worth asking for. See `Evaluator.ask_judge`, with
        ACCEPT as the line; the entry's detail gets `answer_judge` and `blended`, or `not_asked`."""
        probability = await asyncio.to_thread(support, given)
        kind = f"{self.name} answer"
        unasked: Opinion[Reply] = Opinion(probability=probability)

        async def work() -> Opinion[Reply]:
            judge = await self.judge()
            judge = replace(judge, trust=self.tools.judge_tally.trust(judge.model, kind, judge.record))
            if why := why_not_to_ask(probability, judge, line=ACCEPT, band=self.settings.corrective):
                return replace(unasked, judge=judge, why_not=why)
            reply = await ask()
            yes = said(reply)
            self.tools.judge_tally.note(judge.model, kind, probability=probability, said=yes)
            return Opinion(probability=blend(probability, said=yes, judge=judge), reply=reply, judge=judge, said=yes)

        opinion = await self.attempt(entry, work(), fallback=lambda: unasked)
        entry.detail["supported"] = round(probability, 3)
        if opinion.reply is not None and opinion.judge is not None:
            entry.detail |= {
                "answer_judge": opinion.judge.word(opinion.said),
                "blended": round(opinion.probability, 3),
                "by_model": True,
            }
        elif opinion.why_not:
            entry.detail["not_asked"] = opinion.why_not
        return opinion


def support(given: WrittenAnswer) -> float:
    """P(the answer is borne out), 0..1: the mean of its statements'; where it makes none, `given.likely`."""
    answer = given.answer
    known = "\n".join([given.question, *(full_text(source.chunk) for source in answer.sources)])
    return fmean([_of_statement(sentence, known, given.likely) for sentence in answer.grounding] or [given.likely])


def _of_statement(sentence: GroundedSentence, known: str, likely: float) -> float:
    if sentence.supported is None:
        return likely
    if sentence.supported:
        return SUPPORTED
    return OTHER_FIGURE if missing_numbers(sentence.sentence, known) else OTHER_WORDS


def is_baseless(given: WrittenAnswer) -> bool:
    """Whether every statement of the answer was checked, and none is borne out."""
    grounding = given.answer.grounding
    return bool(grounding) and all(sentence.supported is False for sentence in grounding)
