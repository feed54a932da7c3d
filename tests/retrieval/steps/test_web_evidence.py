"""Web pages beside documents, as evaluators see them."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from retrieval.ports import WebResult
from retrieval.steps.judge.evaluator import Evidence
from retrieval.steps.judge.judge import Rerank
from retrieval.steps.retrieve.web_search import as_candidates
from retrieval.values import ScoredChunk
from tests.retrieval.steps.fakes import HANDBOOK, context, make_tools, scored

QUESTION = "What is the capital of Australia?"
PAGES = as_candidates(
    (
        WebResult(title="Sydney travel", url="https://x.test/1", snippet="Sydney is the largest city."),
        WebResult(title="Canberra", url="https://x.test/2", snippet="Canberra is the capital city of Australia."),
    )
)


def found(number: int, text: str) -> ScoredChunk:
    """As a hybrid search gives it: with the score of each leg."""
    hit = scored(number, text)
    return replace(hit, scores=replace(hit.scores, dense=0.8 - number / 100, bm25=3.0))


DOCUMENTS = tuple(found(number, one.text) for number, one in enumerate(HANDBOOK, start=1))


async def test_a_web_page_is_as_likely_beside_documents_as_alone() -> None:
    judge = Rerank(context(make_tools(settings.RAG)))
    alone = await judge.estimate(Evidence(question=QUESTION, passages=PAGES), PAGES)
    mixed = (*DOCUMENTS, *PAGES)
    beside = await judge.estimate(Evidence(question=QUESTION, passages=mixed, listed=mixed), mixed)
    assert beside.passages[-2:] == alone.passages
    assert beside.answerability >= alone.answerability > 0.5


async def test_web_pages_leave_the_documents_estimate_as_it_was() -> None:
    judge = Rerank(context(make_tools(settings.RAG)))
    question = "What does a late resit cost?"
    alone = await judge.estimate(Evidence(question=question, passages=DOCUMENTS), DOCUMENTS)
    mixed = (PAGES[0], *DOCUMENTS, PAGES[1])
    beside = await judge.estimate(Evidence(question=question, passages=mixed), mixed)
    assert beside.passages[1:-1] == alone.passages
    assert beside.answerability == alone.answerability
