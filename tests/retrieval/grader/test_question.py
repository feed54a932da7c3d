import pytest

from retrieval.answerability.question import view_question


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did the war end?", "date"),
        ("In what year was the bridge opened?", "date"),
        ("How many seats does it have?", "number"),
        ("Who wrote the report?", "person"),
        ("Where is the archive?", "place"),
        ("Why was it closed?", "reason"),
        ("这座桥是哪年建成的？", "date"),
        ("一共有多少个座位？", "number"),
        ("谁写了这份报告？", "person"),
        ("Does it open on Sunday?", "other"),
        ("What time does the desk close?", "time"),
        ("圖書館幾點關門？", "time"),
        ("这个方案有几点建议？", "other"),
    ],
)
def test_the_kind_of_answer_is_read_from_the_question(question: str, kind: str) -> None:
    assert view_question(question).kind == kind


def test_names_are_words_with_capitals_inside_the_sentence() -> None:
    view = view_question("Which river did Napoleon cross near Kaunas?")
    assert view.names == {"napoleon", "kauna"}


def test_quoted_titles_are_names_in_chinese() -> None:
    assert "红楼梦" in view_question("《红楼梦》的作者是谁？").names


def test_numbers_lose_their_thousands_separator() -> None:
    assert view_question("What happened to the 1,200 soldiers in 1812?").numbers == {"1200", "1812"}


@pytest.mark.parametrize("question", ["Who did not sign?", "Who didn't sign?", "谁没有签字？"])
def test_a_negated_question_is_known(question: str) -> None:
    assert view_question(question).negated


def test_a_preposition_that_ties_a_verb_to_its_object_says_little() -> None:
    assert view_question("How do I appeal against a charge before May?").weak == {"against"}


def test_the_noun_after_which_says_little() -> None:
    assert "theorem" in view_question("Which theorem did Gauss prove?").weak
