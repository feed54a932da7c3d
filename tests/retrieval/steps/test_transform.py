from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.steps.query import transform as transform_module
from retrieval.steps.query.transform import transform_question
from retrieval.steps.retrieve.refine import Refinement, search_again
from retrieval.steps.step import Asked
from retrieval.values import AnswerOptions, Query, SearchFilters
from tests.retrieval.steps.fakes import HANDBOOK, MemorySearcher, ask, context, make_tools, start_run

COMPOUND = "What does a late resit cost and when does its registration close?"
SPECIFIC = "Why does Wi-Fi error NLU-E107 appear when I connect my phone?"


async def transform(text: str, *, good: bool = False, **fields):
    run = start_run(settings.RAG)
    run.first_search.finish(good=good)
    return await transform_question(context(make_tools(settings.RAG), run), Asked(ask(text, **fields), text)), run.trace


async def test_a_compound_question_is_decomposed_by_the_model(online) -> None:
    online.reply(match='"sub_queries"', json={"sub_queries": ["resit cost", "resit  cost", "resit closing date"]})
    queries, trace = await transform(COMPOUND)
    assert queries == (Query("resit cost", kind="sub_query"), Query("resit closing date", kind="sub_query"))
    assert [(step.name, step.status) for step in trace.steps] == [("decompose", "ok")]
    assert len(online.chats) == 1


async def test_a_specific_question_gets_a_broader_one_from_the_model(online) -> None:
    online.reply(match='"step_back_query"', json={"step_back_query": "Wi-Fi error messages"})
    queries, trace = await transform(SPECIFIC)
    assert queries == (Query("Wi-Fi error messages", kind="step_back"),)
    assert trace.steps[0].name == "step_back"


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (COMPOUND, ["What does a late resit cost", "when does its registration close resit"]),
        (SPECIFIC, ["Why does Wi-Fi error appear"]),
    ],
)
async def test_without_a_model_rules_do_it(offline, question: str, texts: list[str]) -> None:
    queries, trace = await transform(question)
    assert [query.text for query in queries] == texts
    assert trace.steps[0].status == "degraded"


async def test_nothing_is_spent_on_a_clearly_good_search_or_a_simple_question(online) -> None:
    given_way, trace = await transform(COMPOUND, good=True)
    simple, empty = await transform("How large is the deposit?")
    assert (given_way, simple) == ((), ())
    assert [step.status for step in trace.steps] == ["skipped"]
    assert not online.chats + empty.steps


async def test_constants_and_requests_switch_it_off(online, monkeypatch) -> None:
    assert (await transform(COMPOUND, options=AnswerOptions(rewrite=False)))[0] == ()
    monkeypatch.setattr(transform_module, "DECOMPOSE_ENABLED", False)
    monkeypatch.setattr(transform_module, "STEP_BACK_ENABLED", False)
    assert (await transform(COMPOUND))[0] == (await transform(SPECIFIC))[0] == ()
    assert not online.chats


async def test_the_wider_refinement_steps_back_once(offline) -> None:
    searcher = MemorySearcher(HANDBOOK)
    tools = replace(make_tools(settings.RAG), searcher=searcher)
    served = (Query(SPECIFIC), Query("Wi-Fi errors", kind="step_back"))
    for queries in ((Query(SPECIFIC),), served):
        refinement = Refinement(
            question=ask(SPECIFIC), queries=queries, filters=SearchFilters(), stage="wide", number=2, missing="",
            use_model=False,
        )  # fmt: skip
        await search_again(context(tools), refinement)
    kinds = [[query.kind for query in request.queries] for request in searcher.requests]
    assert [kind.count("step_back") for kind in kinds] == [1, 1]
    assert searcher.requests[0].queries[-1].text == "Why does Wi-Fi error appear"
