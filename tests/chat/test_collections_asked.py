"""Which collections a question is asked of, and stays asked of."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async

from retrieval.models import Collection
from tests.chat.conftest import Api, ScriptedWorkflow
from tests.factories import CollectionFactory, UserFactory


async def make_collection(**fields: Any) -> Collection:
    return await sync_to_async(CollectionFactory)(**fields)


async def regenerated(api: Api, message_id: str, **changes: Any) -> Any:
    return await api.call("post", f"/api/messages/{message_id}/regenerate", changes)


async def test_a_public_collection_answers_only_where_it_is_named(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    owner = await sync_to_async(UserFactory)(username="mallory")
    await make_collection(name="documents", owner=owner)
    sites, own = (
        await make_collection(name="handbook"),
        await make_collection(name="notes", owner=api.user, visibility="private"),
    )
    await api.ask()
    await api.ask(collections=["mallory/documents", "site:handbook", "notes"])
    unasked, named = (question.scope for question in workflow.questions)
    assert unasked.ids == (str(sites.pk), str(own.pk))
    assert [ref.name for ref in named.collections] == ["documents", "handbook", "notes"]


async def test_an_answer_written_anew_asks_the_same_collection(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    sites = await make_collection(name="policies")
    asked = (await api.ask(collections=["policies"])).json()
    await make_collection(name="policies", owner=api.user)
    await Collection.objects.filter(pk=sites.pk).aupdate(name="rules")
    again = await regenerated(api, asked["message_id"])
    assert again.status_code == 200
    assert [question.scope.ids for question in workflow.questions] == [(str(sites.pk),)] * 2


async def test_a_named_change_of_collections_means_the_present_ones(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    gone = await make_collection(name="policies")
    asked = (await api.ask(collections=["policies"])).json()
    await gone.adelete()
    own = await make_collection(name="policies", owner=api.user)
    assert (await regenerated(api, asked["message_id"])).status_code == 404
    await regenerated(api, asked["message_id"], collections=["policies"])
    assert workflow.questions[-1].scope.ids == (str(own.pk),)


async def test_an_answer_written_anew_keeps_the_options_that_are_not_named(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    await make_collection(name="policies")
    asked = (await api.ask(options={"rewrite": False})).json()
    assert (
        await regenerated(api, asked["message_id"], options={"route": False})
    ).status_code == 200
    options = workflow.questions[-1].options
    assert (options.rewrite, options.route) == (False, False)
