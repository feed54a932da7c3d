"""What is asked back: the options tell the readings' documents apart, and each stands for its document."""

from __future__ import annotations

import pytest

from retrieval.engine.steps.answer.clarify import from_documents
from retrieval.engine.values import Clarification, OpenClarification
from retrieval.engine.workflows.base import apply_clarification_choice
from tests.retrieval.engine.steps.fakes import ask, scored

OLD = scored(1, "Eight books.", title="Loan Rules (2022)", policy_year=2022, department="Library")
NEW = scored(2, "Twelve books.", title="Loan Rules (2025)", policy_year=2025, department="Library")
STUDENT = scored(4, "Up to two terms.", title="Leave of Absence", department="Registry")
PARENTS = scored(6, "Leave for parents.", title="Parental Leave", department="Registry")


def test_documents_are_told_apart_by_their_titles_and_where_these_are_equal_by_year_section_or_file() -> (
    None
):
    assert from_documents([STUDENT, PARENTS], "en").options == (
        "Leave of Absence",
        "Parental Leave",
    )
    years = [scored(5 + at, "x", title="Loan Rules", policy_year=2022 + at) for at in (0, 1)]
    assert from_documents(years, "en").options == ("Loan Rules (2022)", "Loan Rules (2023)")
    same = [scored(7 + at, "x", title="Notice", heading=f"Site {at}") for at in (0, 1)]
    assert from_documents(same, "en").options == ("Notice: Site 0", "Notice: Site 1")
    files = [scored(7 + at, "x", title="Notice", file_name=f"{at}.md") for at in (0, 1)]
    assert from_documents(files, "en").options == ("0.md", "1.md")


def test_each_option_stands_for_its_document() -> None:
    assert from_documents([NEW, OLD], "en").documents == ("d2", "d1")


ASKED = Clarification(question="Which year?", options=("2025", "2022"), documents=("d2", "d1"))


@pytest.mark.parametrize(
    ("reply", "documents"), [("2022", ("d1",)), (" 2025 ", ("d2",)), ("both", ()), ("2023", ())]
)
def test_an_option_that_is_chosen_binds_and_no_other_reply_does(
    reply: str, documents: tuple[str, ...]
) -> None:
    question = ask(
        reply, open_clarification=OpenClarification(question="How many books?", clarification=ASKED)
    )
    bound = apply_clarification_choice(question)
    assert bound.filters.documents == documents
    assert bound.standalone == ("How many books?" if documents else reply)
