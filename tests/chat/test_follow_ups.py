"""Questions below an answer that would be answered: looked for behind it, told to its reader, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import AnswerReview, Assistant, Budget, Message, Session, UsageDay
from chat.runs import budgets, follow_ups
from chat.runs.detached import optional_tasks
from ragsite.core import metrics
from tests.chat.conftest import Api, Handbook, program_key
from tests.chat.test_statements import MOST, looked_up, statements  # noqa: F401 (a fixture)

BOOKS = "How many books may an undergraduate borrow?"
DEPOSIT = "How large is the deposit for a room in Lakeside hall?"
WIFI = "What does Wi-Fi error E107 mean?"
PARKING = "Zeppelin anchorage?"
ASKED = "could ask next"  # in the prompt for candidates
Make = Callable[..., None]


@pytest.fixture
async def make(
    handbook: Handbook, online: Any, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Make]:
    """The model offers these questions; the passages of a small handbook answer the first two."""
    monkeypatch.setattr("chat.runs.pauses.PAUSE_S", 0.0)
    rag_settings(answer={"follow_ups": True})
    await handbook()

    def offer(*questions: str, **reply: Any) -> None:
        online.reply(match=ASKED, structured=True, json={"questions": list(questions)}, **reply)

    yield offer


def is_written(prompt: str, question: str) -> bool:
    """Whether this is the prompt by which an answer to the question is written."""
    return "Task: WRITE." in prompt and f"Question: {question}" in prompt


async def looked_for() -> None:
    """Until nothing is done behind the answers any more."""
    async with asyncio.timeout(20):
        while tasks := optional_tasks():
            await asyncio.wait(tasks)


async def answered(api: Api, question: str = BOOKS, **fields: Any) -> dict[str, Any]:
    """The answer, with the follow-ups that were found."""
    response = await api.ask(question, **fields)
    assert response.status_code == 200, response.content
    await looked_for()
    return await stored(api, response.json()["message_id"])


async def stored(api: Api, message_id: str) -> dict[str, Any]:
    message: dict[str, Any] = (await api.call("get", f"/api/messages/{message_id}")).json()
    return message


async def test_what_the_passages_answer_is_offered_and_nothing_else(api: Api, make: Make) -> None:
    make(DEPOSIT, PARKING, WIFI)
    assert (await answered(api))["follow_ups"] == [DEPOSIT, WIFI]


async def test_what_was_asked_is_not_offered_again(api: Api, make: Make) -> None:
    make(BOOKS.lower(), DEPOSIT)
    answer = await answered(api)
    assert answer["follow_ups"] == [DEPOSIT]
    asked = await answered(api, DEPOSIT, session_id=answer["session_id"])
    assert asked["follow_ups"] == []


async def test_three_are_enough(api: Api, make: Make) -> None:
    make(DEPOSIT, WIFI, "When is the room's deposit of EUR 300 due?", "Has my password expired?")
    assert len((await answered(api))["follow_ups"]) <= 3


async def test_an_offered_question_is_answered_when_it_is_asked(api: Api, make: Make) -> None:
    make(DEPOSIT, PARKING, WIFI)
    answer = await answered(api)
    for question in answer["follow_ups"]:
        asked = await answered(api, question, session_id=answer["session_id"], offered="follow_up")
        assert asked["decision"] == "ANSWER" and any(each["cited"] for each in asked["sources"])
    rows = AnswerReview.objects.filter(offered="follow_up")
    assert await rows.acount() == len(answer["follow_ups"]) == 2
    first = await AnswerReview.objects.aget(message=answer["message_id"])
    assert (first.offered, first.follow_ups) == ("", 2)


async def test_every_open_tab_is_told_after_done(api: Api, make: Make, socket: Any) -> None:
    make(DEPOSIT)
    tab = await socket()
    await tab.send("ask", message=BOOKS)
    events = await tab.until("follow_ups")
    assert [event["type"] for event in events[-2:]] == ["done", "follow_ups"]
    told = events[-1]
    assert told == {
        "type": "follow_ups",
        "message_id": events[0]["message_id"],
        "follow_ups": [DEPOSIT],
    }
    assert events[-2]["message"]["follow_ups"] == []


async def test_a_stranger_gets_none(api: Api, other_api: Api, make: Make) -> None:
    make(DEPOSIT)
    answer = await answered(api)
    reply = await other_api.call("get", f"/api/messages/{answer['message_id']}")
    assert reply.status_code == 404


@pytest.mark.parametrize(
    "reply",
    [{"status": 500}, {"text": "no JSON at all"}, {"json": {"questions": []}}],
    ids=["broken", "malformed", "empty"],
)
async def test_a_model_that_offers_nothing_leaves_the_answer_as_it_is(
    api: Api, make: Make, online: Any, reply: dict[str, Any]
) -> None:
    online.reply(match=ASKED, **reply)
    answer = await answered(api)
    assert (answer["status"], answer["decision"], answer["follow_ups"]) == (
        "complete", "ANSWER", [],
    )  # fmt: skip


async def test_switched_off_nothing_is_asked_of_the_model(
    api: Api, make: Make, online: Any, rag_settings: Any
) -> None:
    make(DEPOSIT)
    rag_settings(answer={"follow_ups": False})
    await answered(api)
    assert not [chat for chat in online.chats if ASKED in chat.prompt]


async def test_without_a_model_there_are_none(api: Api, make: Make, rag_settings: Any) -> None:
    rag_settings(ollama={"offline": "1"})
    answer = await answered(api)
    assert answer["decision"] == "ANSWER" and answer["follow_ups"] == []


async def test_programs_with_an_api_key_cost_the_model_no_more(
    api: Api, make: Make, online: Any
) -> None:
    make(DEPOSIT)
    key = await sync_to_async(program_key)(api.user, "ask", "read")
    api.headers = {"Authorization": f"Bearer {key}"}
    assert (await answered(api))["follow_ups"] == []
    assert not [chat for chat in online.chats if ASKED in chat.prompt]


async def test_who_asks_next_does_not_wait_for_them(api: Api, make: Make, online: Any) -> None:
    make(DEPOSIT, delay_s=30, times=1)
    await api.ask(BOOKS)
    async with asyncio.timeout(30):
        while not any(ASKED in chat.prompt for chat in online.chats):
            await asyncio.sleep(0.01)
        begun = next(chat for chat in online.chats if ASKED in chat.prompt)
        await api.ask(WIFI)
    assert await asyncio.to_thread(begun.wait_client_closed)


async def test_they_are_tried_as_the_assistant_would_be_asked(
    api: Api, make: Make, online: Any
) -> None:
    make(DEPOSIT)
    await Assistant.objects.acreate(owner=api.user, name="Rules", instructions="Answer in rhymes.")
    answer = await answered(api, assistant="Rules")
    assert answer["follow_ups"] == [DEPOSIT]
    (tried,) = [chat for chat in online.chats if is_written(chat.prompt, DEPOSIT)]
    assert "Answer in rhymes." in tried.prompt
    (asked,) = [chat for chat in online.chats if ASKED in chat.prompt]
    assert "Answer in rhymes." not in asked.prompt


async def test_of_a_temporary_conversation_the_model_is_told_no_more(
    api: Api, make: Make, online: Any
) -> None:
    make(DEPOSIT)
    assert (await answered(api, temporary=True))["follow_ups"] == []
    assert not [chat for chat in online.chats if ASKED in chat.prompt]


@pytest.mark.parametrize("gone", ["deleted", "superseded", "edited", "asked on", "temporary"])
async def test_for_an_answer_that_goes_meanwhile_none_is_tried_stored_or_sent(
    api: Api, make: Make, online: Any, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """By another process, which gives up nothing here."""
    make(DEPOSIT)
    sent = []
    ask_for_candidates = follow_ups.next_questions

    async def candidates(*arguments: Any, **options: Any) -> list[str]:
        found = await ask_for_candidates(*arguments, **options)
        await goes()
        return found

    async def goes() -> None:
        answer = await Message.objects.select_related("reply_to").aget(pk=begun["message_id"])
        if gone == "deleted":
            await Session.objects.filter(pk=answer.session_id).adelete()
        elif gone == "superseded":
            await Message.objects.filter(pk=answer.pk).aupdate(superseded=True)
        elif gone == "edited":
            await Message.objects.filter(pk=answer.reply_to_id).aupdate(superseded=True)
        elif gone == "asked on":
            await Message.objects.acreate(
                session_id=answer.session_id, role="user", text=WIFI, follows=answer.reply_to
            )
        else:
            await Session.objects.filter(pk=answer.session_id).aupdate(kept=False)

    async def announce(*arguments: Any) -> None:
        sent.append(arguments)

    monkeypatch.setattr(follow_ups, "next_questions", candidates)
    monkeypatch.setattr(follow_ups, "_announce", announce)
    monkeypatch.setattr("chat.runs.pauses.PAUSE_S", 0.2)
    begun = (await api.ask(BOOKS)).json()
    await looked_for()
    assert not [chat for chat in online.chats if is_written(chat.prompt, DEPOSIT)]
    assert sent == []
    assert not await Message.objects.exclude(follow_ups=[]).aexists()


async def test_an_answer_that_goes_at_the_last_moment_gets_none(
    api: Api, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(DEPOSIT)
    sent = []
    storing = follow_ups._store

    def store(message: Message, offered: list[str]) -> bool:
        Session.objects.filter(pk=message.session_id).delete()
        return storing(message, offered)

    async def announce(*arguments: Any) -> None:
        sent.append(arguments)

    monkeypatch.setattr(follow_ups, "_store", store)
    monkeypatch.setattr(follow_ups, "_announce", announce)
    before = metrics.offered.labels("follow_up")._value.get()
    await api.ask(BOOKS)
    await looked_for()
    assert sent == []
    assert metrics.offered.labels("follow_up")._value.get() == before


async def test_deleting_the_conversation_gives_them_up(api: Api, make: Make, online: Any) -> None:
    make(DEPOSIT, delay_s=30, times=1)
    answer = (await api.ask(BOOKS)).json()
    async with asyncio.timeout(30):
        while not any(ASKED in chat.prompt for chat in online.chats):
            await asyncio.sleep(0.01)
    begun = next(chat for chat in online.chats if ASKED in chat.prompt)
    deleted = await api.call("delete", f"/api/sessions/{answer['session_id']}")
    assert deleted.status_code == 204
    assert await asyncio.to_thread(begun.wait_client_closed)
    async with asyncio.timeout(5):
        await looked_for()


async def test_its_calls_count_for_the_site_and_not_for_the_answer(api: Api, make: Make) -> None:
    make(DEPOSIT)
    before = metrics.offered.labels("follow_up")._value.get()
    answer = await answered(api)
    assert metrics.offered.labels("follow_up")._value.get() == before + 1
    review = await AnswerReview.objects.aget(message=answer["message_id"])
    assert review.llm_calls == answer["usage"]["llm_calls"]
    assert (await Message.objects.aget(pk=answer["message_id"])).usage["llm_calls"] <= 2
    rows = [row async for row in UsageDay.objects.filter(user=None)]
    assert rows and all(row.prompt_tokens and row.completion_tokens for row in rows)


async def test_a_site_that_has_used_up_its_tokens_looks_for_none(
    api: Api, make: Make, online: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "REFRESH_S", 0.0)
    monkeypatch.setattr(budgets, "SITE_SUM_S", 0.0)
    make(DEPOSIT)
    await Budget.objects.acreate(subject="site", day_tokens=1)
    response = await api.ask(BOOKS)
    await looked_for()
    assert (await stored(api, response.json()["message_id"]))["follow_ups"] == []
    assert not [chat for chat in online.chats if ASKED in chat.prompt]
    budgets.budgets_changed()


async def test_nothing_more_is_asked_of_the_database_before_the_answer(
    api: Api,
    make: Make,
    statements: list[str],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make(DEPOSIT)
    await answered(api)
    monkeypatch.setattr("chat.runs.pauses.PAUSE_S", 3600.0)
    before = await looked_up()
    statements.clear()
    assert (await api.ask(WIFI)).status_code == 200
    count = len(statements)
    assert count + await looked_up() - before <= MOST


@pytest.mark.parametrize("offered", ["elsewhere", 3, ["starter"]])
async def test_where_a_question_was_offered_is_one_of_two_places(
    api: Api, make: Make, offered: Any
) -> None:
    assert (await api.ask(BOOKS, offered=offered)).status_code == 400


async def test_written_again_it_counts_as_offered_once(api: Api, make: Make) -> None:
    make()
    answer = await answered(api, DEPOSIT, offered="starter")
    again = await api.call("post", f"/api/messages/{answer['message_id']}/regenerate", {})
    assert again.status_code == 200
    assert await AnswerReview.objects.filter(offered="starter").acount() == 1


async def test_below_an_answer_that_was_asked_on_from_nothing_is_looked_for(
    api: Api, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(DEPOSIT)
    monkeypatch.setattr("chat.runs.pauses.PAUSE_S", 0.5)
    first = (await api.ask(BOOKS)).json()
    await api.ask(PARKING, session_id=first["session_id"])
    await looked_for()
    assert (await stored(api, first["message_id"]))["follow_ups"] == []
