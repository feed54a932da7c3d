from django.conf import settings

from retrieval.steps.clarify import Clarify, from_documents, is_open
from retrieval.steps.judge import Assessment
from retrieval.values import Clarification, SearchFilters
from tests.retrieval.steps.fakes import scored, start_run

OLD = scored(1, "8 books", rerank=0.9, title="Loan Rules (2022)", policy_year=2022, department="Library")
NEW = scored(2, "12 books", rerank=0.92, title="Loan Rules (2025)", policy_year=2025, department="Library")
STAFF = scored(3, "leave", rerank=0.9, title="Annual Leave", department="Human Resources", doc_type="policy")
STUDENT = scored(4, "leave", rerank=0.9, title="Leave of Absence", department="Registry", doc_type="policy")
WEAK = scored(5, "else", rerank=0.2, title="Loan Rules (2019)", policy_year=2019)


def found(*candidates, **fields) -> Assessment:
    return Assessment(verdict="ANSWER", candidates=candidates, **fields)


def test_versions_of_one_document_leave_the_year_open() -> None:
    question = "How many books may an undergraduate borrow at once?"
    assert is_open(found(NEW, OLD, WEAK), question, SearchFilters())
    assert not is_open(found(NEW, OLD, WEAK), question + " in 2025", SearchFilters())
    assert not is_open(found(NEW, OLD, WEAK), question, SearchFilters(policy_year=2025))
    assert not is_open(found(NEW, WEAK), question, SearchFilters())


def test_a_vague_question_that_several_documents_answer_is_open() -> None:
    assert is_open(found(STAFF, STUDENT), "How long can I take leave?", SearchFilters())
    assert not is_open(found(STAFF, STUDENT), "How long can administrative staff take unpaid leave?", SearchFilters())
    assert not is_open(found(STAFF, STUDENT), "Registry leave?", SearchFilters())


def test_options_are_the_values_that_tell_the_documents_apart() -> None:
    assert from_documents([OLD, NEW], "en").options == ("2025", "2022")
    assert from_documents([STAFF, STUDENT], "zh-hant") == Clarification(
        question="您指的是哪個部門？", options=("Human Resources", "Registry")
    )
    same_office = scored(6, "leave", title="Parental Leave", department="Registry")
    assert from_documents([STUDENT, same_office], "en").options == ("Leave of Absence", "Parental Leave")


async def test_the_models_question_is_kept_and_its_missing_options_filled_in() -> None:
    run = start_run(settings.RAG)
    asked = found(OLD, NEW, clarification=Clarification(question="Of which rules?", options=("one",)))
    result = await Clarify().clarify(asked, "books?", run=run, language="en")
    assert result == Clarification(question="Of which rules?", options=("2025", "2022"))
    assert run.trace.steps[0].name == "clarify"
