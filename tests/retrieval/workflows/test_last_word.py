"""Whose no ends a search: the estimate's, a judge's that it shares, and a judge's whom labels have proved right."""

import pytest

from ragsite.core.rag_settings import CorrectiveSettings
from retrieval.steps.judge.evaluator import Assessment
from retrieval.workflows.base import is_clearly_not, is_worth_a_try

BAND = CorrectiveSettings(weak_score=0.4)


def assessed(answerability: float, score: float, *, proven: bool = False) -> Assessment:
    return Assessment(verdict="REFINE", answerability=answerability, retrieval_score=score, proven=proven)


@pytest.mark.parametrize("proven", [True, False])
def test_what_is_not_weak_with_the_judges_word_is_worth_a_try(proven: bool) -> None:
    assert is_worth_a_try(assessed(0.7, 0.45, proven=proven), BAND)


@pytest.mark.parametrize("proven", [True, False])
def test_what_the_estimate_finds_weak_is_not(proven: bool) -> None:
    assert not is_worth_a_try(assessed(0.3, 0.3, proven=proven), BAND)


def test_the_no_of_a_judge_of_unknown_worth_needs_a_clear_margin() -> None:
    assert is_worth_a_try(assessed(0.6, 0.3), BAND)
    assert not is_worth_a_try(assessed(0.6, 0.2), BAND)


def test_the_no_of_a_proven_judge_does_not() -> None:
    assert not is_worth_a_try(assessed(0.6, 0.3, proven=True), BAND)


def test_what_documents_differ_in_is_asked_about_though_a_proven_judge_misses_the_answer() -> None:
    assert not is_clearly_not(assessed(0.6, 0.3, proven=True), BAND)
