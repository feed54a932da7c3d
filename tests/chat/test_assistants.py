"""Questions that are asked by an assistant: what it gives, what it never lends, and what is said where it is gone."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat.models import Assistant, Message, Session
from retrieval.models import Collection, CollectionPerson
from tests.chat.conftest import Api, Handbook, ScriptedWorkflow
from tests.chat.test_statements import asked, statements
from tests.factories import CollectionFactory

__all__ = ["statements"]


async def make_collection(**fields: Any) -> Collection:
    return await sync_to_async(CollectionFactory)(**fields)


async def make(owner: User | None, name: str = "Rules", **fields: Any) -> Assistant:
    return await Assistant.objects.acreate(owner=owner, name=name, **fields)


def entry_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The path's entry of the assistant."""
    return next(step for step in answer["decision_path"] if step["name"] == "assistant")


async def test_it_gives_what_the_request_does_not_name(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    own = await make_collection(name="notes", owner=api.user, visibility="private")
    other = await make_collection(name="law", owner=api.user, visibility="private")
    await make(
        api.user,
        instructions="Be brief.",
        collections=[str(own.pk)],
        workflow="react",
        options={"rerank": False},
        filters={"department": "HR"},
        model="small",
    )
    given = (await api.ask(assistant="Rules", options={"hyde": False})).json()
    named = (
        await api.ask(assistant="Rules", collections=["law"], workflow="corrective", filters={})
    ).json()
    first, second = workflow.questions
    assert (first.scope.ids, first.instructions) == ((str(own.pk),), "Be brief.")
    assert (first.filters.department, first.model) == ("HR", "small")
    assert (first.options.rerank, first.options.hyde) == (False, False)
    assert (given["workflow"], named["workflow"]) == ("react", "corrective")
    assert (second.scope.ids, second.filters.department) == ((str(other.pk),), None)
    assert second.options.rerank is None  # it belongs to the assistant's workflow
    assert second.instructions == "Be brief."
    assert entry_of(named)["summary"] == "Rules, version 1"


async def test_a_conversation_remembers_it_until_another_or_none_is_chosen(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    await make(api.user, instructions="Be brief.")
    first = (await api.ask(assistant="Rules")).json()
    session = first["session_id"]
    await api.ask(session_id=session)
    shown = (await api.call("get", f"/api/sessions/{session}")).json()
    await api.ask(session_id=session, assistant="")
    await api.ask(session_id=session)
    assert [one.instructions for one in workflow.questions] == ["Be brief.", "Be brief.", "", ""]
    assert shown["assistant"]["name"] == "Rules"


async def test_an_answer_written_again_is_asked_by_the_assistant_as_it_is_now(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    rules = await make(api.user, instructions="Be brief.", workflow="react")
    answer = (await api.ask(assistant="Rules")).json()
    await Assistant.objects.filter(pk=rules.pk).aupdate(
        instructions="Be long.", workflow="", version=2
    )
    again = await api.call("post", f"/api/messages/{answer['message_id']}/regenerate", {})
    assert workflow.questions[-1].instructions == "Be long."
    assert (again.json()["workflow"], entry_of(again.json())["detail"]["version"]) == (
        "corrective",
        2,
    )
    stored = await Message.objects.aget(pk=answer["message_id"])
    assert stored.request["assistant"]["instructions"] == "Be brief."  # as it was then


async def test_it_lends_no_permission(api: Api, workflow: ScriptedWorkflow, stranger: User) -> None:
    secret = await make_collection(name="secret", owner=stranger, visibility="private")
    shared = await make_collection(name="shared", owner=stranger, visibility="shared")
    await CollectionPerson.objects.acreate(collection=shared, user=api.user)
    await make(
        stranger, collections=[str(secret.pk), str(shared.pk)], visibility="public", name="Both"
    )
    answer = (await api.ask(assistant=f"{stranger.username}/Both")).json()
    assert workflow.questions[-1].scope.ids == (str(shared.pk),)
    assert entry_of(answer)["status"] == "degraded"
    assert "“Both” looks into 2 collections" in str(answer["found"])


async def test_where_it_says_so_the_askers_own_collections_are_searched_beside_its_own(
    api: Api, workflow: ScriptedWorkflow, stranger: User
) -> None:
    law = await make_collection(name="law", owner=stranger, visibility="public")
    secret = await make_collection(name="secret", owner=stranger, visibility="private")
    own = await make_collection(name="notes", owner=api.user, visibility="private")
    await make_collection(name="handbook", owner=None)
    shared = {"visibility": "public", "collections": [str(law.pk), str(secret.pk)]}
    await make(stranger, "Alone", **shared)
    await make(stranger, "Beside", with_own=True, **shared)
    await make(stranger, "Hidden", with_own=True, visibility="public", collections=[str(secret.pk)])
    for name in ("Alone", "Beside"):
        answer = (await api.ask(assistant=f"{stranger.username}/{name}")).json()
        assert "looks into 2 collections" in str(answer["found"])
    alone, beside = (set(question.scope.ids) for question in workflow.questions)
    assert alone == {str(law.pk)}
    assert beside == {str(law.pk), str(own.pk)}
    refused = await api.ask(assistant=f"{stranger.username}/Hidden")
    assert refused.json()["error"]["code"] == "assistant_collections_unreadable"


@pytest.mark.parametrize("withdrawn", [True, False], ids=["withdrawn", "deleted"])
async def test_with_no_collection_left_nothing_is_asked_and_the_question_may_be_without_it(
    api: Api, workflow: ScriptedWorkflow, stranger: User, withdrawn: bool
) -> None:
    collection = await make_collection(name="law", owner=stranger, visibility="private")
    await make(stranger, collections=[str(collection.pk)], visibility="public")
    if not withdrawn:
        await collection.adelete()
    refused = await api.ask(assistant=f"{stranger.username}/Rules")
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert error["code"] == "assistant_collections_unreadable"
    assert "“Rules”" in error["message"] and "without the assistant" in error["message"]
    assert not await Session.objects.aexists()
    assert (await api.ask(assistant="")).status_code == 200


async def test_one_that_was_deleted_is_done_without_and_the_answer_says_so(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    rules = await make(api.user, instructions="Be brief.")
    first = (await api.ask(assistant="Rules")).json()
    await rules.adelete()
    answer = (await api.ask(session_id=first["session_id"])).json()
    after = (await api.ask(session_id=first["session_id"])).json()
    assert workflow.questions[1].instructions == ""
    assert "“Rules” was deleted" in str(answer["found"])
    assert next(step["step"] for step in answer["degraded"]) == "assistant"
    assert "assistant" not in {step["name"] for step in after["decision_path"]}  # said once


@pytest.mark.parametrize(
    "address", ["nobody/Rules", "Private", "00000000-0000-4000-8000-000000000000"]
)
async def test_a_strangers_answers_like_none(
    api: Api, workflow: ScriptedWorkflow, stranger: User, address: str
) -> None:
    await make(stranger, name="Private")
    assert (await api.ask(assistant=address)).status_code == 404


async def test_a_new_conversation_has_the_sites_default_where_nobody_chooses(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    before = (await api.ask()).json()
    await make(None, name="House", instructions="Be brief.", visibility="public", is_default=True)
    await api.ask()
    await api.ask(assistant="")
    await api.ask(session_id=before["session_id"])
    assert [one.instructions for one in workflow.questions] == ["", "Be brief.", "", ""]


async def test_a_task_of_documents_wants_them_whatever_the_assistant_looks_into(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    own = await make_collection(name="notes", owner=api.user, visibility="private")
    await make(api.user, collections=[str(own.pk)])
    refused = await api.ask(assistant="Rules", task="summarise")
    assert refused.status_code == 400 and "documents" in refused.json()["error"]["fields"]


async def test_a_workflow_that_is_switched_off_is_done_without(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    await make(api.user, workflow="gone", options={"hyde": False}, model="no-such-model")
    answer = (await api.ask(assistant="Rules")).json()
    assert answer["workflow"] == "corrective"
    assert entry_of(answer)["detail"]["lost"] == ["gone", "no-such-model"]


async def test_a_socket_asks_by_it(user: User, workflow: ScriptedWorkflow, socket: Any) -> None:
    await make(user, instructions="Be brief.")
    tab = await socket()
    await tab.send("ask", message="How many?", assistant="Rules")
    await tab.until("done")
    await tab.send("ask", message="And then?")
    await tab.until("done")
    assert [one.instructions for one in workflow.questions] == ["Be brief."] * 2
    await tab.send("ask", message="How many?", assistant="None such")
    assert (await tab.until("error"))[-1]["code"] == "not_found"


async def test_it_costs_one_statement_and_the_default_none(
    api: Api, handbook: Handbook, online: Any, statements: list[str]
) -> None:
    collection = await handbook()
    plain = await asked(api, statements)
    made = await make(None, name="House", visibility="public", is_default=True)
    with_default = await asked(api, statements)
    await Assistant.objects.filter(pk=made.pk).adelete()
    await make(api.user, collections=[str(collection.pk)], instructions="Be brief.")
    statements.clear()
    await api.ask("How large is the deposit for a room in Lakeside hall?", assistant="Rules")
    named = sum("chat_assistant" in sql for sql in statements)
    assert with_default - plain <= 1  # the entry in the path
    assert named == 1
