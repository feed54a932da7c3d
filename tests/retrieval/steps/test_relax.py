"""Preferred filters give way where what they leave does not answer; over a real Milvus Lite, without a model."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings

from retrieval.ports import SearchRequest
from retrieval.providers.lexical import SPACE, embed_texts
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex
from retrieval.steps.query.route import filters_in
from retrieval.steps.retrieve.relax import search_relaxing, without_next
from retrieval.text.analysis import terms_text
from retrieval.trace import Trace
from retrieval.values import (
    Answer,
    CollectionRef,
    IndexRow,
    Query,
    Question,
    SearchFilters,
    SearchScope,
    StoredChunk,
)
from retrieval.workflows import WORKFLOWS
from tests.retrieval.steps.fakes import make_tools, vocabulary_of
from tests.retrieval.test_search import OneEmbedder, Store

TRAVEL = {
    "Travel Policy 2023": (2023, "The daily allowance for meals on business trips is EUR 24. Receipts are not needed."),
    "Travel Policy 2025": (2025, "The daily allowance for meals on business trips is EUR 31. Receipts are not needed."),
    "差旅费管理办法（2023年）": (2023, "出差人员的伙食补助费标准为每人每天100元，按出差天数计算。"),
    "差旅费管理办法（2025年）": (2025, "出差人员的伙食补助费标准为每人每天120元，按出差天数计算。"),
    "Parking Rules": (2024, "The fee for a parking permit is EUR 15 a month. Permits are sold at the gate."),
    "Library Rules": (2024, "Late books cost a fee of EUR 1 a day. The library closes at ten."),
    "食堂管理规定": (2024, "食堂每天早上七点开门，晚上八点关门。"),
}  # fmt: skip


@dataclass
class Policies:
    """Those policies in an index, one chunk each, and all that a workflow needs to search them."""

    index: MilvusIndex
    store: Store = field(default_factory=Store)
    ref: CollectionRef = field(default_factory=lambda: CollectionRef(id=str(uuid.uuid4()), name="c", space=SPACE))

    async def fill(self) -> None:
        vectors = embed_texts([text for _, text in TRAVEL.values()])
        rows = []
        for (title, (year, text)), vector in zip(TRAVEL.items(), vectors, strict=True):
            common: dict[str, Any] = {
                "chunk_id": str(uuid.uuid4()), "document_id": str(uuid.uuid4()), "collection_id": self.ref.id, "seq": 0,
                "policy_year": year,
            }  # fmt: skip
            rows.append(IndexRow(**common, terms=terms_text(f"{title}\n{text}"), vector=vector))
            self.store.chunks[common["chunk_id"]] = StoredChunk(**common, title=title, text=text)
        await self.index.upsert(SPACE, rows)

    @property
    def searcher(self) -> HybridSearcher:
        return HybridSearcher(
            index=self.index, store=self.store, models=OneEmbedder(), settings=settings.RAG.search  # type: ignore[arg-type]
        )  # fmt: skip

    async def search(self, text: str, filters: SearchFilters) -> Any:
        request = SearchRequest(queries=(Query(text),), scope=SearchScope((self.ref,)), filters=filters)
        return await search_relaxing(self.searcher, request, answers=settings.RAG.corrective.weak_score)

    async def answer(self, text: str, workflow: str = "corrective", **fields: Any) -> tuple[Answer, Trace]:
        vocabulary = vocabulary_of(tuple(self.store.chunks.values()))
        tools = make_tools(settings.RAG, searcher=self.searcher, vocabulary=vocabulary)
        trace = Trace()
        question = Question(text=text, scope=SearchScope((self.ref,)), **fields)
        return await WORKFLOWS[workflow](tools).answer(question, trace=trace), trace


@pytest.fixture
async def policies(index: MilvusIndex) -> Policies:
    policies = Policies(index)
    await policies.fill()
    return policies


OF_2023 = [
    ("What was the daily allowance for meals on business trips in 2023?", "EUR 24", "EUR 31"),
    ("2023年出差的伙食补助费标准是每天多少？", "100元", "120元"),
    ("2023年出差的伙食補助費標準是每天多少？", "100元", "120元"),
]


@pytest.mark.parametrize(("question", "of_2023", "of_2025"), OF_2023, ids=["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_a_single_passage_of_the_year_asked_for_answers_alone(
    offline: None, policies: Policies, workflow: str, question: str, of_2023: str, of_2025: str
) -> None:
    answer, trace = await policies.answer(question, workflow)
    assert answer.decision == "ANSWER"
    assert of_2023 in answer.text and of_2025 not in answer.text
    assert {source.chunk.policy_year for source in answer.sources} == {2023}
    assert not any("relaxed" in step.detail for step in trace.steps)


PARKING = "What is the fee for a parking permit in 2023?"


async def test_a_filter_of_the_question_gives_way_where_what_it_left_does_not_answer(policies: Policies) -> None:
    filters = filters_in(PARKING, vocabulary_of(tuple(policies.store.chunks.values())))
    assert filters.as_dict() == {"policy_year": 2023}
    result, looks = await policies.search(PARKING.removesuffix(" in 2023?"), filters)
    assert result.relaxed == ("policy_year",)
    assert result.candidates[0].chunk.title == "Parking Rules"
    assert [look.as_dict()["filters"] for look in looks] == [{"policy_year": 2023}, {}]
    assert looks[0].result.candidates, "the filter left something, and not the answer"


async def test_the_path_says_what_was_relaxed_and_why(offline: None, policies: Policies) -> None:
    question = "食堂2025年每天早上几点开门？"
    answer, trace = await policies.answer(question)
    entry = next(step for step in trace.steps if step.name == "retrieve")
    assert entry.detail["relaxed"] == ["policy_year"]
    assert "filter relaxed, since what it left does not answer: policy_year" in entry.summary
    before, after = entry.detail["looked"]
    assert (before["filters"], after["filters"]) == ({"policy_year": 2025}, {})
    assert before["answerability"] < settings.RAG.corrective.weak_score
    assert before["answerability"] < after["answerability"]
    assert answer.sources[0].chunk.title == "食堂管理规定"


@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_a_strict_filter_of_the_request_is_never_relaxed(
    offline: None, policies: Policies, workflow: str
) -> None:
    question = "What is the fee for a parking permit?"
    answer, trace = await policies.answer(question, workflow, filters=SearchFilters(policy_year=2023))
    assert "EUR 15" not in answer.text
    assert not any("relaxed" in step.detail for step in trace.steps)


@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_a_preferred_filter_of_the_request_gives_way(offline: None, policies: Policies, workflow: str) -> None:
    question, preferred = "What is the fee for a parking permit?", SearchFilters(policy_year=2023).in_mode("prefer")
    answer, _ = await policies.answer(question, workflow, filters=preferred)
    assert answer.decision == "ANSWER"
    assert "EUR 15" in answer.text


async def test_where_nothing_answers_the_filter_stays(policies: Policies) -> None:
    result, looks = await policies.search("zebra quagga", SearchFilters(policy_year=2025).in_mode("prefer"))
    assert (result.relaxed, len(looks)) == ((), 2)
    assert {candidate.chunk.policy_year for candidate in result.candidates} == {2025}


async def test_a_filter_that_left_nothing_gives_way_also_where_nothing_answers(policies: Policies) -> None:
    result, _ = await policies.search("zebra quagga", SearchFilters(policy_year=1999).in_mode("prefer"))
    assert result.relaxed == ("policy_year",)
    assert result.candidates


def test_preferred_filters_go_one_by_one_and_strict_ones_stay() -> None:
    filters = SearchFilters(
        department="Library", doc_type="regulation", policy_year=0, tags=("exams",),
        preferred=frozenset({"tags", "policy_year", "department"}),
    )  # fmt: skip
    left = []
    while filters.preferred:
        filters = without_next(filters)
        left.append(list(filters.as_dict()))
    assert left == [["department", "doc_type", "policy_year"], ["department", "doc_type"], ["doc_type"]]
