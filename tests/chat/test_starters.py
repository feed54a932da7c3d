"""Questions that documents answer, for a new conversation: made while nobody asks, shown to who may read."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from chat.models import Assistant, Message, Starter, StarterLook
from chat.services import default_assistant
from chat.services.starters import PER_COLLECTION, starters_make
from chat.services.suggestions import suggestions
from retrieval.compose import close_engine
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.models import Collection, Document
from tests.chat.conftest import Handbook
from tests.factories import ChunkFactory, CollectionFactory, MessageFactory

DEPOSIT = "How large is the deposit for a room in Lakeside hall?"
WIFI = "What does Wi-Fi error E107 mean?"
ASKED = "could ask next"


@pytest.fixture
async def documents(handbook: Handbook, online: Any, rag_settings: Any) -> Any:
    """Three, in a private collection of the user's; the model has questions about two of them."""
    rag_settings(answer={"follow_ups": True})
    collection = await handbook()
    for passage, question in (("EUR 300", DEPOSIT), ("E107 means", WIFI)):
        online.reply(
            match=rf"{ASKED}[\s\S]*{passage}",
            structured=True,
            json={"questions": ["Zeppelin anchorage?", question]},
        )
    yield collection
    await close_engine()


async def offered(user: User, language: str = "en") -> list[str]:
    rows = await sync_to_async(suggestions)(user=user, language=language)
    return [row["text"] for row in rows]


def asked_for_candidates(online: Any) -> int:
    return sum(ASKED in chat.prompt for chat in online.chats)


async def test_what_is_answered_is_offered_to_who_may_read_it(
    documents: Collection, user: User, stranger: User
) -> None:
    assert await starters_make(within_s=60) == 2
    assert set(await offered(user)) == {DEPOSIT, WIFI}
    assert not {DEPOSIT, WIFI} & set(await offered(stranger))


async def test_the_same_state_is_looked_at_once(documents: Collection, online: Any) -> None:
    await starters_make(within_s=60)
    before = asked_for_candidates(online)
    assert (await starters_make(within_s=60), asked_for_candidates(online)) == (0, before)
    await Collection.objects.filter(pk=documents.pk).aupdate(version=F("version") + 1)
    await starters_make(within_s=60)
    assert asked_for_candidates(online) == before + 1  # of the document that has none


@pytest.mark.parametrize("change", [{"status": "failed"}, {"superseded_at": "2026-01-01T00:00Z"}])
async def test_it_goes_with_its_document(
    documents: Collection, user: User, change: dict[str, Any]
) -> None:
    await starters_make(within_s=60)
    about_deposits = Document.objects.filter(chunks__text__contains="EUR 300")
    await Document.objects.filter(pk__in=about_deposits).aupdate(**change)
    assert await offered(user) == [WIFI]
    await Document.objects.filter(pk__in=about_deposits).adelete()
    assert [row.text async for row in Starter.objects.all()] == [WIFI]


async def test_without_a_model_it_is_looked_at_later(
    documents: Collection, rag_settings: Any
) -> None:
    rag_settings(ollama={"offline": "1"})
    assert await starters_make(within_s=60) == 0
    assert not await StarterLook.objects.aexists()


async def test_a_document_that_the_model_fails_at_holds_up_no_other(
    documents: Collection, online: Any
) -> None:
    online.reply(match=rf"{ASKED}[\s\S]*borrow ten books", text="I have no idea.")
    assert await starters_make(within_s=60) == 2
    assert (await StarterLook.objects.aget()).collection_id == documents.pk


async def test_whoever_asks_goes_first(documents: Collection, online: Any) -> None:
    answer = await sync_to_async(MessageFactory)(role="assistant", status="streaming")
    assert await starters_make(within_s=60) == 0
    assert not online.chats and not await StarterLook.objects.aexists()
    await Message.objects.filter(pk=answer.pk).aupdate(status="complete")
    assert await starters_make(within_s=60) == 2


async def test_switched_off_none_is_made_or_shown(
    documents: Collection, user: User, rag_settings: Any
) -> None:
    await starters_make(within_s=60)
    rag_settings(answer={"follow_ups": False})
    assert not {DEPOSIT, WIFI} & set(await offered(user))
    await StarterLook.objects.all().adelete()
    assert await starters_make(within_s=60) == 0


async def test_of_many_the_newest_stay_and_four_are_shown(
    documents: Collection, user: User
) -> None:
    document = (await sync_to_async(ChunkFactory)(document__collection=documents)).document
    for number in range(2 * PER_COLLECTION):
        await Starter.objects.acreate(document=document, text=f"What is rule {number}?")
    await starters_make(within_s=60)
    assert await Starter.objects.acount() == PER_COLLECTION
    assert len(await offered(user)) == 4


