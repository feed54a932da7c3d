import pytest
from django.conf import settings

from retrieval.steps.query.hyde import hyde
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.query.wording import without_filler
from retrieval.steps.step import Asked
from retrieval.values import AnswerOptions, Query
from tests.retrieval.steps.fakes import ask, context, make_tools, start_run

QUESTION = "Can you please tell me what the resit fee is?"


async def rewrite(text: str = QUESTION, **fields):
    run = start_run(settings.RAG)
    wanted = Wanted(asked=Asked(ask(text, **fields), text), tried=(text,))
    return await Rewrite(context(make_tools(settings.RAG), run))(wanted), run.trace


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (QUESTION, "what the resit fee is"),
        ("I want to know about parking.", "parking"),
        ("请问图书馆几点关门？", "图书馆几点关门"),
        ("麻煩您告訴我獎學金金額，謝謝！", "獎學金金額"),
        ("please", "please"),
    ],
)
def test_filler_words_are_removed(text: str, bare: str) -> None:
    assert without_filler(text) == bare


async def test_variants_of_the_model_are_cleaned_and_counted(online) -> None:
    online.reply(json={"queries": [" resit  fee ", "Resit fee", "", QUESTION, "cost of a resit", "retake", "fourth"]})
    queries, _ = await rewrite()
    assert [query.text for query in queries] == ["resit fee", "cost of a resit", "retake"]
    assert {query.kind for query in queries} == {"rewrite"}


async def test_without_a_model_the_filler_free_question_is_the_variant(offline) -> None:
    queries, trace = await rewrite()
    assert queries == (Query("what the resit fee is", kind="rewrite"),)
    assert trace.degraded[0]["step"] == "rewrite"


async def test_malformed_json_falls_back(online) -> None:
    online.reply(text="not json at all")
    queries, trace = await rewrite()
    assert [query.text for query in queries] == ["what the resit fee is"]
    assert "wrong form" in trace.degraded[0]["reason"]


async def test_a_request_can_switch_rewriting_off(online) -> None:
    queries, trace = await rewrite(options=AnswerOptions(rewrite=False))
    assert queries == ()
    assert trace.steps[0].status == "skipped"
    assert not online.chats


async def test_hyde_is_a_vector_only_query(online) -> None:
    online.reply(json={"hypothetical_passage": "A resit costs\nEUR 55."})
    run = start_run(settings.RAG)
    queries = await hyde(context(make_tools(settings.RAG), run).deps, ask(QUESTION))
    assert queries == (Query("A resit costs EUR 55.", kind="hyde", vector_only=True),)


async def test_hyde_is_left_out_without_a_model(offline) -> None:
    run = start_run(settings.RAG)
    queries = await hyde(context(make_tools(settings.RAG), run).deps, ask(QUESTION))
    assert queries == ()
    assert run.trace.steps[0].status == "degraded"
