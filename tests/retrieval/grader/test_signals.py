import math
from dataclasses import replace

import numpy as np
import pytest

from retrieval.answerability.signals import LIST_SIGNALS, PASSAGE_SIGNALS, list_signals, passage_signals, read_pool
from retrieval.values import Scores
from tests.retrieval.grader.lists import PASSAGES, scored


def signal(name: str, question: str, rows=PASSAGES, **options) -> list[float]:
    return passage_signals(read_pool(question, scored(rows), **options))[:, PASSAGE_SIGNALS.index(name)].tolist()


def test_coverage_is_whole_for_the_passage_that_holds_every_term() -> None:
    coverage = signal("coverage", "May undergraduates borrow books?")
    assert coverage[0] == 1.0
    assert max(coverage[1:]) < 0.5  # "booked" meets "books"


def test_a_number_of_the_question_that_is_absent_is_noticed() -> None:
    assert signal("numbers_missing", "What costs 60 euros?")[:3] == [1.0, 1.0, 0.0]


def test_a_question_for_a_date_does_not_fit_a_passage_without_one() -> None:
    rows = (("", "The bridge opened in 1931.", 0.5, 2.0), ("", "The bridge is long.", 0.5, 2.0))
    assert signal("unfit", "When did the bridge open?", rows) == [0.0, 1.0]


def test_neighbours_in_the_question_count_when_they_are_neighbours_in_a_sentence() -> None:
    rows = (
        ("", "The oil crisis began early.", 0.5, 2.0),
        ("", "Crisis came to many towns in the long winter before anybody had found oil.", 0.5, 2.0),
    )
    near = signal("near", "oil crisis", rows)
    assert near == [1.0, 0.0]


def test_both_legs_agree_on_the_first() -> None:
    assert signal("agreement", "borrow books") == pytest.approx([1, 1 / 4, 1 / 9, 1 / 16])


def test_lexical_vectors_are_left_out() -> None:
    pool = read_pool("borrow books", scored(PASSAGES), semantic=False)
    assert not pool.has_vectors
    assert not pool.dense.any()


def test_where_bm25_found_one_passage_alone_it_stands_as_far_ahead_as_it_is() -> None:
    rows = (
        ("", "An ultrasound costs 95 euros.", None, 4.4),
        ("", "Dogs are kept on a lead.", None, None),
        ("", "Post leaves at nine.", None, None),
    )
    exact = tuple((head, text, dense, bm25 or 0.0) for head, text, dense, bm25 in rows)
    for name in ("bm25_gap", "bm25_share", "bm25_rank"):
        assert signal(name, "How much is an ultrasound?", rows) == signal(name, "How much is an ultrasound?", exact)
    assert signal("bm25_gap", "How much is an ultrasound?", rows)[0] == 1.0


def test_a_candidate_that_a_leg_did_not_find_scores_like_its_last() -> None:
    candidates = scored(PASSAGES)
    candidates[0] = replace(candidates[0], scores=Scores(dense=None, bm25=9.1))
    assert read_pool("borrow books", candidates).dense[0] == pytest.approx(0.08)


def test_every_signal_is_finite_for_a_single_empty_passage() -> None:
    pool = read_pool("borrow books", scored((("", "", None, 0.0),)))
    signals = passage_signals(pool)
    whole = list_signals(pool, signals, np.array([0.0]))
    assert signals.shape == (1, len(PASSAGE_SIGNALS))
    assert whole.shape == (len(LIST_SIGNALS),)
    assert np.isfinite(signals).all()
    assert np.isfinite(whole).all()


# ------------------------------------------------------------------------------------------------ exact values
# Both terms of the question stand in three of four passages, so they weigh the same, and shares are simple fractions.
OIL = (
    ("", "The oil crisis began.", 0.9, 6.0),
    ("", "Oil prices fell. A crisis came.", 0.5, 3.0),
    ("Oil", "Crisis talks.", 0.1, 1.5),
    ("", "Rain.", 0.3, 0.0),
)
HELD = math.log(1 + 5 / 3.5) / math.log(1 + 5 / 0.5)  # weight of a term that three of four passages hold
MEAN_TERMS = (3 + 5 + 2 + 1) / 4


