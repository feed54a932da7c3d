import pytest
from django.conf import settings

from retrieval.steps.query.route import Route, filters_by_model, filters_in, with_evidence
from retrieval.steps.schemas import QuestionFilters
from retrieval.steps.step import Asked
from retrieval.values import HistoryMessage, SearchFilters, Vocabulary
from tests.retrieval.steps.fakes import ask, context, make_tools, start_run

NOTHING = SearchFilters()
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
    filters = await Route(context(tools))(Asked(question, question.text))
    assert filters == SearchFilters(department="Library", policy_year=2022, preferred=frozenset({"department"}))


async def test_the_path_tells_the_filters_in_words(settings) -> None:
    run = start_run(settings.RAG)
    question = ask("Rules", filters=SearchFilters(department="Library", tags=("exams", "financial aid")))
    await Route(context(make_tools(settings.RAG, vocabulary=VOCABULARY), run))(Asked(question, question.text))
    assert [step.summary for step in run.trace.steps] == ["department = Library, tags = exams, financial aid"]


async def test_the_messages_own_year_wins_over_the_last_questions() -> None:
    tools = make_tools(settings.RAG, vocabulary=VOCABULARY)
    question = ask("And in 2024?", history=(HistoryMessage("user", "Library fees in 2022?"),))
    filters = await Route(context(tools))(Asked(question, "Library fees in 2022? And in 2024?"))
    assert filters == SearchFilters(department="Library", policy_year=2024).in_mode("prefer")


HR = Vocabulary(departments=("Human Resources", "财务处"), doc_types=("policy", "form"), policy_years=(2024, 2025))


def reads(**fields) -> dict:
    return {"evidence": "", "department": "", "doc_type": "", "policy_year": None} | fields


async def by_model(question: str, known: SearchFilters = NOTHING, vocabulary: Vocabulary = HR):
    tools = make_tools(settings.RAG, vocabulary=vocabulary)
    run = start_run(settings.RAG)
    filters = await filters_by_model(context(tools, run), Asked(ask(question), question), known)
    return filters, run.trace.steps


async def test_the_model_names_a_value_that_the_question_says_in_other_words(online) -> None:
    online.reply(match="Departments:", json=reads(evidence="HR", department="Human Resources"))
    filters, (step,) = await by_model("What does HR say about parental leave?")
    assert filters == SearchFilters(department="Human Resources").in_mode("prefer")
    assert (step.name, step.status) == ("route", "ok")
    assert step.detail["from_model"] == {"department": "Human Resources"}


async def test_filters_that_are_known_win_over_the_models(online) -> None:
    online.reply(match="Departments:", json=reads(evidence="HR", department="Human Resources", doc_type="form"))
    filters, _ = await by_model("Which HR form?", SearchFilters(department="财务处"))
    assert filters == SearchFilters(department="财务处", doc_type="form", preferred=frozenset({"doc_type"}))


async def test_no_call_is_made_where_there_is_nothing_to_choose(online) -> None:
    same = Vocabulary(departments=("Library",), doc_types=("policy",))
    for known, vocabulary in ((NOTHING, same), (SearchFilters(department="财务处", doc_type="form"), HR)):
        filters, steps = await by_model("What does HR say?", known, vocabulary)
        assert (filters, list(steps)) == (known, [])


async def test_without_a_model_the_known_filters_stay_and_the_path_says_so(offline) -> None:
    known = SearchFilters(department="财务处")
    filters, (step,) = await by_model("What does HR say?", known)
    assert filters == known
    assert step.status == "degraded"


@pytest.mark.parametrize(
    "read",
    [
        reads(evidence="", department="Human Resources"),
        reads(evidence="staff office", department="Human Resources"),  # not in the question
        reads(evidence="What does HR say of 2024?", department="Human Resources"),  # all of it is no evidence
        reads(evidence="HR", department="Library"),  # no document is of it
        reads(evidence="HR", policy_year=2025),  # another year than the question's
    ],
)
def test_what_the_model_says_without_evidence_is_not_believed(read: dict) -> None:
    assert not with_evidence(QuestionFilters(**read), "What does HR say of 2024?", HR)
