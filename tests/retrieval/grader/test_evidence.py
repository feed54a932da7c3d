"""What speaks against an answer although the words are there, in English, Simplified and Traditional Chinese."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from retrieval.answerability import shipped_model
from retrieval.answerability.model import read_evidence
from retrieval.answerability.question import view_question
from retrieval.answerability.signals import EVIDENCE, evidence_against, read_pool
from retrieval.answerability.spans import credit, plain, spans_of
from tests.retrieval.grader.lists import PASSAGES, scored


def against(question: str, *texts: str) -> set[str]:
    """The evidence that the first of the texts, and the list of them, gives against an answer."""
    pool = read_pool(question, scored(tuple(("", text, None, 2.0) for text in texts)))
    return {name for name, value in zip(EVIDENCE, evidence_against(pool, 0), strict=True) if value}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who directed The Silence of the Room?", ["silence of the room"]),
        ("Which river did Napoleon cross near Kaunas?", ["napoleon", "kaunas"]),
        ("Is Gerald R. Ford Airport in Michigan?", ["gerald r ford airport", "michigan"]),
        ("Who plays in 'Halt' on Channel 4?", ["halt", "channel 4"]),
        ("《红楼梦》的作者是谁？", ["红楼梦"]),
        ("《紅樓夢》的作者是誰？", ["红楼梦"]),
        ("李小龙姓名是谁起的？", ["李小龙"]),
        ("Windows 10 什么时候发布？", ["windows 10"]),
    ],
)
def test_names_are_read_in_one_piece(question: str, names: list[str]) -> None:
    assert [span.text for span in view_question(question).spans] == names


def calls_of_spans(text: str, *, chinese: bool) -> int:
    """How many Python functions are called, and generators resumed, to read the names of a text."""
    calls, before = 0, sys.getprofile()

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        spans_of(text, chinese=chinese)
    finally:
        sys.setprofile(before)
    return calls


def english(count: int) -> str:
    return ", ".join(f"N{number}x" for number in range(count))


def chinese(count: int) -> str:
    return "，".join(f"{chr(0x5200 + number)}松岩" for number in range(count))


@pytest.mark.parametrize("text_of", [english, chinese])
def test_the_work_for_names_grows_as_the_question_does(text_of: Callable[[int], str]) -> None:
    is_chinese = text_of is chinese
    calls_of_spans(text_of(2), chinese=is_chinese)  # loads dictionaries
    few, many = (calls_of_spans(text_of(count), chinese=is_chinese) for count in (200, 800))
    assert many < 5 * few


def test_a_name_that_is_part_of_a_longer_one_is_not_read_twice() -> None:
    question = "Did Curie, or Marie Curie, or Marie Curie Street come before Curies?"
    assert [span.text for span in spans_of(question, chinese=False)] == ["marie curie street", "curies"]


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("Who wrote Silence of the Room?", "The Silence of the Room is a film.", 1.0),
        ("Who wrote Silence of the Room?", "In the room there was silence.", 0.5),
        ("Who met Marie Curie?", "Professor Curie left.", 0.4),
        ("Who met Marie Curie?", "Nobody came.", 0.0),
        ("Who uses Windows 10?", "They use Windows 100.", 0.0),
    ],
)
def test_a_name_counts_where_it_stands_in_one_piece(name: str, text: str, held: float) -> None:
    (span,) = spans_of(name, chinese=False)
    assert credit(span, plain(text)) == held


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who directed The Silence of the Room?", "In the reading room there is silence, directed by Ann Lee."),
        ("《安静的房间》是谁导演的？", "房间里很安静，导演是王明。"),
        ("《安靜的房間》是誰導演的？", "房間裡很安靜，導演是王明。"),
    ],
)  # fmt: skip
def test_a_title_whose_words_stand_apart_is_no_evidence(question: str, text: str) -> None:
    assert "title_apart" in against(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who directed The Silence of the Room?", "The Silence of the Room was directed by Ann Lee."),
        ("《安静的房间》是谁导演的？", "《安静的房间》的导演是王明。"),
        ("《安靜的房間》是誰導演的？", "《安靜的房間》的導演是王明。"),
        ("《安静的房间》是谁导演的？", "《安靜的房間》的導演是王明。"),
    ],
)
def test_a_title_in_one_piece_speaks_for_the_passage(question: str, text: str) -> None:
    assert not against(question, text) & {"title_apart"}


def test_a_title_in_another_passage_of_the_list_is_there() -> None:
    texts = ("In the room there is silence.", "The Silence of the Room is a film.")
    assert "title_apart" not in against("Who directed The Silence of the Room?", *texts)


@pytest.mark.parametrize(
    ("signal", "question", "text"),
    [
        ("negation_far", "Which books may not be borrowed?", "Books may be borrowed for four weeks."),
        ("negation_far", "哪些书不能借？", "书可以借四周。"),
        ("negation_far", "哪些書不能借？", "書可以借四週。"),
        ("opposed", "Which city is the largest?", "The smallest city is Ulm."),
        ("opposed", "最大的城市是哪个？", "最小的城市是乌尔姆。"),
        ("opposed", "最大的城市是哪個？", "最小的城市是烏爾姆。"),
    ],
)
def test_what_is_said_otherwise_speaks_against_an_answer(signal: str, question: str, text: str) -> None:
    assert signal in against(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which books may not be borrowed?", "Reference books may not be borrowed."),
        ("Statins do not lower cholesterol.", "Statins lower cholesterol."),
        ("Cells which lack it are the largest", "The smallest cells lack it."),
        ("Which city is the largest?", "The largest city is Ulm, the smallest is Elm."),
        ("哪些书不能借？", "工具书不能借。"),
        ("他汀类药物不能降低胆固醇", "他汀类药物能降低胆固醇。"),
        ("他汀類藥物不能降低膽固醇", "他汀類藥物能降低膽固醇。"),
    ],
)
def test_nothing_speaks_against_what_is_said_so(question: str, text: str) -> None:
    assert against(question, text) == set()


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Tell me who signed", True),
        ("In which year did it open", True),
        ("may I borrow it", True),
        ("Statins, which are cheap, lower cholesterol when taken early.", False),
        ("explain the fee", True),
        ("请介绍大桥", True),
        ("請問大橋何時開通", True),
        ("任何药物都不能降低胆固醇", False),
    ],
)
def test_statements_are_told_from_questions(text: str, asks: bool) -> None:
    assert view_question(text).is_question is asks


def test_evidence_lowers_the_estimate() -> None:
    question = "Which books may undergraduates not borrow?"
    with_it = shipped_model()
    pool = read_pool(question, scored(PASSAGES))
    without = type(with_it)(hybrid=with_it.hybrid, text=with_it.text, evidence=with_it.evidence * 0)
    assert with_it.estimate(question, scored(PASSAGES)).answerability <= (
        without.estimate(question, scored(PASSAGES)).answerability
    )
    assert evidence_against(pool, 0).any()


@pytest.mark.parametrize("weight", [0.1, float("nan"), float("-inf")])
def test_evidence_that_speaks_for_an_answer_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="at most 0"):
        read_evidence(dict.fromkeys(EVIDENCE, weight))


def test_evidence_for_other_signals_is_refused() -> None:
    with pytest.raises(ValueError, match="other signals"):
        read_evidence({"title_apart": -1.0})
