"""Whether two questions want the same answer: named examples, differences, and what holds for any two texts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.ranking import same_question
from feedback.ranking.same_question import (
    FORBIDDEN,
    LEAST,
    Commonness,
    above_background,
    background_of,
    difference,
    load_model,
    read_question,
    shipped_model,
)

NEARLY_EQUAL = 0.95  # cosine of questions that differ in one word
DIFFERENT = (
    ("What is the notice period for full-time staff?", "What is the notice period for part-time staff?"),
    ("Can I withdraw before the exam?", "Can I withdraw after the exam?"),
    ("Is smoking allowed in the yard?", "Is smoking not allowed in the yard?"),
    ("What is permitted in the lab?", "What is prohibited in the lab?"),
    ("How do I enable remote access?", "How do I disable remote access?"),
    ("本科生可以借几本书？", "研究生可以借几本书？"),
    ("What is the fee for 2023?", "What is the fee for 2024?"),
    ("How do I upgrade to version 2.3?", "How do I upgrade to version 2.4?"),
    ("Who approves the budget?", "When is the budget approved?"),
    ("What is the maximum file size?", "What is the minimum file size?"),
    ("How do I import contacts?", "How do I export contacts?"),
    ("Which courses require registration?", "Which courses do not require registration?"),
    ("開學前可以退費嗎？", "開學後可以退費嗎？"),
    ("全职员工有餐补吗？", "兼职员工有餐补吗？"),
)
SAME = (
    (
        "How long may undergraduates keep a borrowed book?",
        "undergraduate student: for how long can I keep the books that I borrowed",
    ),
    ("How do I reset my password?", "I forgot my password, how can I reset it?"),
    ("Where can I buy a parking permit?", "Where can I purchase a parking permit?"),
    ("When does the semester begin?", "When does the semester start?"),
    ("What documents do I need for a scholarship?", "list of the documents that a scholarship needs"),
    ("如何修改登录密码？", "怎么更改登录密码？"),
    ("學生證遺失怎麼補辦？", "学生证丢了怎么补办？"),
)
TEXTS = st.text(st.sampled_from("abc 不否全职兼职1 2?前后noteablisd'"), max_size=40)
COSINES = st.one_of(st.none(), st.floats(0.0, 1.0))


@pytest.mark.parametrize("pair", DIFFERENT)
def test_questions_that_differ_in_one_decisive_word_are_two(pair: tuple[str, str]) -> None:
    assert shipped_model().probability(*pair, cosine=NEARLY_EQUAL) < 0.5
    assert shipped_model().probability(*pair) < 0.5


@pytest.mark.parametrize("pair", SAME)
def test_rewordings_by_people_are_one_question(pair: tuple[str, str]) -> None:
    assert shipped_model().probability(*pair, cosine=0.75) >= 0.5


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("Fee in 2023?", "Fee in 2024?", "other numbers"),
        ("Fee for students?", "Fee for lecturers?", "other alternatives of one kind"),
        ("Is it in the Louvre?", "Is it in the Prado?", "other names"),
        ("What promotes growth?", "What inhibits growth?", "opposites"),
        ("What are regulated drugs?", "What are unregulated drugs?", "opposites"),
        ("Who signs the form?", "Where is the form signed?", "other kinds of answer"),
        ("Which metals are magnetic?", "Which metals are not magnetic?", "one of them is negated"),
        ("How do I list sessions?", "How do I kill sessions?", "other actions"),
        ("如何查看任务？", "如何删除任务？", "other actions"),
        ("What is a replica?", "How do I drop a replica?", "one asks what it is, the other what to do"),
        ("How do I insert data into a table?", "How do I insert dynamic data into a table?", "one word more"),
        ("How do I convert PDF to Word?", "How do I convert Word to PDF?", "changed places"),
        ("How do I move files from Box to Drive?", "How do I move files from Drive to Box?", "changed places"),
        ("How do I move files from Box to Drive?", "How do I move files to Drive from Box?", ""),
        ("如何从文本转换成表格？", "如何从表格转换成文本？", "changed places"),
        ("How do I set up an account?", "How do I create an account?", ""),
        ("When is it due?", "By when is it due?", ""),
        ("Take it for 5 years?", "Take it for five years?", ""),
    ],
)
def test_a_difference_says_why(first: str, second: str, reason: str) -> None:
    assert difference(read_question(first), read_question(second)) == reason


HANDBOOK = Commonness.of({"acm": 60, "log": 3}, 100)  # most of its questions name the product


def test_what_most_questions_of_a_site_name_makes_no_two_of_them_one() -> None:
    pair = "Acme price", "Where are the logs of Acme?"
    assert shipped_model().probability(*pair, cosine=NEARLY_EQUAL, common=HANDBOOK) <= FORBIDDEN


def test_a_rewording_that_names_only_the_product_is_still_one_question() -> None:
    assert shipped_model().probability("What is Acme?", "what's acme", cosine=NEARLY_EQUAL, common=HANDBOOK) >= 0.5


def test_a_term_says_less_the_more_questions_hold_it() -> None:
    common = Commonness.of({"acme": 90, "install": 20, "replica": 1}, 100)
    weights = [common.weight(term) for term in ("acme", "install", "replica", "unseen")]
    assert weights[0] == LEAST < weights[1] < weights[2] == weights[3] == 1.0


def test_on_a_site_with_few_questions_no_term_is_common() -> None:
    assert Commonness.of({"acme": 1}, 1).weight("acme") == 1.0


def test_wordings_of_one_meaning_are_counted_together() -> None:
    together = Commonness.of({"begin": 10, "start": 10}, 100)
    assert together.weight("begin") < Commonness.of({"begin": 10}, 100).weight("begin")


def test_traditional_and_simplified_are_one_question() -> None:
    assert shipped_model().probability("畢業需要修滿多少學分？", "毕业需要修满多少学分？") == 1.0


def test_a_slip_of_the_pen_is_no_difference() -> None:
    own, other = same_question.left_over(read_question("parking permit"), read_question("parking permti"))
    assert (own, other) == (frozenset(), frozenset())


def test_names_that_differ_in_a_few_letters_are_no_slip() -> None:
    own, _ = same_question.left_over(read_question("boiling ethanol"), read_question("boiling methanol"))
    assert own == {"ethanol"}


@given(TEXTS, TEXTS, COSINES)
def test_the_probability_is_symmetric_and_between_0_and_1(first: str, second: str, cosine: float | None) -> None:
    likely = shipped_model().probability(first, second, cosine=cosine)
    assert 0.0 <= likely <= 1.0
    assert likely == shipped_model().probability(second, first, cosine=cosine)


@given(TEXTS, COSINES)
def test_a_question_is_the_same_as_itself(text: str, cosine: float | None) -> None:
    assert shipped_model().probability(text, text, cosine=cosine) == 1.0


@given(TEXTS, TEXTS, COSINES)
def test_no_cosine_outweighs_a_difference(first: str, second: str, cosine: float | None) -> None:
    one, other = read_question(first), read_question(second)
    assert bool(difference(one, other)) == bool(difference(other, one))
    if difference(one, other):
        assert shipped_model().probability(first, second, cosine=cosine) <= FORBIDDEN


def test_a_cosine_counts_from_what_unrelated_questions_have() -> None:
    assert [above_background(cosine, 0.8) for cosine in (0.7, 0.8, 0.9, 1.0)] == pytest.approx([0.0, 0.0, 0.5, 1.0])


def test_the_background_is_what_random_pairs_have() -> None:
    own = np.sqrt(0.4) * np.eye(60)
    vectors = np.column_stack((np.full(60, np.sqrt(0.6)), own)).astype(np.float32)
    assert background_of(vectors) == pytest.approx(0.6, abs=1e-5)
    assert background_of(vectors[:5]) == same_question.BACKGROUND


def test_weights_for_other_signals_are_refused() -> None:
    data = json.loads(same_question.SHIPPED.read_text(encoding="utf-8"))
    del data["words"]["signals"]["jaccard"]
    with pytest.raises(ValueError, match="jaccard"):
        load_model(data)
    with pytest.raises(ValueError, match="lack 'latin'"):
        load_model({"words": data["words"]})
