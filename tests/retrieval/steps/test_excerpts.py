"""What a judge is shown of long passages."""

from retrieval.steps.judge.excerpts import GAP, choose_excerpts
from retrieval.text.tokens import estimate_tokens
from tests.retrieval.steps.fakes import chunk

FILLER = [f"Paragraph {number} tells of the weather and the garden and much else besides." for number in range(30)]
QUESTION = "How much is the deposit for a room in Lakeside hall?"
FEES = "For a room in Lakeside hall a deposit is taken. It is EUR 300 at present."


def long_text(fact: str, *, at: int) -> str:
    return " ".join([*FILLER[:at], fact, *FILLER[at:]])


def test_a_fact_deep_in_a_long_passage_is_shown_with_its_neighbour() -> None:
    (shown,) = choose_excerpts(QUESTION, [chunk(1, long_text(FEES, at=25))], [0.5], tokens=80)
    assert FEES in shown
    assert estimate_tokens(shown) <= 80
    assert GAP in shown


def test_a_passage_that_fits_is_shown_whole() -> None:
    text = " ".join(FILLER[:3])
    assert choose_excerpts(QUESTION, [chunk(1, text)], [0.0], tokens=500) == [text]


def test_all_share_one_budget_and_likely_passages_get_more_of_it() -> None:
    chunks = [chunk(number, long_text(FEES, at=10)) for number in (1, 2)]
    likely, unlikely = choose_excerpts(QUESTION, chunks, [0.9, 0.01], tokens=200)
    assert len(likely) > len(unlikely) > 0
    assert estimate_tokens(likely) + estimate_tokens(unlikely) <= 220


def test_of_every_passage_something_is_shown_however_small_the_budget() -> None:
    chunks = [chunk(number, long_text(FEES, at=number)) for number in range(1, 6)]
    assert all(choose_excerpts(QUESTION, chunks, [0.1] * 5, tokens=1))


def test_sentences_stay_in_their_order() -> None:
    text = long_text("The deposit is paid back.", at=20).replace(FILLER[3], "A room in Lakeside hall needs a deposit.")
    (shown,) = choose_excerpts(QUESTION, [chunk(1, text)], [0.5], tokens=60)
    assert shown.index("needs a deposit") < shown.index("is paid back")


def test_chinese_passages_are_cut_at_their_sentences() -> None:
    filler = "".join(f"第{number}条说的是天气和花园。" for number in range(60))
    text = filler + "湖畔宿舍的押金是三百欧元。" + filler
    (shown,) = choose_excerpts("湖畔宿舍的押金是多少？", [chunk(1, text)], [0.5], tokens=80)
    assert "押金是三百欧元。" in shown


def test_a_passage_without_a_sentence_is_shown_empty_and_a_question_without_a_term_shows_the_beginning() -> None:
    assert choose_excerpts(QUESTION, [chunk(1, "   ")], [0.5], tokens=80) == [""]
    (shown,) = choose_excerpts("?", [chunk(1, long_text(FEES, at=5))], [0.5], tokens=60)
    assert shown.startswith("Paragraph 0 tells")