def saturated(terms: int) -> float:
    return 1 / (1 + 0.9 * (0.6 + 0.4 * terms / MEAN_TERMS))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("coverage", [1, 1, 1, 0]),
        ("soft_coverage", [1, 1, 1, 0]),
        ("bm25_ideal", [saturated(3), saturated(5), saturated(2), 0]),
        ("sentence", [1, 0.5, 0.5, 0]),
        ("sentence_head", [1, 0.5, 1, 0]),
        ("pair", [1, 1, 1, 0]),
        ("near", [1, 0, 0, 0]),
        ("missing", [0, 0, 0, 1]),
        ("best_sentence_share", [1, 0.5, 0.5, 0]),
        ("soft_gap", [0, 0, 0, -1]),
        ("pair_gap", [0, 0, 0, -1]),
        ("question_terms", [math.log(3)] * 4),
        ("passage_terms", [math.log(4), math.log(6), math.log(3), math.log(2)]),
        ("cosine", [0.9, 0.5, 0.1, 0.3]),
        ("cosine_z", [0.45 / (math.sqrt(0.0875) + 0.02), 0.05 / (math.sqrt(0.0875) + 0.02),
                      -0.35 / (math.sqrt(0.0875) + 0.02), -0.15 / (math.sqrt(0.0875) + 0.02)]),
        ("bm25_share", [1, 0.5, 0.25, 0]),
        ("bm25_gap", [0.5, -0.5, -0.75, -1]),
        ("rank", [0, math.log(2), math.log(3), math.log(4)]),
        ("bm25_rank", [1, 1 / 2, 1 / 3, 1 / 4]),
        ("agreement", [1, 1 / 4, 1 / 12, 1 / 12]),
        ("chinese", [0, 0, 0, 0]),
        ("unfit", [0, 0, 0, 0]),
        ("negation", [0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_a_signal_has_just_this_value(name: str, values: list[float]) -> None:
    assert signal(name, "oil crisis", OIL) == pytest.approx(values)


def test_a_term_weighs_by_its_rarity_among_the_candidates_and_general_words_half() -> None:
    weights = read_pool("oil crisis floods usually", scored(OIL)).weights
    assert weights == pytest.approx({"oil": HELD, "crisi": HELD, "flood": 1.0, "usual": 0.5})


def test_what_is_missing_is_weighed() -> None:
    total = 2 * HELD + 1.0
    question = "oil crisis floods"
    assert signal("coverage", question, OIL) == pytest.approx([2 * HELD / total] * 3 + [0])
    assert signal("missing", question, OIL) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])


def test_a_name_that_is_missing_counts_among_the_names() -> None:
    rows = (("", "Napoleon left.", 0.5, 2.0), ("", "Kaunas and Napoleon.", 0.4, 1.0), ("", "Rain.", 0.1, 0.0))
    missing = signal("names_missing", "Which river did Napoleon cross near Kaunas?", rows)
    kaunas, napoleon = math.log(1 + 4 / 1.5), math.log(1 + 4 / 2.5)
    assert missing == pytest.approx([kaunas / (kaunas + napoleon), 0, 1])


@pytest.mark.parametrize(
    ("question", "sentence", "fits_it"),
    [
        ("When was it?", "It was in 1931.", True),
        ("How many were there?", "There were some.", False),
        ("Why was it closed?", "It closed because of rain.", True),
        ("Why was it closed?", "It closed early.", False),
        ("Who wrote it?", "It was Einstein.", True),
        ("Who was Einstein?", "einstein was tall.", False),
        ("Where is it?", "it is there.", False),
        ("谁写了这份报告？", "没有人知道。", True),
        ("Does it open?", "it does.", True),
    ],
)
def test_a_sentence_fits_a_question_whose_kind_of_answer_it_could_hold(
    question: str, sentence: str, fits_it: bool
) -> None:
    assert signal("unfit", question, (("", sentence, 0.5, 1.0),)) == [0.0 if fits_it else 1.0]


