"""OpenAI's API at /v1, called by OpenAI's own client over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import Count
from django.utils import timezone
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from chat.models import AnswerReview, Assistant, Message, Session
from chat.review.records import answers_catch_up
from chat.selectors import session_list
from chat.tasks import conversations_forget
from retrieval.engine.values import Clarification
from tests.chat.conftest import TEXT, ScriptedWorkflow, program_key, source
from tests.factories import CollectionFactory

QUESTION: list[Any] = [{"role": "user", "content": "How many books may I borrow?"}]
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
]


@pytest.fixture
async def client(site_url: str, user: User) -> AsyncIterator[AsyncOpenAI]:
    key = await sync_to_async(program_key)(user, "ask")
    async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key, max_retries=0) as opened:
        yield opened


def ask(client: AsyncOpenAI, **fields: Any) -> Any:
    return client.chat.completions.create(**{"model": "ragsite", "messages": QUESTION, **fields})


# ------------------------------------------------------------------------------------------------ answers
async def test_an_answer_has_openais_form_and_ours_beside_it(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    answer = await ask(client)
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason, answer.model) == (TEXT, "stop", "ragsite")
    cited = choice.message.annotations[0].url_citation
    assert TEXT[cited.start_index : cited.end_index] == "[1]" and cited.title == "Library loans"
    assert cited.url.endswith("/documents/8d8ac610-566d-4ef0-9c22-186b2a5ed793/#chunk-chunk-1")
    assert answer.ragsite["decision"] == "ANSWER" and answer.ragsite["sources"][0]["marker"] == 1
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_a_stream_has_role_text_citations_end_and_usage(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    stream = await ask(client, stream=True, stream_options={"include_usage": True})
    *pieces, usage = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in pieces]
    assert (
        deltas[0].role == "assistant" and "".join(delta.content or "" for delta in deltas) == TEXT
    )
    assert deltas[-2].annotations[0]["type"] == "url_citation"
    assert [chunk.choices[0].finish_reason for chunk in pieces][-2:] == [None, "stop"]
    assert (
        usage.choices == []
        and usage.usage is not None
        and pieces[-1].ragsite["decision"] == "ANSWER"
    )
    assert len({chunk.id for chunk in (*pieces, usage)}) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_marker_is_the_number_of_its_annotation(
    client: AsyncOpenAI, workflow: Any, stream: bool
) -> None:
    workflow.sources = tuple(source(marker) for marker in (1, 4, 12))
    workflow.chunks = (
        "Ten [",
        "12][1",
        "]. A list [7",
        "] or r[4] x [",
        "4]; four [1",
        "2], open [1",
    )
    answer = await ask(client, stream=stream)
    if stream:
        *_, cited, last = chunks = [chunk async for chunk in answer]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        found, ours = (
            [one["url_citation"] for one in cited.choices[0].delta.annotations],
            last.ragsite,
        )
    else:
        message, ours = answer.choices[0].message, answer.ragsite
        text, found = (
            message.content,
            [one.url_citation.model_dump() for one in message.annotations],
        )
    assert text == "Ten [1][2]. A list [7] or r[4] x [3]; four [1], open [1"
    assert [text[one["start_index"] : one["end_index"]] for one in found] == ["[1]", "[2]", "[3]"]
    assert [one["url"].rpartition("-")[2] for one in found] == ["12", "1", "4"]
    assert {one["marker"]: one["number"] for one in ours["sources"]} == {1: 2, 4: 3, 12: 1}


async def test_the_stream_ends_with_done_and_without_usage_unasked(
    site_url: str, user: User, workflow: Any
) -> None:
    key = await sync_to_async(program_key)(user, "ask")
    body = {"model": "ragsite", "messages": QUESTION, "stream": True}
    async with httpx.AsyncClient() as http:
        answer = await http.post(
            f"{site_url}/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}
        )
    lines = [line for line in answer.text.split("\n") if line.startswith("data:")]
    assert (
        lines[-1] == "data: [DONE]"
        and '"usage": null' not in answer.text
        and '"choices": []' not in answer.text
    )


async def test_what_is_asked_back_is_an_answer_with_a_list(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    workflow.decision, workflow.sources, workflow.chunks = "CLARIFY", (), ("Which library?",)
    workflow.clarification = Clarification(question="Which library?", options=("Main", "Law"))
    answer = await ask(client)
    assert answer.choices[0].message.content == "Which library?\n\n- Main\n- Law"
    stream = await ask(client, stream=True)
    texts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(texts) == "Which library?\n\n- Main\n- Law"


async def test_the_history_comes_from_the_messages(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    earlier = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": [{"type": "text", "text": "Is there a library?"}]},
        {"role": "assistant", "content": "Yes.", "refusal": None},
    ]
    await ask(client, messages=[*earlier, *QUESTION])
    question = workflow.questions[0]
    assert question.text == QUESTION[0]["content"]
    assert [(said.role, said.text) for said in question.history] == [
        ("user", "Is there a library?"),
        ("assistant", "Yes."),
    ]


@pytest.mark.parametrize(
    ("model", "workflow_name", "rewrite"),
    [
        ("ragsite", "corrective", None), ("ragsite/quick", "corrective", False),
        ("ragsite/thorough", "dual_loop", None), ("ragsite/react", "react", None),
        ("ragsite/quick:policies", "corrective", False),
    ],
)  # fmt: skip
async def test_a_model_says_how_and_where(
    client: AsyncOpenAI,
    user: User,
    workflow: ScriptedWorkflow,
    model: str,
    workflow_name: str,
    rewrite: bool | None,
) -> None:
    policies = await sync_to_async(CollectionFactory)(name="policies", owner=user)
    more = {"collections": ["policies"], "options": {"top_k": 3}} if model == "ragsite" else {}
    answer = await ask(client, model=model, extra_body=more)
    asked = workflow.questions[0]
    stored = await Message.objects.aget(pk=answer.ragsite["message_id"])
    assert (stored.workflow, asked.options.rewrite) == (workflow_name, rewrite)
    if more or ":" in model:
        assert asked.scope.ids == (str(policies.pk),)
    assert asked.options.top_k == (3 if more else None)


async def test_an_assistant_is_a_model(
    client: AsyncOpenAI, workflow: ScriptedWorkflow, user: User
) -> None:
    await Assistant.objects.acreate(owner=user, name="Rules", instructions="Be brief.")
    name = f"ragsite@{user.username}/Rules"
    assert name in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve(name)).id == name
    await ask(client, model=name)
    assert workflow.questions[-1].instructions == "Be brief."
    for unknown in ("ragsite@None such", "ragsite@"):
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve(unknown)
        with pytest.raises(openai.NotFoundError):
            await ask(client, model=unknown)


async def test_models_are_listed_with_the_collections_that_are_seen(
    client: AsyncOpenAI, user: User
) -> None:
    await sync_to_async(CollectionFactory)(name="policies", owner=user, visibility="private")
    await sync_to_async(CollectionFactory)(name="secret", visibility="private")
    names = [model.id async for model in client.models.list()]
    assert names[:4] == ["ragsite", "ragsite/quick", "ragsite/careful", "ragsite/thorough"]
    assert f"ragsite:{user.username}/policies" in names and not any(
        "secret" in name for name in names
    )
    assert (await client.models.retrieve("ragsite/react")).id == "ragsite/react"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-5")


async def test_langchain_speaks_to_it(
    site_url: str, user: User, workflow: ScriptedWorkflow
) -> None:
    key: Any = await sync_to_async(program_key)(user, "ask")
    model = ChatOpenAI(
        base_url=f"{site_url}/v1",
        api_key=key,
        model="ragsite/careful",
        temperature=0,
        max_retries=0,
    )
    assert (await model.ainvoke("How many books?")).content == TEXT
    assert "".join([str(piece.content) async for piece in model.astream("How many books?")]) == TEXT


# ------------------------------------------------------------------------------------------------ refused
@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "gpt-5"}, 404, "model"),
        ({"model": "ragsite:nowhere"}, 404, "collections"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "assistant", "content": "Yes."}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "messages"),
        ({"messages": [{"content": "Books?"}, *QUESTION]}, 400, "messages"),
        ({"messages": [{"role": ["user"], "content": "Books?"}, *QUESTION]}, 400, "messages"),
        ({"messages": QUESTION * 2001}, 400, "messages"),
        ({"messages": [{"role": "user", "content": "x" * 8001}]}, 413, "messages"),
        ({"messages": [{"role": "user", "content": "x" * (1 << 20)}]}, 413, None),
        ({"n": 2}, 400, "n"),
        ({"tools": TOOLS, "tool_choice": "required"}, 400, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "weather"}}}, 400, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format"),
        ({"extra_body": {"colour": "red"}}, 400, "colour"),
        ({"extra_body": {f"key{number}": 1 for number in range(10_000)}}, 400, "key0"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_told_in_openais_form(
    client: AsyncOpenAI,
    workflow: ScriptedWorkflow,
    fields: dict[str, Any],
    status: int,
    param: str | None,
) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        await ask(client, **fields)
    error: Any = caught.value.body
    assert (caught.value.status_code, error["param"]) == (status, param) and error["message"]
    assert error["type"] == "invalid_request_error" and not workflow.questions


async def test_what_every_client_sends_is_taken(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    answer = await ask(
        client, temperature=0.2, max_tokens=50, top_p=1, seed=1, user="me", stop=["x"]
    )
    assert answer.choices[0].message.content == TEXT


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_names_what_of_its_request_was_ignored(
    client: AsyncOpenAI, workflow: ScriptedWorkflow, stream: bool
) -> None:
    sent = {
        "tools": TOOLS,
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "temperature": 0,
    }
    answer = await ask(client, **sent, stop=None, stream=stream)
    if stream:
        *_, answer = [chunk async for chunk in answer]
    assert answer.ragsite["ignored"] == sorted(sent)


async def test_keys_without_the_scope_or_none_are_refused(site_url: str, user: User) -> None:
    wrong = await sync_to_async(program_key)(user, "read")
    for key, error in (
        (wrong, openai.PermissionDeniedError),
        ("rsk_nothing", openai.AuthenticationError),
    ):
        async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key, max_retries=0) as stranger:
            with pytest.raises(error):
                await ask(stranger)


@pytest.mark.parametrize(
    ("path", "headers", "size", "kind"),
    [
        ("/v1/nothing", {}, 0, "invalid_request_error"),
        ("/v1/chat/completions", {}, 100_000, "authentication_error"),
        ("/v1/chat/completions", {"Content-Type": "text/plain"}, 9, "invalid_request_error"),
    ],
)
async def test_what_is_refused_beside_the_views_has_openais_form(
    site_url: str, user: User, path: str, headers: dict[str, str], size: int, kind: str
) -> None:
    key = await sync_to_async(program_key)(user, "ask")
    headers = {"Content-Type": "application/json", **headers}
    if kind != "authentication_error":
        headers["Authorization"] = f"Bearer {key}"
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{site_url}{path}", content=b"x" * size, headers=headers)
    assert (answer.json()["error"]["type"], answer.json()["error"]["param"]) == (kind, None)


async def test_a_failing_answer_is_an_error_before_and_in_a_stream(
    client: AsyncOpenAI, workflow: ScriptedWorkflow
) -> None:
    workflow.chunks, workflow.error = (), RuntimeError("/etc/passwd")
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client)
    assert "passwd" not in str(caught.value)
    stream = await ask(client, stream=True)
    with pytest.raises(openai.APIError, match="went wrong"):
        async for _ in stream:
            pass


async def test_a_keys_limits_are_its_owners(
    client: AsyncOpenAI, user: User, workflow: Any, limits: Any
) -> None:
    limits(questions_per_minute=1)
    await ask(client)
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(client)
    assert int(caught.value.response.headers["Retry-After"]) > 0


# ------------------------------------------------------------------------------------------------ leaving, keeping
@pytest.mark.parametrize("stream", [True, False])
async def test_who_leaves_stops_the_answer(
    client: AsyncOpenAI, workflow: ScriptedWorkflow, stream: bool
) -> None:
    workflow.gate = asyncio.Semaphore(1)
    asking = asyncio.create_task(ask(client, stream=stream))
    while not workflow.questions:
        await asyncio.sleep(0.01)
    if stream:
        await (await asking).close()
    else:
        asking.cancel()
    async with asyncio.timeout(10):
        while not workflow.cancelled:
            await asyncio.sleep(0.01)
    async with asyncio.timeout(10):
        while not await Message.objects.filter(status="stopped").aexists():
            await asyncio.sleep(0.05)


async def test_a_conversation_is_kept_only_where_the_keys_owner_wants_it(
    site_url: str, client: AsyncOpenAI, user: User, workflow: ScriptedWorkflow
) -> None:
    await ask(client)
    keeping = await sync_to_async(program_key)(user, "ask", keeps_conversations=True)
    async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=keeping) as other:
        await ask(other)
    assert await sync_to_async(session_list(user=user).count)() == 1
    assert [question.user_id for question in workflow.questions] == ["", str(user.pk)]
    await sync_to_async(answers_catch_up)(most=10, within_s=5)
    assert await AnswerReview.objects.acount() == 1  # the desk sees no other
    await Session.objects.all().aupdate(updated_at=timezone.now() - timedelta(hours=1))
    assert await sync_to_async(conversations_forget)() == 1
    assert await Session.objects.acount() == 1


async def test_a_conversation_that_goes_on_is_one(
    site_url: str, user: User, workflow: ScriptedWorkflow
) -> None:
    key = await sync_to_async(program_key)(user, "ask", keeps_conversations=True)
    workflow.sources, workflow.chunks = (
        (source(7),),
        (TEXT.replace("1", "7"),),
    )  # clients have it as [1]
    async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key) as client:
        await ask(client)
        said = [
            *QUESTION,
            {"role": "assistant", "content": TEXT},
            {"role": "user", "content": "And journals?"},
        ]
        await ask(client, messages=said)
        await ask(
            client, messages=said
        )  # asked again: the answer before it is no longer the last one
    counts = Session.objects.annotate(count=Count("messages")).values_list("count", flat=True)
    assert sorted([count async for count in counts]) == [2, 4]


@pytest.mark.parametrize(
    ("before", "now", "is_one"),
    [
        ("", "Rules", False),
        ("Rules", "", False),
        ("Rules", "House", False),
        ("Rules", "Rules", True),
        ("", "", True),
    ],
)
async def test_a_conversation_goes_on_with_the_assistant_that_it_was_held_with(
    site_url: str, user: User, workflow: ScriptedWorkflow, before: str, now: str, is_one: bool
) -> None:
    for name in ("Rules", "House"):
        await Assistant.objects.acreate(owner=user, name=name, instructions=f"As {name}.")
    key = await sync_to_async(program_key)(user, "ask", keeps_conversations=True)
    said = [
        *QUESTION,
        {"role": "assistant", "content": TEXT},
        {"role": "user", "content": "And journals?"},
    ]
    async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key) as client:
        await ask(client, model=f"ragsite@{before}" if before else "ragsite")
        await ask(client, model=f"ragsite@{now}" if now else "ragsite", messages=said)
    assert await Session.objects.acount() == (1 if is_one else 2)
    assert workflow.questions[-1].instructions == (f"As {now}." if now else "")


async def test_a_conversation_without_the_sites_default_goes_on_without_it_in_another_one(
    site_url: str, user: User, workflow: ScriptedWorkflow
) -> None:
    await Assistant.objects.acreate(
        name="House", instructions="As House.", visibility="public", is_default=True
    )
    key = await sync_to_async(program_key)(user, "ask", keeps_conversations=True)
    said = [
        *QUESTION,
        {"role": "assistant", "content": TEXT},
        {"role": "user", "content": "And journals?"},
    ]
    async with AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key) as client:
        await ask(client, extra_body={"assistant": ""})
        await ask(client, messages=said)
        await ask(client, messages=said, extra_body={"assistant": ""})
    assert [one.instructions for one in workflow.questions] == ["", "As House.", ""]
    assert await Session.objects.acount() == 2
