from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.answer.clarify import Clarify, Unclear, from_documents, open_readings
from retrieval.steps.judge.evaluator import Assessment
from retrieval.values import Clarification, ScoredChunk, SearchFilters
from tests.retrieval.steps.fakes import context, make_tools, scored, start_run

LOANS = "An undergraduate may borrow {} books at once. A lost book costs EUR 40."
OLD = scored(1, LOANS.format(8), rerank=0.3, title="Loan Rules (2022)", policy_year=2022, department="Library")
NEW = scored(2, LOANS.format(12), rerank=0.9, title="Loan Rules (2025)", policy_year=2025, department="Library")
LAPTOPS = scored(6, "A borrowed laptop costs EUR 5.", rerank=0.9, title="Loan Rules (2025)", policy_year=2025)
STAFF = scored(3, "Leave is 28 days.", rerank=0.9, title="Annual Leave", department="Human Resources")
STUDENT = scored(4, "It takes up to two terms.", rerank=0.2, title="Leave of Absence", department="Registry")
HALLS = scored(5, "Those who leave give back the key.", rerank=0.4, title="Housing Policy", department="Housing")
BOOKS = "How many books may an undergraduate borrow at once?"


def found(*candidates: ScoredChunk, **fields: Any) -> Assessment:
    return Assessment(verdict="ANSWER", candidates=candidates, **fields)


def readings(question: str, *candidates: ScoredChunk, filters: SearchFilters | None = None, **fields: Any) -> list[str]:
    return [
        one.chunk.title for one in open_readings(found(*candidates, **fields), question, filters or SearchFilters())
    ]


def test_versions_of_one_document_leave_the_year_open() -> None:
    assert readings(BOOKS, NEW, OLD, STAFF) == ["Loan Rules (2025)", "Loan Rules (2022)"]
    assert not readings(BOOKS + " in 2025", NEW, OLD)
    assert not readings(BOOKS, NEW, OLD, filters=SearchFilters(policy_year=2025))


def test_a_version_that_says_less_about_the_question_leaves_nothing_open() -> None:
    assert not readings("What does a borrowed laptop cost at the library?", LAPTOPS, OLD)


def test_a_vague_question_is_open_between_the_documents_that_are_about_it() -> None:
    assert readings("How long can I take leave?", STAFF, STUDENT, HALLS) == ["Annual Leave", "Leave of Absence"]


def test_where_no_title_tells_all_that_hold_as_much_of_it_count() -> None:
    keys = scored(7, "The key is at the gate.", rerank=0.1, title="Porters")
    assert readings("Where is the key?", HALLS, keys) == ["Housing Policy", "Porters"]


@pytest.mark.parametrize(
    "question",
    [
        "How long can administrative staff take unpaid leave?",  # says enough
        "How long is leave by the rules of the Registry?",  # names a department
        "How long is annual leave?",  # one document says more of it than the others
        "How long can I take it?",  # no word with a meaning of its own
    ],
)
def test_a_question_that_says_which_document_it_is_about_is_not_open(question: str) -> None:
    assert not readings(question, STAFF, STUDENT, HALLS)


FILM_A = scored(21, "The film opened in 1950. It was shot in Rome.", rerank=0.6, title="Red Road (film)")
FILM_B = scored(22, "The film opened in 1971 in Oslo.", rerank=0.5, title="The Ferry")
BAND = scored(23, "The band broke up.", rerank=0.4, title="Cold Hands")


@pytest.mark.parametrize("question", ["When did the film open?", "In which year did it open?"])
def test_a_reference_to_something_unnamed_is_open_between_the_things_that_fit(question: str) -> None:
    assert readings(question, FILM_A, FILM_B, BAND) == ["Red Road (film)", "The Ferry"]


@pytest.mark.parametrize(
    "question",
    [
        "When did Red Road, the film, open?",  # names an option
        "When did the film Blue Hills open?",  # names a thing that is in no option
        "When did the film that opened in 1950 end?",  # a year
        "Who composed the music of the film's second part?",  # nothing found holds it
    ],
)
def test_a_question_that_names_a_thing_is_not_open_between_others(question: str) -> None:
    assert not readings(question, FILM_A, FILM_B, BAND)


def test_only_passages_that_hold_about_as_much_of_the_question_compete() -> None:
    sparse = scored(24, "Rome is old.", rerank=0.5, title="Rome")
    assert not readings("In which year was the film shot by the river in Rome?", FILM_A, sparse)


@pytest.mark.parametrize("question", ["他出生于哪里？", "该站有几个站台？", "該站有幾個站台？", "这部电影由谁执导？"])
def test_a_chinese_reference_is_open_between_the_things_that_fit(question: str) -> None:
    texts = "他出生于南京。该站有两个站台。这部电影由张某执导。", "他出生于苏州。该站有四个站台。这部电影由李某执导。"
    found_ = [scored(30 + at, text, rerank=0.5, title=f"条目{'甲乙'[at]}") for at, text in enumerate(texts)]
    assert readings(question, *found_) == ["条目甲", "条目乙"]


def test_other_is_no_reference_in_chinese() -> None:
    texts = "其他规定见附件一。", "其他规定见附件二。"
    found_ = [scored(40 + at, text, rerank=0.5, title=f"办法{'甲乙'[at]}") for at, text in enumerate(texts)]
    assert not readings("研究生的其他培养费用规定有哪些？", *found_)


def test_a_general_word_is_open_between_the_narrower_things_that_documents_call_it() -> None:
    fees = scored(51, "The tuition fee is paid back within a month.", rerank=0.9, title="Refunds")
    rooms = scored(52, "A deposit is taken. It is paid back after moving out.", rerank=0.1, title="Housing")
    assert readings("When do I get my money back?", fees, rooms, STAFF) == ["Refunds", "Housing"]


def test_a_version_that_another_one_says_it_replaces_is_no_reading() -> None:
    text = LOANS.format(12) + " These rules replace the Loan Rules of 2022."
    new = scored(61, text, rerank=0.9, title="Loan Rules (2025)", policy_year=2025)
    assert not readings(BOOKS, new, OLD)


def test_passages_of_one_article_are_no_different_readings() -> None:
    parts = [scored(number, "Leave is granted.", rerank=0.5, title="Leave") for number in (11, 12)]
    assert not readings("How long is leave?", *parts)


def test_documents_that_hold_different_words_of_it_are_no_readings_of_one_question() -> None:
    porters = scored(7, "The porters are at the gate.", rerank=0.5, title="Porters")
    assert not readings("Who is the porter for leave?", STAFF, porters)


def test_what_a_model_scored_low_is_no_reading() -> None:
    assert not readings("How long can I take leave?", STAFF, STUDENT, scored_by_model=True)
    assert not readings(BOOKS, NEW, OLD, scored_by_model=True)


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
    result = await Clarify(context(make_tools(settings.RAG), run))(Unclear(asked, ()))
    assert result == Clarification(question="Of which rules?", options=("2025", "2022"))
    assert run.trace.steps[0].name == "clarify"
