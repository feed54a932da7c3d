"""Options of a request, through the API and a WebSocket: real database, real Milvus Lite, a model that is simulated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import Message
from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import close_engine
from retrieval.knowledge.index_sync.repair import index_repair
from tests.chat.conftest import Api
from tests.factories import ChunkFactory, CollectionFactory
from tests.ollama_server import EMBED_DIM, EMBED_MODEL, OllamaServer

QUESTION = "What is the deposit for a hall?"
HALLS = ("Lakeside", "Northgate", "Hillcrest", "Riverbank")
WRITER, SCORES = "Task: WRITE", "You score how well"


@pytest.fixture
async def halls(
    online: OllamaServer,
    rag_settings: Callable[..., None],
    milvus_settings: MilvusSettings,
    transactional_db: None,
) -> AsyncIterator[None]:
    """A document about each hall's deposit."""
    rag_settings(milvus=milvus_settings)
    collection = await sync_to_async(CollectionFactory)(
        embedding_model=EMBED_MODEL, embedding_dim=EMBED_DIM
    )
    for number, hall in enumerate(HALLS, start=1):
        text = f"The deposit for a room in hall {hall} is EUR {number}00."
        document = {"document__title": f"Hall {hall}", "document__collection": collection}
        await sync_to_async(ChunkFactory)(text=text, heading="", seq=0, indexed=False, **document)
    await index_repair()
    yield
    await close_engine()


def score_by_hall(online: OllamaServer, *best_first: str) -> None:
    """The simulated model scores 10, 8, 6 … in this order, whatever the order of the search."""

    def scores(prompt: str) -> list[int]:
        shown = sorted(HALLS, key=lambda hall: prompt.index(f"in hall {hall}"))
        return [10 - 2 * best_first.index(hall) for hall in shown]

    online.reply(match=SCORES, json=lambda prompt: {"scores": scores(prompt)})


async def answered(api: Api, **options: Any) -> dict[str, Any]:
    response = await api.ask(QUESTION, options=options)
    assert response.status_code == 200, response.content
    message: dict[str, Any] = response.json()
    return message


def shown_in(online: OllamaServer) -> list[str]:
    """The halls in the order of the writing model's prompt."""
    prompt = next(request.prompt for request in online.chats if WRITER in request.prompt)
    return sorted(
        (hall for hall in HALLS if f"in hall {hall}" in prompt), key=lambda hall: prompt.index(hall)
    )


async def test_a_model_that_reranks_gives_each_source_its_score(
    api: Api, online: OllamaServer, halls: None
) -> None:
    score_by_hall(online, "Riverbank", "Lakeside", "Hillcrest", "Northgate")
    message = await answered(api, rerank=True)
    assert [source["title"] for source in message["sources"]] == [
        "Hall Riverbank", "Hall Lakeside", "Hall Hillcrest", "Hall Northgate"
    ]  # fmt: skip
    assert [source["scores"]["rerank"] for source in message["sources"]] == [1.0, 0.8, 0.6, 0.4]
    assert message["usage"]["llm_rounds"] == 2


async def test_top_n_and_min_score_bound_what_is_answered_from(
    api: Api, online: OllamaServer, halls: None
) -> None:
    score_by_hall(online, "Riverbank", "Lakeside", "Hillcrest", "Northgate")
    assert len((await answered(api, rerank=True, top_n=1))["sources"]) == 1
    message = await answered(api, rerank=True, min_score=0.7)
    assert [source["title"] for source in message["sources"]] == ["Hall Riverbank", "Hall Lakeside"]
    (reranked,) = [step for step in message["decision_path"] if step["name"] == "rerank"]
    assert reranked["summary"].endswith("left out: 2")


async def test_sandwich_puts_the_best_passages_at_both_ends_of_the_prompt(
    api: Api, online: OllamaServer, halls: None
) -> None:
    score_by_hall(online, "Riverbank", "Lakeside", "Hillcrest", "Northgate")
    await answered(api, rerank=True, position_strategy="sandwich")
    assert shown_in(online) == ["Riverbank", "Hillcrest", "Northgate", "Lakeside"]


async def test_a_socket_takes_the_same_options(
    socket: Any, online: OllamaServer, halls: None
) -> None:
    score_by_hall(online, "Hillcrest", "Lakeside", "Riverbank", "Northgate")
    tab = await socket()
    await tab.send(
        "ask",
        message=QUESTION,
        options={"rerank": True, "top_n": 2, "position_strategy": "top_first"},
    )
    done = (await tab.until("done", "error"))[-1]
    assert [source["title"] for source in done["message"]["sources"]] == [
        "Hall Hillcrest",
        "Hall Lakeside",
    ]


async def test_without_a_judge_no_model_judges_passages_or_the_answer(
    api: Api, online: OllamaServer, halls: None
) -> None:
    message = await answered(api, judge=False)
    assert message["support"] is None
    assert message["usage"]["llm_calls"] == 1


