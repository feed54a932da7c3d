import pytest
from django.conf import settings

from retrieval.ports import SearchRequest
from retrieval.steps.lexical_grader import grade, term_weights
from retrieval.values import Query
from tests.retrieval.steps.fakes import HANDBOOK, SCOPE, MemorySearcher, scored


async def best_grade(question: str) -> float:
    request = SearchRequest(queries=(Query(question),), scope=SCOPE, top_k=10)
    found = await MemorySearcher(HANDBOOK).search(request)
    return max(grade(question, found.candidates), default=0.0)


@pytest.mark.parametrize(
    "question",
    [
        "How many books may an undergraduate borrow?",
        "What is the deposit for a room in Lakeside hall?",
        "What does Wi-Fi error NLU-E107 mean?",
        "校长奖学金每学年多少欧元？",
        "校長獎學金每學年多少歐元？",
    ],
)
async def test_a_question_that_the_documents_answer_is_good(question: str) -> None:
    assert await best_grade(question) >= settings.RAG.corrective.good_score


@pytest.mark.parametrize(
    "question",
    [
        "How much does parking on campus cost?",
        "Who won the football cup last year?",
        "What is the salary of a full professor?",
        "食堂的午餐几点开始？",
        "校車的發車時刻是幾點？",
    ],
)
async def test_a_question_that_they_do_not_answer_is_weak(question: str) -> None:
    assert await best_grade(question) < settings.RAG.corrective.weak_score


def test_a_missing_year_lowers_the_grade() -> None:
    candidates = [scored(1, "The resit fee of 2025 is EUR 55."), scored(2, "The resit fee of 2023 is EUR 40.")]
    right, wrong = grade("What is the resit fee of 2025?", candidates)
    assert right > wrong


def test_a_term_that_no_candidate_holds_weighs_most() -> None:
    weights = term_weights("resit parking fee", [{"resit", "fee"}, {"fee"}])
    assert weights["park"] > weights["resit"] > weights["fee"]


def test_grades_are_probabilities_and_there_may_be_none() -> None:
    assert grade("anything", []) == []
    assert all(0 <= value <= 1 for value in grade("", [scored(1, ""), scored(2, "text")]))
