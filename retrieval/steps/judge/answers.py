"""How far a written answer is borne out, by our own check of its statements.

Used by the judges of answers, `planned.answer_check` and `dual_loop.answer_grade`, where no model gives its word.
"""

from __future__ import annotations

from statistics import fmean

from retrieval.steps.judge.assessment import WrittenAnswer

ACCEPT = 0.5  # the share of borne-out statements from which an answer is accepted


def support(given: WrittenAnswer) -> float:
    """The share of the answer's statements that their passages bear out, 0..1; one that can't be checked counts half,
    and so does an answer that makes none."""
    verdicts = [0.5 if one.supported is None else float(one.supported) for one in given.answer.grounding]
    return fmean(verdicts or [0.5])


def is_baseless(given: WrittenAnswer) -> bool:
    """Whether every statement of the answer was checked, and none is borne out."""
    grounding = given.answer.grounding
    return bool(grounding) and all(sentence.supported is False for sentence in grounding)
