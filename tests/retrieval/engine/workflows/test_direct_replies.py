"""Messages that ask nothing of the documents: no term of them stands in any document."""

from __future__ import annotations

import pytest

from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.values import (
    CollectionRef,
    EmbeddingSpace,
    ScoredChunk,
    Scores,
    SearchFilters,
    SearchScope,
)
from retrieval.engine.workflows.registry import NAMES
from tests.retrieval.engine.steps.fakes import HANDBOOK, MemorySearcher, ask
from tests.retrieval.engine.workflows.runs import names, run

HANDBOOKS = CollectionRef(id="c1", name="handbook", space=EmbeddingSpace("test", 8), documents=6)
ROUTE = '"task"'
every_workflow = pytest.mark.parametrize("name", NAMES)


class Nearest(MemorySearcher):
    """Vectors always find something, however far away it is: here the rule about the deposit."""

    async def search(self, request: SearchRequest) -> SearchResult:
        found = await super().search(request)
        near = ScoredChunk(chunk=self.chunks[2], scores=Scores(dense=0.1, fused=0.1, final=0.1))
        return found if found.candidates else SearchResult(candidates=(near,))


def message(text: str, **fields: object):
    return ask(text, scope=SearchScope((HANDBOOKS,)), **fields)


@every_workflow
@pytest.mark.parametrize("text", ["hello", "Thanks!", "what can you do?"])
async def test_without_a_model_the_help_stands_in_place_of_random_passages(
    offline, name: str, text: str
) -> None:
    result, trace, events = await run(name, message(text), searcher=Nearest(HANDBOOK))
    assert result.decision == "ANSWER"
    assert "handbook" in result.text and "Three things to try" in result.text
    assert result.text == events.text and not any(source.cited for source in result.sources)
    assert trace.steps[-1].detail["reason"] == "no word of the message stands in a document"
    assert [step.detail.get("help") for step in trace.steps if step.name == "generate"] == [True]


async def test_the_help_is_in_the_language_of_the_message(offline) -> None:
    result, *_ = await run(
        "corrective", message("你能做什么？", language="zh-hans"), searcher=Nearest(HANDBOOK)
    )
    assert "可以试试这三件事" in result.text


@every_workflow
@pytest.mark.parametrize(
    "text", ["Wie hoch ist die Kaution?", "Kaution für ein Zimmer", "Where can I park?"]
)
async def test_a_question_in_other_words_gets_the_nearest_passages_and_the_help(
    offline, name: str, text: str
) -> None:
    result, trace, events = await run(name, message(text), searcher=Nearest(HANDBOOK))
    assert result.decision == "ANSWER" and result.text == events.text
    line = "No AI model is connected. These passages fit best."
    assert result.text.startswith(f"{line}\n\n**Student Housing Policy** [1]")
    assert "EUR 300" in result.text and "Three things to try" in result.text.partition("EUR 300")[2]
    assert [source.cited for source in result.sources] == [True]
    assert not any("help" in step.detail for step in trace.steps), "passages are an answer"
    assert "generate" in {entry["step"] for entry in trace.degraded}


async def test_what_no_passage_is_near_to_lists_what_is_nearest_below_the_help(offline) -> None:
    result, *_ = await run("corrective", message("good morning"), searcher=Nearest(HANDBOOK))
    assert "nearest in meaning" in result.text and "EUR 300" not in result.text
    assert [source.cited for source in result.sources] == [False]


async def test_filters_of_the_request_hold_for_what_is_nearest(offline) -> None:
    searcher = Nearest(HANDBOOK)
    await run(
        "corrective",
        message("Kaution?", filters=SearchFilters(department="Housing")),
        searcher=searcher,
    )
    assert [request.filters.department for request in searcher.requests] == ["Housing"]


@every_workflow
async def test_a_message_that_names_a_value_is_looked_up_though_no_word_of_it_stands_in_a_document(
    offline, name: str
) -> None:
    result, trace, _ = await run(name, message("registry!"), searcher=Nearest(HANDBOOK))
    assert "Three things to try" not in result.text
    assert "Registry" in next(step for step in trace.steps if step.name == "route").summary


@every_workflow
async def test_a_model_replies_directly_where_it_says_that_no_document_is_asked_for(
    online, name: str
) -> None:
    online.reply(match=ROUTE, json={"task": "chat"})
    online.reply(
        match='"route"', json={"route": "direct", "standalone_question": "hello", "queries": []}
    )
    online.reply(match="grade|score", structured=True, json={"score": 9, "missing": ""})
    online.reply(
        match="(?s)<help>.*handbook", structured=False, text="Hello! Ask me about the handbook."
    )
    result, trace, _ = await run(name, message("hello"), searcher=Nearest(HANDBOOK))
    assert (result.decision, result.text) == ("ANSWER", "Hello! Ask me about the handbook.")
    assert "retrieve" not in names(trace)


async def test_the_help_serves_where_a_model_fails_to_reply(online) -> None:
    online.reply(match=ROUTE, json={"task": "chat"})
    online.reply(structured=False, status=500, error="out of memory")
    result, *_ = await run("corrective", message("what can you do?"), searcher=Nearest(HANDBOOK))
    assert result.decision == "ANSWER" and "Three things to try" in result.text


async def test_a_question_in_words_of_its_own_is_looked_up_with_a_model(online) -> None:
    online.reply(match=ROUTE, json={"task": ""})
    _, trace, _ = await run(
        "corrective", message("Wie hoch ist die Kaution?"), searcher=Nearest(HANDBOOK)
    )
    assert "retrieve" in names(trace)


async def test_a_word_that_stands_in_a_document_is_looked_up(offline) -> None:
    result, *_ = await run("corrective", message("deposit"))
    assert "EUR 300" in result.text