@pytest.mark.parametrize(
    "options",
    [{"position_strategy": "middle"}, {"min_score": 1.5}, {"top_n": 0}, {"judge": "perhaps"}],
)
async def test_a_wrong_option_is_refused_by_its_name(
    api: Api, options: dict[str, Any], db: None
) -> None:
    response = await api.ask(QUESTION, options=options)
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]["options"]) == list(options)


# ------------------------------------------------------------------------------------------------ what workflows do
TOO_LITTLE = {"verdict": "INSUFFICIENT", "missing": "the amount"}


async def test_what_is_asked_back_is_the_judges_sentence(
    api: Api, online: OllamaServer, halls: None
) -> None:
    online.reply(match=WRITER, text="UNCLEAR")
    judged = {
        "relevant_passages": [1, 2],
        "verdict": "ask_back",
        "clarifying_question": "Which hall do you mean?",
    }
    online.reply(match="Task: JUDGE", json=judged)
    message = (await api.ask(QUESTION)).json()
    assert (message["decision"], message["answer"]) == ("CLARIFY", "Which hall do you mean?")
    assert message["clarification"]["question"] == "Which hall do you mean?"
    assert len(message["clarification"]["options"]) == 2


@pytest.mark.parametrize(
    ("options", "decision"), [({}, "ANSWER"), ({"force_generate": False}, "NO_ANSWER")]
)
async def test_react_answers_after_its_rewrites_and_says_that_it_is_not_confirmed_or_refuses_where_that_is_wanted(
    api: Api, online: OllamaServer, halls: None, options: dict[str, Any], decision: str
) -> None:
    online.reply(match="SUFFICIENT", json=TOO_LITTLE)
    online.reply(match=WRITER, text="The deposit for a room in hall Lakeside is EUR 100 [1].")
    message = (await api.ask(QUESTION, workflow="react", options=options)).json()
    assert message["decision"] == decision
    assert message["support"] == ("none" if decision == "ANSWER" else None)
    if decision == "ANSWER":
        assert "does not call sufficient" in message["decision_path"][-1]["summary"]


@pytest.mark.parametrize(("workflow", "judges_first"), [("dual_loop", True), ("planned", False)])
async def test_an_answer_that_is_not_confirmed_is_searched_for_once_more(
    api: Api, online: OllamaServer, halls: None, workflow: str, judges_first: bool
) -> None:
    online.reply(match="they agree with each other", json=reflection_on)
    online.reply(match="check an answer before it is sent", json={"score": 9, "missing": "none"})
    online.reply(match='"supported"', json={"supported": [False], "answers": False})
    if judges_first:
        online.reply(
            match="Task: JUDGE", json={"relevant_passages": [1], "verdict": "answer"}, times=1
        )
    online.reply(match="Task: JUDGE", json={"relevant_passages": [], "verdict": "no_answer"})
    online.reply(match=WRITER, text="The deposit for a room in hall Lakeside is EUR 100 [1].")
    message = (await api.ask(QUESTION, workflow=workflow)).json()
    assert (message["decision"], message["support"]) == ("ANSWER", "none")
    assert [step["name"] for step in message["decision_path"]].count("retrieve") > 1


def reflection_on(prompt: str) -> dict[str, Any]:
    return {"scores": [9] * prompt.count("</passage>"), "completeness": 9, "factuality": 10}


@pytest.mark.parametrize(("least", "found"), [(0.0, 4), (1.0, 0)])
async def test_a_similarity_that_a_request_names_binds(
    api: Api, online: OllamaServer, halls: None, least: float, found: int
) -> None:
    body = {"query": QUESTION, "similarityThreshold": least, "maxRewriteAttempts": 0}
    data = (await api.call("post", "/api/self-corrective-rag", body)).json()
    assert data["retrieval"]["totalDocuments"] == found
    assert any("less similar than 1.0" in line for line in data["workflow"]["decisionPath"]) == (
        not found
    )


async def test_as_many_rewrites_are_asked_for_as_the_setting_says(
    api: Api, online: OllamaServer, halls: None, rag_settings: Callable[..., None], tmp_path: Any
) -> None:
    (tmp_path / "own.md").write_text(
        "Rewrite it.\n---\n$variants wordings of: $question", encoding="utf-8"
    )
    rag_settings(rewrite={"variants": 2, "prompt": str(tmp_path / "own.md")})
    online.reply(match=WRITER, text="NO_ANSWER", times=1)
    await api.ask(QUESTION)
    (asked,) = [request for request in online.chats if "Rewrite it." in request.prompt]
    assert f"2 wordings of: {QUESTION}" in asked.prompt
    assert asked.body["format"]["properties"]["queries"]["maxItems"] == 2


async def test_an_answer_keeps_its_question_as_the_first_search_had_it(
    halls: None, api: Api
) -> None:
    message = await answered(api)
    stored = await Message.objects.aget(pk=message["message_id"])
    assert stored.searched_for == QUESTION
