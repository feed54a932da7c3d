"""Options of a request, through the API and a WebSocket: real database, real Milvus Lite, a model that is simulated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ragsite.core.rag_settings import MilvusSettings
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
    online: OllamaServer, rag_settings: Callable[..., None], milvus_settings: MilvusSettings, transactional_db: None
) -> AsyncIterator[None]:
    """A document about each hall's deposit."""
    rag_settings(milvus=milvus_settings)
    collection = await sync_to_async(CollectionFactory)(embedding_model=EMBED_MODEL, embedding_dim=EMBED_DIM)
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
    return sorted((hall for hall in HALLS if f"in hall {hall}" in prompt), key=lambda hall: prompt.index(hall))


async def test_a_model_that_reranks_gives_each_source_its_score(api: Api, online: OllamaServer, halls: None) -> None:
    score_by_hall(online, "Riverbank", "Lakeside", "Hillcrest", "Northgate")
    message = await answered(api, rerank=True)
    assert [source["title"] for source in message["sources"]] == [
        "Hall Riverbank", "Hall Lakeside", "Hall Hillcrest", "Hall Northgate"
    ]  # fmt: skip
    assert [source["scores"]["rerank"] for source in message["sources"]] == [1.0, 0.8, 0.6, 0.4]
    assert message["usage"]["llm_rounds"] == 2


async def test_top_n_and_min_score_bound_what_is_answered_from(api: Api, online: OllamaServer, halls: None) -> None:
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


async def test_a_socket_takes_the_same_options(socket: Any, online: OllamaServer, halls: None) -> None:
    score_by_hall(online, "Hillcrest", "Lakeside", "Riverbank", "Northgate")
    tab = await socket()
    await tab.send("ask", message=QUESTION, options={"rerank": True, "top_n": 2, "position_strategy": "top_first"})
    done = (await tab.until("done", "error"))[-1]
    assert [source["title"] for source in done["message"]["sources"]] == ["Hall Hillcrest", "Hall Lakeside"]


async def test_without_a_judge_no_model_judges_passages_or_the_answer(
    api: Api, online: OllamaServer, halls: None
) -> None:
    message = await answered(api, judge=False)
    assert message["support"] is None
    assert message["usage"]["llm_calls"] == 1


@pytest.mark.parametrize(
    "options", [{"position_strategy": "middle"}, {"min_score": 1.5}, {"top_n": 0}, {"judge": "perhaps"}]
)
async def test_a_wrong_option_is_refused_by_its_name(api: Api, options: dict[str, Any], db: None) -> None:
    response = await api.ask(QUESTION, options=options)
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]["options"]) == list(options)
