"""A stored question asked again, otherwise: what it uses, what it leaves alone, who may do it."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.utils import timezone

from chat.models import Message, Replay
from chat.review.records import answers_record
from chat.review.replay import replay_data
from chat.review.replay.replays import replays_work
from feedback.models import Evidence, Rating
from retrieval.engine.workflows.corrective import WORKFLOW  # noqa: F401  (loaded before a test is timed)
from retrieval.models import Chunk, Memory
from tests.chat.test_end_to_end import library  # noqa: F401
from tests.clients import person
from tests.factories import CollectionFactory, SourceFactory, answered
from tests.ollama_server import OllamaServer

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "How many books may undergraduates borrow from the library?"


def stored(collection: Any = None, **fields: Any) -> Message:
    """An answer at the desk, with its question."""
    if collection is not None:
        fields["request"] = {
            "collections": [collection.name],
            "collection_ids": [str(collection.pk)],
        }
    answer = answered(QUESTION, text="Five books [1].", **fields)
    answers_record([answer.pk])
    return answer


class Desk:
    """Calls of one person at the desk."""

    def __init__(self, user: User) -> None:
        self.client = AsyncClient()
        self.user = user

    async def post(self, path: str, body: Any = None) -> Any:
        await self.client.aforce_login(self.user)
        return await self.client.post(
            f"/api/review/{path}", {} if body is None else body, content_type="application/json"
        )

    async def get(self, path: str) -> Any:
        await self.client.aforce_login(self.user)
        return await self.client.get(path if path.startswith("/review") else f"/api/review/{path}")

    async def ended(self, replay_id: str) -> dict[str, Any]:
        """As a worker answers it."""
        assert not await replays_work(within_s=20)
        found: dict[str, Any] = (await self.get(f"replays/{replay_id}")).json()
        return found


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return Desk(person("Reviewers"))


async def test_both_answers_stand_side_by_side(
    desk: Desk,
    online: OllamaServer,
    library: Chunk,  # noqa: F811
) -> None:
    answer = await sync_to_async(stored)()
    online.reply(structured=False, text="Undergraduates may borrow ten books for four weeks [1].")
    response = await desk.post(
        f"answers/{answer.pk}/replay", {"workflow": "react", "options": {"rerank": False}}
    )
    assert response.status_code == 202
    data = await desk.ended(response.json()["id"])
    assert data["status"] == "complete", data["error"]
    assert (data["original"]["answer"], data["original"]["message_id"]) == (
        "Five books [1].",
        str(answer.pk),
    )
    assert (data["replay"]["workflow"], data["replay"]["decision"]) == ("react", "ANSWER")
    assert [source["chunk_id"] for source in data["replay"]["sources"] if source["cited"]] == [
        str(library.pk)
    ]
    kinds = {row["kind"] for row in data["differences"]}
    assert {"workflow", "answer", "source", "usage"} <= kinds
    page = await desk.get(f"/review/replays/{data['id']}/")
    assert page.status_code == 200
    assert "<ins>" in page.content.decode() and "ReAct" in page.content.decode()


async def test_nothing_of_the_user_is_touched(
    desk: Desk,
    online: OllamaServer,
    library: Chunk,  # noqa: F811
) -> None:
    answer = await sync_to_async(stored)()
    await Memory.objects.acreate(user_id=answer.session.user_id, question="q", text="t", terms="t")

    def counts() -> list[int]:
        session = answer.session
        session.refresh_from_db()
        return [
            Message.objects.count(), Rating.objects.count(), Evidence.objects.count(), Memory.objects.count(),
            session.updated_at.timestamp(), Message.objects.get(pk=answer.pk).sources.count(),
        ]  # fmt: skip

    before = await sync_to_async(counts)()
    response = await desk.post(f"answers/{answer.pk}/replay", {"workflow": "dual_loop"})
    assert (await desk.ended(response.json()["id"]))["status"] == "complete"
    assert await sync_to_async(counts)() == before


async def test_the_asker_decides_what_may_be_seen(
    desk: Desk,
    online: OllamaServer,
    library: Chunk,  # noqa: F811
) -> None:
    answer = await sync_to_async(stored)()
    collection = library.document.collection
    collection.visibility, collection.owner = "private", desk.user
    await collection.asave()
    response = await desk.post(f"answers/{answer.pk}/replay", {})
    data = await desk.ended(response.json()["id"])
    assert (data["replay"]["decision"], data["replay"]["sources"]) == ("NO_ANSWER", [])


async def test_documents_that_its_reader_may_not_read_tell_nothing(
    desk: Desk,
    online: OllamaServer,
    library: Chunk,  # noqa: F811
) -> None:
    """The replay finds what is the asker's alone, and what the conversation has never shown."""
    answer = await sync_to_async(stored)()
    collection, asker = (
        library.document.collection,
        await User.objects.aget(pk=answer.session.user_id),
    )
    collection.visibility, collection.owner = "private", asker
    await collection.asave()
    online.reply(structured=False, text="Undergraduates may borrow ten books for four weeks [1].")
    replayed = (await desk.post(f"answers/{answer.pk}/replay")).json()["id"]
    data = await desk.ended(replayed)
    assert (data["status"], data["replay"], data["differences"]) == ("complete", None, [])
    page = (await desk.get(f"/review/replays/{replayed}/")).content.decode()
    for told in (json.dumps(data), page):
        assert "may not read, so its text is hidden" in told
        assert "ten books" not in told
        assert library.document.title not in told
    await sync_to_async(SourceFactory)(
        message=answer, document_id=library.document_id, text="Shown to the asker."
    )
    shown = (await desk.get(f"replays/{replayed}")).json()
    assert shown["replay"]["answer"] == "Undergraduates may borrow ten books for four weeks [1]."


