"""What a question says about the documents it is about, read by the simulated model."""

from __future__ import annotations

import pytest
from django.conf import settings

from retrieval.engine.steps.query.route import Route, read_question
from retrieval.engine.values import SearchFilters, Vocabulary
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import HANDBOOK, ask, make_tools


async def test_the_model_reads_filters_with_evidence_in_the_question(online) -> None:
    asked = ask("What does HR say about leave in 2025?")
    deps = make_tools(
        settings.RAG,
        vocabulary=Vocabulary(
            departments=("Human Resources", "Library"), policy_years=(2022, 2025)
        ),
    )
    online.reply(
        json={
            "evidence": "HR",
            "department": "Human Resources",
            "doc_type": "",
            "policy_year": 2025,
        }
    )
    filters = (await read_question(deps, asked, SearchFilters())).filters
    assert filters == SearchFilters(
        preferred=Vocabulary(departments=("Human Resources",), policy_years=(2025,))
    )


@pytest.mark.parametrize("evidence", ["the library", "", "What does HR say about leave in 2025?"])
async def test_without_evidence_no_filter_is_read(online, evidence: str) -> None:
    deps = make_tools(
        settings.RAG, vocabulary=Vocabulary(departments=("Human Resources", "Library"))
    )
    online.reply(
        json={"evidence": evidence, "department": "Library", "doc_type": "", "policy_year": None}
    )
    known = SearchFilters(doc_type="policy")
    assert await read_question(deps, ask("What does HR say about leave in 2025?"), known) == Route(
        filters=known
    )


@pytest.mark.parametrize(
    ("task", "numbers", "documents"),
    [
        ("compare", [1, 2], ("d2", "d1")), ("summarise", [3], ("d3",)), ("compare", [1], None), ("", [1], None),
        ("list", [], None), ("summarise", [99], None), ("compare", [1, 1], None),
    ],
)  # fmt: skip
async def test_a_model_may_choose_a_task_among_the_documents_offered(
    online, task: str, numbers: list[int], documents: tuple[str, ...] | None
) -> None:
    deps = make_tools(settings.RAG, HANDBOOK, documents=MemoryReader(HANDBOOK))
    online.reply(json={"evidence": "", "task": task, "documents": numbers})
    chosen = (
        await read_question(deps, ask("What do the loan rules say?"), SearchFilters(), found=["d2"])
    ).task
    assert (chosen.documents if chosen else None) == documents
    assert (
        "1. Library Loan Regulations (2022) (2022)\n2. Library Loan Regulations (2025)"
        in online.chats[0].prompt
    )
