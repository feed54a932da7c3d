"""The estimate and a model's word as one probability."""

import pytest

from ragsite.core.rag_settings import CorrectiveSettings
from retrieval.errors import ModelOutputError
from retrieval.steps.judge.blending import (
    Judge,
    blend,
    check_named,
    check_scores,
    passage_odds,
    says_yes,
    why_not_to_ask,
)
from retrieval.steps.judge.tally import RECENT_S, JudgeTally
from retrieval.values import JudgeRecord

UNKNOWN = JudgeRecord()
GOOD = JudgeRecord(yes_held=95, no_held=5, yes_absent=5, no_absent=95)
YES_TO_ALL = JudgeRecord(yes_held=500, yes_absent=500)
CONTRARY = JudgeRecord(yes_held=5, no_held=95, yes_absent=95, no_absent=5)
BAND = CorrectiveSettings(sure_score=0.8, hopeless_score=0.15)


def judge(record: JudgeRecord = UNKNOWN, trust: float = 1.0) -> Judge:
    return Judge(model="m", record=record, trust=trust)


def test_a_model_without_a_record_has_the_odds_of_the_prior() -> None:
    assert blend(0.5, said=True, judge=judge()) == pytest.approx(0.7)
    assert blend(0.5, said=False, judge=judge()) == pytest.approx(0.3)


def test_a_word_counts_for_more_the_more_often_it_was_right() -> None:
    assert blend(0.3, said=True, judge=judge(GOOD)) > blend(0.3, said=True, judge=judge())


@pytest.mark.parametrize(("record", "said"), [(YES_TO_ALL, True), (CONTRARY, True), (CONTRARY, False)])
def test_a_judge_that_tells_nothing_or_the_contrary_moves_next_to_nothing(record: JudgeRecord, said: bool) -> None:
    assert blend(0.4, said=said, judge=judge(record)) == pytest.approx(0.4, abs=0.02)


def test_a_judge_that_is_not_trusted_moves_nothing() -> None:
    assert blend(0.4, said=True, judge=judge(GOOD, trust=0.0)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("probability", "record", "reason"),
    [
        (0.8, GOOD, "the estimate is sure: 0.80"),
        (0.14, GOOD, "the estimate is sure that nothing answers: 0.14"),
        (0.79, UNKNOWN, "its word could not change the outcome: 0.79 against 0.60"),
        (0.38, UNKNOWN, "its word could not change the outcome: 0.38 against 0.60"),
        (0.5, YES_TO_ALL, "its word could not change the outcome: 0.50 against 0.60"),
        (0.7, UNKNOWN, ""),
        (0.5, UNKNOWN, ""),
        (0.79, GOOD, ""),
        (0.16, GOOD, ""),
    ],
)
def test_a_model_is_asked_only_where_its_word_can_change_the_outcome(probability, record, reason) -> None:
    assert why_not_to_ask(probability, judge(record), line=0.6, band=BAND) == reason


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([9, None, None, None], "scored 1 of 4"),
        ([9, 1, None, None, None], "scored 2 of 5"),
        ([None], "scored 0 of 1"),
        ([90, 10], "outside 0 to 10"),
        ([-1, 3], "outside 0 to 10"),
        ([9, 9, 9], "the same score, 9"),
        ([0, 0], "the same score, 0"),
    ],
)
def test_a_degenerate_judgement_counts_as_none(scores, problem) -> None:
    with pytest.raises(ModelOutputError, match=problem):
        check_scores(scores)


def test_a_single_passage_and_half_of_several_may_be_judged() -> None:
    check_scores([0])
    check_scores([9, 1, None, None])


@pytest.mark.parametrize(
    ("named", "yes", "problem"),
    [([4], True, "outside 1 to 3"), ([0], False, "outside 1 to 3"), ([], True, "named none"),
     ([3, 1, 2], True, "named every passage, 3 of 3")],
)  # fmt: skip
def test_passages_that_are_named_senselessly_count_as_no_judgement(named, yes, problem) -> None:
    with pytest.raises(ModelOutputError, match=problem):
        check_named(named, 3, yes=yes)


def test_some_of_the_passages_or_both_of_two_or_none_beside_a_no_may_be_named() -> None:
    check_named([1, 1], 3, yes=True)
    check_named([1, 2], 2, yes=True)
    check_named([1], 1, yes=True)
    check_named([], 3, yes=False)
    check_named([2], 3, yes=False)


def test_yes_is_said_by_the_best_score() -> None:
    assert says_yes([0, 6, None])
    assert not says_yes([5, 0, 5])


