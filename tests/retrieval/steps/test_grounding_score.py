import pytest

from retrieval.steps.grounding.score import ground
from retrieval.steps.grounding.verify import BASELESS
from retrieval.text.language import detect_language
from retrieval.text.numbers import missing_numbers
from tests.retrieval.steps.fakes import chunk

LOANS = (
    "An undergraduate may borrow twelve books at once. The loan period is four weeks. Overdue books cost EUR 1 a day. "
    "Reference works may not be borrowed."
)
QUESTION = "How many books may I borrow?"


def score(statement: str, text: str = LOANS, question: str = QUESTION, **facts) -> float | None:
    passage = chunk(1, text, title="Library Regulations", **facts)
    return ground(statement, [passage], question=question, language=detect_language(statement)).score


def test_a_quoted_sentence_is_fully_supported() -> None:
    assert score("The loan period is four weeks.") == 1.0


@pytest.mark.parametrize(
    "statement",
    [
        "Undergraduates can borrow up to 12 books.",
        "Books are lent for 4 weeks.",
        "Borrowing reference works is not allowed.",
    ],
)
def test_a_sentence_in_other_words_is_supported(statement: str) -> None:
    assert score(statement) >= 0.5


@pytest.mark.parametrize(
    "statement",
    ["Undergraduates can borrow up to 15 books.", "The canteen serves lunch until three.", "Professors pay a deposit.",
     "The loan period is not four weeks."],
)  # fmt: skip
def test_what_the_passage_does_not_say_is_weak(statement: str) -> None:
    assert score(statement) < 0.5


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("The dean is Robert Kowalczek.", "The dean is Robert Kowalczyk."),
        ("New readers ask for Dr. Morgan at the desk.", "New readers ask for Dr. Morgen at the desk."),
    ],
)
def test_a_name_of_equal_length_is_another_one(statement: str, passage: str) -> None:
    assert score(statement, passage, "Who is it?") < 0.5


@pytest.mark.parametrize(
    ("statement", "passage"),
    [("Iranian students pay less.", "Students from Iran pay less."), ("The Normans came.", "Norman people came."),
     ("該校成立於民國100年。", "该校成立于2011年。")],
)  # fmt: skip
def test_a_form_of_a_name_is_the_same_one(statement: str, passage: str) -> None:
    assert score(statement, passage, "Which ones?") >= 0.5


EU = (
    "The Parliament meets in Strasbourg. It has 705 members. It votes on laws. The Commission's President sets the "
    "agenda for the EU's work. Decisions are taken by a simple majority."
)
WHO = "Who sets the agenda for the EU's work?"


@pytest.mark.parametrize(
    "statement",
    ["It is the Parliament that sets the agenda for the EU's work.", "705 set the agenda for the EU's work."],
)
def test_what_the_passage_says_of_something_else_is_weak(statement: str) -> None:
    assert BASELESS < score(statement, EU, WHO) < 0.5


SCHOOL = "圖書館由何志明設計。學校有三個校區。校長李國華在開學典禮上頒發獎學金。畢業生陳美玲捐款修建了運動場。"


def test_a_chinese_name_that_the_passage_has_of_something_else_is_weak() -> None:
    question = "谁在开学典礼上颁发奖学金？"
    assert BASELESS < score("何志明在开学典礼上颁发奖学金。", SCHOOL, question) < 0.5
    assert score("李国华在开学典礼上颁发奖学金。", SCHOOL, question) >= 0.5


def test_a_sentence_that_is_quoted_need_not_have_the_words_of_the_question() -> None:
    text = "學校的運動場很大，學校的運動場在東面。畢業生陳美玲捐款修建，工程歷時兩年完成。"
    assert score("學校的運動場由畢業生陳美玲捐款修建，工程歷時兩年完成。", text, "學校的運動場是怎麼來的？") >= 0.5


def test_what_another_passage_has_may_be_put_together_with_it() -> None:
    passages = [chunk(1, EU, title="Union"), chunk(2, "The President of the Commission is Jacques Delors.", title="It")]
    statement = "It is Jacques Delors who sets the agenda for the EU's work."
    assert ground(statement, passages, question=WHO, language="en").score >= 0.5


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        (
            "The President of the Commission sets the agenda for the EU's work.",
            "Who sets the agenda for the EU's work?",
        ),
        ("The Parliament, which meets in Strasbourg, has 705 members.", "How many members has the Parliament?"),
        ("The agenda is set by the Commission.", "Who sets the agenda for the EU's work?"),
    ],
)
def test_what_it_says_there_or_right_before_is_supported(statement: str, question: str) -> None:
    assert score(statement, EU, question) >= 0.5