async def test_a_document_at_which_the_server_breaks_ends_no_later_round(
    documents: Collection, user: User, online: Any
) -> None:
    """The oldest collection is looked at first, and its document breaks the server each time."""
    online.reply(match=rf"{ASKED}[\s\S]*borrow ten books", status=500)
    other = await sync_to_async(CollectionFactory)(
        owner=user,
        visibility="private",
        embedding_model=documents.embedding_model,
        embedding_dim=documents.embedding_dim,
    )
    deposits = Document.objects.filter(chunks__text__contains="EUR 300")
    text = await deposits.values_list("chunks__text", flat=True).aget()
    await deposits.adelete()
    await sync_to_async(ChunkFactory)(text=text, document__collection=other, indexed=False)
    await Document.objects.filter(chunks__text__contains="borrow ten books").aupdate(
        created_at=timezone.now()
    )
    await index_repair()
    made = [await starters_make(within_s=60) for _ in range(4)]
    assert sum(made) == 2
    assert set(await offered(user)) == {DEPOSIT, WIFI}
    before = asked_for_candidates(online)
    await starters_make(within_s=60)
    assert asked_for_candidates(online) == before  # it is not tried for ever


async def test_a_look_that_takes_longer_than_a_round_goes_on_with_what_is_left(
    documents: Collection, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr("chat.services.starters.monotonic", lambda: next(seconds))
    asked = []
    for _ in range(4):
        await starters_make(within_s=2.5)  # enough for one document
        asked.append(asked_for_candidates(online))
    assert asked == [1, 2, 3, 3]
    assert await Starter.objects.acount() == 2


async def test_of_two_messages_one_makes_them(documents: Collection, online: Any) -> None:
    made = await asyncio.gather(starters_make(within_s=60), starters_make(within_s=60))
    assert sorted(made) == [0, 2]
    assert await Starter.objects.acount() == 2
    assert await starters_make(within_s=60) == 0  # the lock is free again


async def test_a_question_that_is_known_in_these_words_is_made_once(
    documents: Collection, online: Any
) -> None:
    online.reply(
        match=rf"{ASKED}[\s\S]*E107 means", structured=True, json={"questions": [WIFI, DEPOSIT]}
    )
    document = await Document.objects.aget(chunks__text__contains="borrow ten books")
    await Starter.objects.acreate(document=document, text=f"  {WIFI.upper()}")
    await starters_make(within_s=60)
    texts = [row.text async for row in Starter.objects.all()]
    assert WIFI not in texts and DEPOSIT in texts


async def test_they_are_tried_as_the_sites_default_assistant_would_be_asked(
    documents: Collection, online: Any
) -> None:
    await Assistant.objects.acreate(
        name="House",
        instructions="Answer in rhymes.",
        visibility="public",
        is_default=True,
        collections=[str(documents.pk)],
    )
    assert await starters_make(within_s=60) == 2
    written = [chat.prompt for chat in online.chats if "Task: WRITE." in chat.prompt]
    assert written and all("Answer in rhymes." in prompt for prompt in written)


async def test_they_are_made_again_once_the_default_assistant_asks_otherwise(
    documents: Collection, online: Any
) -> None:
    house = await Assistant.objects.acreate(
        name="House", instructions="Answer in rhymes.", visibility="public", is_default=True
    )
    assert await starters_make(within_s=60) == 2
    former = {row.pk async for row in Starter.objects.all()}
    assert await starters_make(within_s=60) == 0
    house.name, house.version = "Home", 2
    await house.asave()
    assert await starters_make(within_s=60) == 0, "the name changes no answer"
    house.instructions = "Answer in one word."
    await house.asave()
    before = len(online.chats)
    assert await starters_make(within_s=60) == 2
    written = [chat.prompt for chat in online.chats[before:] if "Task: WRITE." in chat.prompt]
    assert written and all("Answer in one word." in prompt for prompt in written)
    assert not former & {row.pk async for row in Starter.objects.all()}
    await house.adelete()
    assert await starters_make(within_s=60) == 2, "asked by none"
    assert await starters_make(within_s=60) == 0
    await Assistant.objects.acreate(
        name="House", model="other", visibility="public", is_default=True
    )
    before = {row.pk async for row in Starter.objects.all()}
    await starters_make(within_s=60)
    assert not before & {row.pk async for row in Starter.objects.all()}, "by one where none was"


async def test_where_the_sites_default_assistant_does_not_look_none_are_made(
    documents: Collection, online: Any, user: User
) -> None:
    other = await sync_to_async(CollectionFactory)()
    await starters_make(within_s=60)
    await Assistant.objects.acreate(
        name="House", visibility="public", is_default=True, collections=[str(other.pk)]
    )
    default_assistant.forget()
    assert not {DEPOSIT, WIFI} & set(await offered(user))
    await StarterLook.objects.all().adelete()
    await Starter.objects.all().adelete()
    assert await starters_make(within_s=60) == 0
