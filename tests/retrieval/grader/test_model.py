import copy
import json
import math

import numpy as np
import pytest

from retrieval.answerability import Estimate, load_model, shipped_model
from retrieval.answerability.model import SHIPPED, read_logistic
from tests.retrieval.grader.lists import CHINESE, PASSAGES, scored

ANSWERED = "How many books may undergraduates borrow?"


def estimate(question: str, candidates: list, **how: bool) -> Estimate:
    return shipped_model().estimate(question, candidates, **how)


@pytest.fixture
def shipped() -> dict:
    return json.loads(SHIPPED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("vectors", [True, False])
def test_the_passage_that_answers_stands_out(vectors: bool) -> None:
    grades = estimate(ANSWERED, scored(PASSAGES, vectors=vectors)).passages
    assert grades[0] > 0.5
    assert max(grades[1:]) < 0.2


def test_a_chinese_passage_that_answers_stands_out_without_vectors() -> None:
    grades = estimate("本科生最多可以借几本书？", scored(CHINESE)).passages
    assert grades[0] > 0.5
    assert max(grades[1:]) < 0.2


@pytest.mark.parametrize("vectors", [True, False])
def test_the_list_is_worth_less_without_the_passage_that_answers(vectors: bool) -> None:
    with_it = estimate(ANSWERED, scored(PASSAGES, vectors=vectors)).answerability
    without = estimate(ANSWERED, scored(PASSAGES[1:], vectors=vectors)).answerability
    assert with_it > 0.6
    assert without < 0.5


def test_lexical_vectors_are_judged_like_none() -> None:
    lexical, none = scored(PASSAGES), scored(PASSAGES, vectors=False)
    assert estimate(ANSWERED, lexical, semantic=False).passages == estimate(ANSWERED, none).passages


def test_no_candidates_hold_no_answer() -> None:
    assert estimate(ANSWERED, []).passages == []
    assert estimate(ANSWERED, []).answerability == 0.0


@pytest.mark.parametrize("question", ["", "?", "🙂🙂", "\x00\x07", "the of"])
def test_a_question_without_words_is_answered_by_nothing(question: str) -> None:
    assert estimate(question, scored(PASSAGES)).passages == [0.0] * len(PASSAGES)
    assert estimate(question, scored(PASSAGES)).answerability == 0.0


@pytest.mark.parametrize("question", ["x" * 10_000, "borrow " * 2_000, "' OR 1=1 --", "a"])
def test_odd_questions_get_probabilities(question: str) -> None:
    judged = estimate(question, scored(PASSAGES))
    assert all(0.0 <= value <= 1.0 for value in (*judged.passages, judged.answerability))


def test_weights_for_other_signals_are_refused(shipped: dict) -> None:
    other = copy.deepcopy(shipped)
    del other["text"]["passage"]["signals"]["coverage"]
    with pytest.raises(ValueError, match="coverage"):
        load_model(other)


@pytest.mark.parametrize(
    "path", [("evidence",), ("text", "collection"), ("hybrid", "passage", "signals", "pair", "mean")]
)
def test_a_file_that_lacks_a_part_is_refused_by_its_name(shipped: dict, path: tuple[str, ...]) -> None:
    part = shipped
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    with pytest.raises(ValueError, match=f"lacks '{path[-1]}'"):
        load_model(shipped)


def test_weights_that_are_no_numbers_are_refused(shipped: dict) -> None:
    shipped["hybrid"]["collection"]["signals"]["best"]["weight"] = float("nan")
    with pytest.raises(ValueError, match="finite"):
        load_model(shipped)


LOGISTIC = {
    "bias": 0.5,
    "signals": {
        "a": {"mean": 1.0, "deviation": 2.0, "weight": 1.0},
        "b": {"mean": 2.0, "deviation": 1.0, "weight": -3.0},
    },
}


@pytest.mark.parametrize(
    ("row", "odds"),
    [([1.0, 2.0], 0.5), ([3.0, 2.0], 1.5), ([1.0, 3.0], -2.5), ([99.0, 2.0], 4.5), ([1.0, -99.0], 12.5)],
)
def test_a_probability_follows_from_standardised_and_bounded_signals(row: list[float], odds: float) -> None:
    model = read_logistic(LOGISTIC, ("a", "b"))
    assert model.probabilities(np.array([row])).tolist() == pytest.approx([1 / (1 + math.exp(-odds))])


def test_signals_in_another_order_are_refused() -> None:
    with pytest.raises(ValueError, match="other signals"):
        read_logistic(LOGISTIC, ("b", "a"))


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_bias_that_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        read_logistic({**LOGISTIC, "bias": number}, ("a", "b"))


def constant(odds: float, signals: dict) -> dict:
    return {"bias": odds, "signals": {name: {"mean": 0.0, "deviation": 1.0, "weight": 0.0} for name in signals}}


def test_lists_with_and_without_vectors_have_their_own_models(shipped: dict) -> None:
    odds = {"hybrid": (0.0, math.log(3)), "text": (math.log(4), math.log(9))}
    for kind, (passage, collection) in odds.items():
        shipped[kind] = {
            "passage": constant(passage, shipped[kind]["passage"]["signals"]),
            "collection": constant(collection, shipped[kind]["collection"]["signals"]),
        }
    shipped["evidence"] = dict.fromkeys(shipped["evidence"], 0.0)  # for the list is short
    model = load_model(shipped)
    with_vectors = model.estimate(ANSWERED, scored(PASSAGES))
    without = model.estimate(ANSWERED, scored(PASSAGES, vectors=False))
    assert (with_vectors.passages, with_vectors.answerability) == ([0.5] * 4, pytest.approx(0.75))
    assert (without.passages, without.answerability) == (pytest.approx([0.8] * 4), pytest.approx(0.9))