@pytest.mark.parametrize(
    ("record", "trust", "proven"),
    [(UNKNOWN, 1.0, False), (GOOD, 1.0, True), (GOOD, 0.3, False), (YES_TO_ALL, 1.0, False), (CONTRARY, 1.0, False),
     (JudgeRecord(yes_held=15, no_held=1, yes_absent=4, no_absent=12), 1.0, True),
     (JudgeRecord(yes_held=15, no_held=1, yes_absent=11, no_absent=5), 1.0, False),
     (JudgeRecord(yes_held=16, no_held=0, yes_absent=11, no_absent=5), 1.0, False)],
)  # fmt: skip
def test_a_judge_is_proven_where_labels_have_shown_its_no_to_be_right(record, trust: float, proven: bool) -> None:
    assert judge(record, trust).proven is proven


def test_a_passage_is_moved_by_its_score_and_one_without_a_score_stays() -> None:
    high, middle, low, unscored = passage_odds([0.5, 0.5, 0.5, 0.5], [10, 5, 0, None], judge())
    assert (high, middle, low, unscored) == pytest.approx((0.7, 0.5, 0.3, 0.5))


def test_no_score_lifts_a_hopeless_passage_over_a_likely_one() -> None:
    hopeless, likely = passage_odds([0.05, 0.6], [10, 0], judge())
    assert hopeless < likely


# ------------------------------------------------------------------------------------------------ the running tally
def trust_after(*words: tuple[float, bool], record: JudgeRecord = UNKNOWN, labelled: bool = True) -> float:
    tally = JudgeTally()
    for probability, said in words:
        tally.note("m", "rerank", probability=probability, said=said)
    return tally.trust("m", "rerank", record, labelled=labelled)


def test_a_judge_is_trusted_at_first() -> None:
    assert trust_after() == pytest.approx(0.9)


@pytest.mark.parametrize("said", [True, False])
def test_one_that_says_the_same_whatever_the_estimate_comes_to_weigh_nothing(said: bool) -> None:
    assert trust_after(*[(0.3, said), (0.7, said)] * 10) < 0.01


def test_one_that_says_both_is_trusted() -> None:
    assert trust_after(*[(0.3, False), (0.7, True)] * 10) > 0.99


def test_a_run_of_yes_says_less_where_yes_was_to_be_expected() -> None:
    assert trust_after(*[(0.78, True)] * 4) > trust_after(*[(0.4, True)] * 4)


TRIED = JudgeRecord(yes_held=15, no_held=1, yes_absent=3, no_absent=13)
ALWAYS_YES = JudgeRecord(yes_held=16, yes_absent=16)
ALWAYS_NO = JudgeRecord(no_held=16, no_absent=16)


@pytest.mark.parametrize(("probability", "said"), [(0.75, True), (0.25, False)])
def test_a_run_of_like_questions_leaves_a_judge_its_weight_that_labels_know_to_say_both(probability, said) -> None:
    run = [(probability, said)] * 25
    assert trust_after(*run) < 0.2
    assert trust_after(*run, record=TRIED) > 0.9


def test_labels_of_another_kind_of_judgement_do_not_speak_for_it() -> None:
    assert trust_after(*[(0.75, True)] * 25, record=TRIED, labelled=False) < 0.2


@pytest.mark.parametrize("said", [True, False])
def test_one_that_has_gone_mad_since_it_was_tried_comes_to_weigh_nothing(said: bool) -> None:
    assert trust_after(*[(0.3, said), (0.7, said)] * 20, record=TRIED) < 0.05


@pytest.mark.parametrize("record", [ALWAYS_YES, ALWAYS_NO])
def test_one_that_labels_know_to_say_the_same_is_not_trusted_from_the_first_word_on(record: JudgeRecord) -> None:
    assert trust_after(record=record) < 0.1


def test_what_one_judge_said_in_one_step_does_not_count_for_others() -> None:
    tally = JudgeTally()
    for _ in range(20):
        tally.note("m", "rerank", probability=0.5, said=True)
    assert tally.trust("m", "grade", UNKNOWN) == tally.trust("n", "rerank", UNKNOWN) == pytest.approx(0.9)


def test_a_judge_gets_a_new_chance_after_a_while() -> None:
    now = 0.0
    tally = JudgeTally(clock=lambda: now)
    for _ in range(20):
        tally.note("m", "rerank", probability=0.5, said=True)
    now = RECENT_S + 1.0
    assert tally.trust("m", "rerank", UNKNOWN) == pytest.approx(0.9)
