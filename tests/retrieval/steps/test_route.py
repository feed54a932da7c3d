import pytest
from django.conf import settings

from retrieval.steps.route import Route, filters_in
from retrieval.values import HistoryMessage, SearchFilters, Vocabulary
from tests.retrieval.steps.fakes import ask, make_tools, start_run

VOCABULARY = Vocabulary(
    departments=("Library", "Student Affairs", "学生处", "教务处"),
    doc_types=("regulation", "policy", "form", "办法"),
    policy_years=(2022, 2024, 2025),
    tags=("exams", "financial aid", "交换生项目"),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do the Library regulations say?", {"department": "Library", "doc_type": "regulation"}),
        (
            "student affairs policies of 2024",
            {"department": "Student Affairs", "doc_type": "policy", "policy_year": 2024},
        ),
        ("學生處2024年的獎學金辦法", {"department": "学生处", "doc_type": "办法", "policy_year": 2024}),
        ("二〇二四年教务处的规定", {"department": "教务处", "policy_year": 2024}),
        ("２０２５ rules", {"policy_year": 2025}),
        ("rules tagged exams", {"tags": ["exams"]}),
        ("who gets financial aid?", {"tags": ["financial aid"]}),
        ("交換生項目怎麼申請", {"tags": ["交换生项目"]}),
    ],
)
def test_values_that_the_question_names_become_filters(question: str, expected: dict) -> None:
    assert filters_in(question, VOCABULARY).as_dict() == expected


@pytest.mark.parametrize(
    "question",
    [
        "How late may I come?",
        "Who are the librarians?",  # not "Library"
        "What changed between 2022 and 2024?",  # a comparison
        "What was the rule in 2019?",  # no document of that year
        "Which form do I need?",  # asks for a form, does not say where the answer stands
        "When are the exams?",  # a word of every day, not marked as a tag
        "Call 120245 for help",
    ],
)
def test_nothing_is_filtered_without_evidence(question: str) -> None:
    assert not filters_in(question, VOCABULARY)


async def test_filters_of_the_request_win(settings) -> None:
    tools = make_tools(settings.RAG, vocabulary=VOCABULARY)
    question = ask("Library rules of 2024", filters=SearchFilters(policy_year=2022))
    filters = await Route(tools).route(question, question.text, run=start_run(settings.RAG))
    assert filters == SearchFilters(department="Library", policy_year=2022)


async def test_the_messages_own_year_wins_over_the_last_questions() -> None:
    tools = make_tools(settings.RAG, vocabulary=VOCABULARY)
    question = ask("And in 2024?", history=(HistoryMessage("user", "Library fees in 2022?"),))
    filters = await Route(tools).route(question, "Library fees in 2022? And in 2024?", run=start_run(settings.RAG))
    assert filters == SearchFilters(department="Library", policy_year=2024)