def test_a_fitting_sentence_counts_near_the_best_one_or_anywhere() -> None:
    rows = (("", "The bridge opened. It rained. It was cold. That was 1931.", 0.5, 2.0),)
    question = "When did the bridge open?"
    assert (signal("unfit_near", question, rows), signal("unfit", question, rows)) == ([1.0], [0.0])


def test_the_sentence_before_the_best_one_counts_as_near() -> None:
    rows = (("", "That was 1931. The bridge opened. It rained. It was cold.", 0.5, 2.0),)
    assert signal("unfit_near", "When did the bridge open?", rows) == [0.0]


def test_a_negated_question_asks_for_a_negated_sentence() -> None:
    rows = (("", "Ann did not sign it.", 0.5, 2.0), ("", "Ann did sign it.", 0.4, 1.0))
    assert signal("negation", "Who did not sign?", rows) == [0.0, 1.0]
    assert signal("negation", "Who did sign?", rows) == [0.0, 0.0]


def test_without_vectors_their_signals_are_0() -> None:
    rows = tuple((title, text, None, bm25) for title, text, _, bm25 in OIL)
    for name in ("cosine", "cosine_z", "agreement"):
        assert signal(name, "oil crisis", rows) == [0.0] * 4


def test_no_candidates_have_no_signals() -> None:
    pool = read_pool("oil crisis", [])
    assert passage_signals(pool).shape == (0, len(PASSAGE_SIGNALS))
    assert list_signals(pool, passage_signals(pool), np.zeros(0)).tolist() == [0.0] * len(LIST_SIGNALS)


# ------------------------------------------------------------------------------------------------ lists
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best", math.log(4)),
        ("second", 0.0),
        ("any", math.log(1 + 1.6)),
        ("first", math.log(0.25)),
        ("spread", 2 * math.log(4)),
        ("best_soft_coverage", 2 * HELD / (2 * HELD + 1)),
        ("best_sentence", HELD / (2 * HELD + 1)),
        ("best_bm25_share", 0.5),
        ("best_agreement", 1 / 4),
        ("best_rarest_missing", 1.0),
        ("max_soft", 2 * HELD / (2 * HELD + 1)),
        ("max_pair", 2 * HELD / (2 * HELD + 1)),
        ("max_near", 2 * HELD / (3 * HELD + 1)),
        ("cosine_spread", 0.45),
        ("cosine_top_gap", 0.4),
        ("bm25_top_gap", 0.5),
        ("bm25_spread", 1 - 1.75 / 4),
        ("union_coverage", 2 * HELD / (2 * HELD + 1)),
        ("unseen", 1 / (2 * HELD + 1)),
        ("rank_correlation", 0.8),
        ("same_top", 1.0),
        ("question_terms", math.log(4)),
        ("question_rarity", (2 * HELD + 1) / 3),
        ("chinese", 0.0),
    ],
)
def test_a_signal_of_the_list_has_just_this_value(name: str, value: float) -> None:
    pool = read_pool("oil crisis floods", scored(OIL))
    whole = list_signals(pool, passage_signals(pool), np.array([0.2, 0.8, 0.1, 0.5]))
    values = dict(zip(LIST_SIGNALS, whole.tolist(), strict=True))
    assert values[name] == pytest.approx(value)


def test_certain_probabilities_have_bounded_log_odds() -> None:
    pool = read_pool("oil crisis", scored(OIL[:2]))
    whole = list_signals(pool, passage_signals(pool), np.array([1.0, 0.0]))
    assert whole[LIST_SIGNALS.index("best")] == pytest.approx(math.log(9999))
    assert whole[LIST_SIGNALS.index("second")] == pytest.approx(-math.log(9999))


def test_the_legs_bests_differ() -> None:
    rows = ((*OIL[0][:2], 0.1, 6.0), (*OIL[1][:2], 0.9, 3.0))
    pool = read_pool("oil crisis", scored(rows))
    whole = list_signals(pool, passage_signals(pool), np.array([0.5, 0.4]))
    assert whole[LIST_SIGNALS.index("same_top")] == 0.0
    assert whole[LIST_SIGNALS.index("rank_correlation")] == pytest.approx(-1.0)
