"""Going on with an answer that is not complete: what it is given, what it sends, and who may."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import Message, Source
from retrieval.compose import close_engine
from tests.chat.conftest import Api, ScriptedWorkflow, events_of
from tests.factories import DecisionStepFactory, MessageFactory, RatingFactory, SourceFactory

BEGINNING = "Undergraduates may borrow ten books [1]. They may keep them"
PASSAGE = "Undergraduates may borrow ten books. They may keep them for four weeks."


@pytest.fixture(autouse=True)
async def _engine_of_this_test() -> Any:
    yield
    await close_engine()


async def unfinished(api: Api, status: str = "cut", **fields: Any) -> Message:
    def make() -> Any:
        question: Any = MessageFactory(question=True, session__user=api.user)
        message = MessageFactory(
            session=question.session, reply_to=question, text=BEGINNING, status=status, **fields
        )
        SourceFactory(message=message, marker=1, text=PASSAGE, cited=True)
        return message

    message: Message = await sync_to_async(make)()
    return message


def path(message: Any) -> str:
    return f"/api/messages/{message.pk}/continue"


@pytest.mark.parametrize("status", ["cut", "stopped", "interrupted"])
async def test_the_answer_goes_on_in_the_same_message_from_the_same_sources(
    api: Api, online: Any, status: str
) -> None:
    message = await unfinished(api, status)
    source = await Source.objects.aget(message=message)
    await sync_to_async(RatingFactory)(message=message, source=source, score=5)
    online.reply(text="for four weeks.")
    done = (await api.call("post", path(message))).json()
    assert done["message_id"] == str(message.pk)
    assert done["answer"] == f"{BEGINNING} for four weeks [1]."
    assert (done["status"], done["status_reason"]) == ("complete", "")
    assert [sentence["supported"] for sentence in done["grounding"]] == [True, True]
    assert done["sources"][0]["rating"]["score"] == 5
    assert len({step["seq"] for step in done["decision_path"]}) == len(done["decision_path"])


async def test_what_the_beginning_cost_and_where_it_fell_back_stays(api: Api, online: Any) -> None:
    message = await unfinished(api)
    message.degraded = [
        {"step": "rerank", "reason": "the model is slow"},
        {"step": "generate", "reason": "out of room"},
    ]
    await message.asave(update_fields=["degraded"])
    for number, fallback in enumerate(message.degraded, 1):
        await sync_to_async(DecisionStepFactory)(
            message=message,
            seq=number,
            name=fallback["step"],
            status="degraded",
            detail={"reason": fallback["reason"]},
        )
    online.reply(structured=True, json={"supported": [True, True], "answers": True})
    online.reply(text="for four weeks.")
    done = (await api.call("post", path(message))).json()
    assert done["degraded"] == [
        {"step": "rerank", "reason": "the model is slow"}
    ]  # what is written is whole by now
    assert [step["seq"] for step in done["decision_path"]] == list(
        range(1, len(done["decision_path"]) + 1)
    )
    was, usage = message.usage, done["usage"]
    assert usage["llm_calls"] > was["llm_calls"] and usage["prompt_tokens"] > was["prompt_tokens"]
    assert (usage["first_token_ms"], usage["llm_rounds"]) == (
        was["first_token_ms"],
        was["llm_rounds"],
    )


async def test_the_whole_answer_is_checked_by_its_words_and_then_by_the_model(
    api: Api, online: Any
) -> None:
    message = await unfinished(api)
    online.reply(structured=True, json={"supported": [True, False], "answers": True})
    online.reply(text="for four weeks.")
    done = (await api.call("post", path(message))).json()
    steps = done["decision_path"]
    assert [step["name"] for step in steps][-4:] == ["generate", "verify", "verify", "assess"]
    by_words, by_model = (step["detail"] for step in steps[-3:-1])
    sentences = [sentence["sentence"] for sentence in by_words["grounding"]]
    assert sentences == [sentence["sentence"] for sentence in by_model["grounding"]]
    assert sentences == [sentence["sentence"] for sentence in done["grounding"]]
    assert (
        sentences[0] == "Undergraduates may borrow ten books [1]." and "four weeks" in sentences[1]
    )
    assert (by_words["weak"], by_model["support"]) == (0, "partly")
    assert [sentence["supported"] for sentence in done["grounding"]] == [True, False]
    assert done["support"] == "partly"


async def test_events_begin_anew_and_their_chunks_are_the_answer(api: Api, online: Any) -> None:
    message = await unfinished(api)
    online.reply(text="for four weeks.")
    events = [
        event async for event in events_of(await api.call("post", path(message), {"stream": True}))
    ]
    again = [
        event
        async for event in events_of(await api.call("get", f"/api/messages/{message.pk}/events"))
    ]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("started", "done")
    chunks = [event["content"] for event in events if event["type"] == "chunk"]
    assert chunks[0] == BEGINNING
    assert "".join(chunks) == events[-1]["answer"]
    assert again == events


async def test_a_model_that_breaks_leaves_the_beginning_and_says_why(api: Api, online: Any) -> None:
    message = await unfinished(api)
    online.reply(status=500, error="no")
    done = (await api.call("post", path(message))).json()
    assert (done["status"], done["answer"], done["decision"]) == (
        "interrupted",
        BEGINNING,
        "ANSWER",
    )
    assert done["status_reason"].startswith("The connection to the model was lost (")


async def test_what_is_complete_or_failed_is_not_continued(api: Api, online: Any) -> None:
    for status in ("complete", "failed"):
        response = await api.call("post", path(await unfinished(api, status)))
        assert (response.status_code, response.json()["error"]["code"]) == (409, "answer_complete")


async def test_it_waits_for_another_answer_of_the_conversation(
    api: Api, online: Any, workflow: ScriptedWorkflow
) -> None:
    message = await unfinished(api)
    workflow.hold()
    await api.begin(session_id=str(message.session_id))
    response = await api.call("post", path(message))
    assert (response.status_code, response.json()["error"]["code"]) == (409, "answer_in_progress")


async def test_a_continued_answer_can_be_stopped_and_keeps_its_beginning(
    api: Api, online: Any
) -> None:
    message = await unfinished(api)
    online.reply(text="for four weeks and then again for four weeks.", stall_after=6)
    response = await api.call("post", path(message), {"stream": True})
    seen = 0
    async for event in events_of(response):
        seen += event["type"] == "chunk"
        if seen == 2:
            break
    stopped = (await api.call("post", f"/api/messages/{message.pk}/stop")).json()
    assert (stopped["status"], stopped["decision"]) == ("stopped", "ANSWER")
    assert stopped["answer"].startswith(BEGINNING + " for")
    assert stopped["status_reason"] == "You stopped this answer; it can be continued."