def test_documents_that_a_refusal_names_count_as_well() -> None:
    named = str(uuid4())
    refused = {"sources": [], "answer": f"The nearest documents are: [Diary](/documents/{named}/)."}
    assert replay_data._documents_of(refused) == {named}


def test_a_collection_that_the_asker_lost_ends_it_with_a_sentence(desk: Desk) -> None:
    answer = stored(CollectionFactory(visibility="private"))
    replay = Replay.objects.create(message=answer, question=QUESTION)
    asyncio.run(replays_work(within_s=5))
    replay.refresh_from_db()
    assert (replay.status, replay.error["code"]) == ("failed", "not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"workflow": "none"}, {"options": {"top_k": 0}}, {"options": {"top_k": 10**9}}, {"revision": "x"},
        {"revision": str(uuid4())}, {"filters": {"color": "red"}}, {"colour": 1}, [], {"workflow": 5},
    ],
)  # fmt: skip
async def test_what_is_not_there_is_refused(desk: Desk, offline: None, body: Any) -> None:
    answer = await sync_to_async(stored)()
    assert (await desk.post(f"answers/{answer.pk}/replay", body)).status_code == 400
    assert not await Replay.objects.aexists()


async def test_a_model_is_not_called_missing_where_nobody_could_look(
    desk: Desk, offline: None
) -> None:
    answer = await sync_to_async(stored)()
    refused = await desk.post(f"answers/{answer.pk}/replay", {"model": "llama3"})
    assert "RAG_OFFLINE" in refused.json()["error"]["fields"]["model"][0]


def test_a_replay_whose_process_died_has_failed(offline: None) -> None:
    silent = {
        "status": "running",
        "lease_token": uuid4(),
        "lease_expires_at": timezone.now() - timedelta(seconds=1),
    }
    lost = Replay.objects.create(message=stored(), question=QUESTION, **silent)
    asyncio.run(replays_work(within_s=20))
    lost.refresh_from_db()
    assert lost.status == "failed" and "was interrupted" in lost.error["content"]


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"top_k": "5", "rerank": "false"}, {"options": {"top_k": 5, "rerank": False}}),
        (
            {"own_filters": "on", "policy_year": "2025", "tags": "fees，loans"},
            {"filters": {"policy_year": 2025, "tags": ["fees", "loans"]}},
        ),
        ({"top_k": "five"}, None),
        ({"top_k": "9" * 5000}, None),
        ({"own_filters": "on", "policy_year": "20x5"}, None),
    ],
)
def test_the_form_says_which_number_is_wrong(
    desk: Desk, offline: None, fields: Any, change: Any
) -> None:
    client, answer = Client(), stored()
    client.force_login(desk.user)
    page = client.post(f"/review/replays/new/?answer={answer.pk}", fields)
    assert page.status_code == (302 if change else 400)
    assert [replay.change for replay in Replay.objects.all()] == ([change] if change else [])
