"""A second look at an answer that has been read: what follows, and whether it states what was asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.deps import Deadline
from retrieval.engine.steps.grounding.second_look import MOST_PASSAGES, second_look
from retrieval.engine.steps.grounding.verify import verify
from retrieval.engine.values import Answer, AnswerSource, Scores
from tests.retrieval.engine.steps.fakes import chunk, make_tools
from tests.retrieval.engine.workflows.runs import judgement

QUESTION = "What does a resit cost?"
FEES = chunk(
    1,
    "A late resit costs EUR 55. Registration for resits closes on 1 July.",
    title="Examination Regulations",
)
HALLS = chunk(2, "The deposit for a room in Lakeside hall is EUR 300.", title="Student Housing")
TWO = "A late resit costs EUR 55 [1]. Registration for resits closes on 1 July [1]."


def written(text: str = TWO, **fields: Any) -> Answer:
    sources = tuple(
        AnswerSource(marker=number, chunk=one, scores=Scores(), cited=f"[{number}]" in text)
        for number, one in enumerate((FEES, HALLS), start=1)
    )
    return replace(Answer(decision="ANSWER", text=text, sources=sources, model="m"), **fields)


async def looked_at(answer: Answer, **parts: Any):
    deps = make_tools(settings.RAG, **parts)
    answer = await verify(deps, answer, question=QUESTION)
    return await second_look(deps, answer, question=QUESTION), deps.trace


@pytest.mark.parametrize(
    ("reply", "support", "supported"),
    [
        ({"supported": [True, True], "answers": True}, "full", [True, True]),
        ({"supported": [True, False], "answers": True}, "partly", [True, False]),
        ({"supported": [False, False], "answers": True}, "none", [False, False]),
        ({"supported": [True, True], "answers": False}, "none", [True, True]),
    ],
)
async def test_what_the_model_says_is_the_answers_support(
    online, reply: Any, support: str, supported: list
) -> None:
    online.reply(match="Task: JUDGE", json=judgement("no_answer"))
    online.reply(structured=True, json=reply)
    answer, trace = await looked_at(written())
    assert answer.support == support
    assert [sentence.supported for sentence in answer.grounding] == supported
    assert (answer.text, answer.decision) == (TWO, "ANSWER")
    assert trace.steps[-1].detail["support"] == support


async def test_a_doubt_that_the_judge_does_not_share_leaves_a_part_confirmed(online) -> None:
    online.reply(match="Task: JUDGE", json=judgement("answer", 1))
    online.reply(structured=True, json={"supported": [True, True], "answers": False})
    answer, _ = await looked_at(written())
    assert answer.support == "partly"


async def test_where_the_judge_fails_the_doubt_stands(online) -> None:
    online.reply(match="Task: JUDGE", status=500)
    online.reply(structured=True, json={"supported": [True, True], "answers": False})
    answer, trace = await looked_at(written())
    assert answer.support == "none"
    assert trace.steps[-1].status == "degraded"


async def test_the_model_is_shown_the_question_the_sentences_and_what_they_cite(online) -> None:
    online.reply(structured=True, json={"supported": [True, True], "answers": True})
    others = [chunk(number, f"Rule {number}: the gate is shut at night.") for number in range(2, 8)]
    sources = tuple(
        AnswerSource(marker=number, chunk=one, scores=Scores(), cited=number == 1)
        for number, one in enumerate((FEES, *others), start=1)
    )
    await looked_at(written(sources=sources))
    (request,) = online.chats
    assert QUESTION in request.prompt
    assert "- A late resit costs EUR 55. [1]" in request.prompt
    assert "Examination Regulations" in request.prompt
    assert (
        request.prompt.count("the gate is shut") == 2
    )  # a passage alone, on the subject, looks right


async def test_a_model_raises_no_sentence_that_the_words_found_weak(online) -> None:
    online.reply(structured=True, json={"supported": [True, True], "answers": True})
    answer, _ = await looked_at(
        written("A late resit costs EUR 55 [1]. The canteen serves lunch all day [1].")
    )
    assert [sentence.supported for sentence in answer.grounding] == [True, False]


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"text": "no json"}, {"json": {"supported": [True], "answers": True}}],
)
async def test_where_the_model_fails_it_was_not_looked_at_and_the_path_says_so(
    online, fault: Any
) -> None:
    online.reply(**fault)
    answer, trace = await looked_at(written())
    assert answer.support is None
    assert [sentence.supported for sentence in answer.grounding] == [True, True]
    assert trace.steps[-1].status == "degraded"


async def test_no_more_time_is_taken_than_the_answer_has(online) -> None:
    answer, trace = await looked_at(written(), deadline=Deadline(0))
    assert (answer.support, online.chats) == (None, [])
    assert trace.degraded == [{"step": "verify", "reason": "no time was left for the model"}]


@pytest.mark.parametrize(
    "fields",
    [{"decision": "NO_ANSWER"}, {"model": ""}, {"partial": True}, {"sources": ()}, {"text": ""}],
    ids=lambda fields: next(iter(fields)),
)
async def test_what_is_no_whole_answer_of_a_model_is_not_looked_at(online, fields: Any) -> None:
    answer, _ = await looked_at(written(**fields))
    assert (answer.support, online.chats) == (None, [])


@pytest.mark.parametrize(("limit_s", "support"), [(0.2, None), (30.0, "full")])
async def test_a_site_that_gives_its_model_more_time_waits_for_its_look_as_well(
    online, rag_settings, limit_s: float, support: str | None
) -> None:
    rag_settings(ollama={"structured_timeout_s": limit_s})
    online.reply(delay_s=0.5, json={"supported": [True, True], "answers": True})
    answer, _ = await looked_at(written())
    assert answer.support == support


async def test_a_setting_switches_it_off(online, rag_settings) -> None:
    rag_settings(verify={"by_model": False})
    answer, _ = await looked_at(written())
    assert (answer.support, online.chats) == (None, [])


async def test_what_rests_on_many_passages_is_not_looked_at(online) -> None:
    many = tuple(
        AnswerSource(
            marker=number,
            chunk=chunk(number, "A late resit costs EUR 55."),
            scores=Scores(),
            cited=True,
        )
        for number in range(1, MOST_PASSAGES + 2)
    )
    answer, trace = await looked_at(written(sources=many))
    assert (answer.support, online.chats) == (None, [])
    assert trace.steps[-1].status == "skipped"