def test_words_of_the_question_support_little() -> None:
    text = "Books may be borrowed by members. The opening hours are posted at the door."
    assert score("You may borrow books with a purple giraffe.", text) < 0.5


def test_simplified_and_traditional_are_compared_as_one() -> None:
    text = "校长奖学金每学年5000欧元，每年九月申请。"
    assert score("校長獎學金每學年5000歐元。", text, "獎學金多少？") >= 0.9
    assert score("校長獎學金每學年8000歐元。", text, "獎學金多少？") < 0.5


def test_another_language_can_not_be_checked() -> None:
    assert score("校长奖学金每学年5000欧元。", "The rector's scholarship is EUR 5000 a year.") is None
    assert score("The scholarship is EUR 5000.", "校长奖学金每学年5000欧元。") is None


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Dogs may enter the garden.", "Dogs may enter the garden, but not the reading room."),
        ("The hall was opened in 1970.", "The hall was not opened until 1970."),
        ("学生可以借书。", "学生可以借书，但不得转借他人。"),
    ],
)
def test_a_denial_of_something_else_is_no_contradiction(statement: str, passage: str) -> None:
    assert score(statement, passage) >= 0.5


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Dogs may enter the reading room.", "Cats may enter, but dogs may not enter the reading room."),
        ("Reference works may be borrowed.", LOANS),
        ("学生可以转借他人。", "学生可以借书，但学生不可以转借他人。"),
    ],
)
def test_what_the_passage_denies_is_weak(statement: str, passage: str) -> None:
    assert score(statement, passage) < 0.45


@pytest.mark.parametrize("statement", ["Yes.", "So it is.", "是的。", "Of course!"])
def test_a_few_plain_words_can_not_be_checked(statement: str) -> None:
    assert score(statement) is None or score(statement, "是的") is None


def test_what_stands_beside_the_text_counts_as_said() -> None:
    assert score("The Library Regulations of 2025 set four weeks.", policy_year=2025) >= 0.5


@pytest.mark.parametrize(
    ("statement", "known", "missing"),
    [
        ("12 books", "twelve books", []),
        ("1,000 euros", "1000 euros", []),
        ("on 2025-03-01", "on 1 March 2025", []),
        ("50人，5000元", "五十人，五千元", []),
        ("2025年", "二〇二五年", []),
        ("１２本", "12 books", []),
        ("13 books by 2026", "12 books by 2025", ["13", "2026"]),
    ],
)
def test_numbers_are_found_in_figures_and_in_words(statement: str, known: str, missing: list[str]) -> None:
    assert missing_numbers(statement, known) == missing


@pytest.mark.parametrize(
    ("statement", "passage", "baseless"),
    [
        ("It is so since the treaty of 1957, which is 60 years ago.", "It is so since the treaty of 1957.", False),
        ("该制度自1957年条约起实行，已有60年。", "该制度自1957年条约起实行。", False),
        ("該制度自1957年條約起實行，已有60年。", "該制度自1957年條約起實行。", False),
        ("Parking in 2025 costs 100 euros.", "Parking in 2025 is managed by the porter.", True),
        ("The allowance is 90 percent.", "The allowance is 50 percent.", True),
    ],
)
def test_a_right_figure_beside_a_wrong_one_is_weak_and_not_baseless(
    statement: str, passage: str, baseless: bool
) -> None:
    found = ground(statement, [chunk(1, passage)], question="What holds in 2025?", language=detect_language(statement))
    assert found.score is not None
    assert found.score < 0.45
    assert (found.score < BASELESS) is baseless


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Interest is paid on the deposit.", "No interest is paid on the deposit."),
        ("No interest is paid on the deposit.", "Interest is paid on the deposit."),
    ],
)
def test_no_before_a_noun_denies(statement: str, passage: str) -> None:
    assert score(statement, passage, "Is interest paid on the deposit?") <= BASELESS


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("Applications close on 5 May.", "Applications close no later than 5 May."),
        ("At most ten books may be borrowed.", "No more than ten books may be borrowed."),
        ("No interest is paid on the deposit.", "Interest is not paid on the deposit."),
        ("The form is no. 7 of the list.", "The form is number 7 of the list."),
    ],
)
def test_a_limit_denies_nothing(statement: str, passage: str) -> None:
    assert score(statement, passage, "What holds?") > BASELESS
