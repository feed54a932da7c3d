"""A question in other words is a branch; answers and questions have versions, one of which is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat.conftest import Api, ScriptedWorkflow


async def shown(api: Api, session_id: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        await api.call("get", f"/api/sessions/{session_id}/messages")
    ).json()["results"]
    return rows


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [
        message["text"] if message["role"] == "user" else message["answer"] for message in messages
    ]


async def edit(api: Api, message_id: Any, message: str, **fields: Any) -> Any:
    return await api.call(
        "post", f"/api/messages/{message_id}/edit", {"message": message, **fields}
    )


async def dialogue(api: Api, workflow: ScriptedWorkflow, *questions: str) -> list[dict[str, Any]]:
    """Each question answered with "re: " and its words."""
    answers: list[dict[str, Any]] = []
    for question in questions:
        workflow.chunks = (f"re: {question}",)
        session = {"session_id": answers[0]["session_id"]} if answers else {}
        answers.append((await api.ask(question, **session)).json())
    return answers


async def test_an_edited_question_is_a_branch_and_both_stay(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    first, second, _ = await dialogue(api, workflow, "A", "B", "C")
    workflow.chunks = ("re: B2",)
    new = (await edit(api, second["reply_to"], "B2")).json()
    assert texts(await shown(api, first["session_id"])) == ["A", "re: A", "B2", "re: B2"]
    assert [entry.text for entry in workflow.questions[-1].history] == ["A", "re: A"]
    versions = (await api.call("get", f"/api/messages/{second['reply_to']}/versions")).json()[
        "results"
    ]
    assert texts(versions) == ["B", "B2"]
    question = (await shown(api, first["session_id"]))[2]
    assert question["versions"] == [second["reply_to"], new["reply_to"]]
    assert question["superseded"] is False


async def test_showing_a_version_brings_back_what_followed_it(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    first, second, _ = await dialogue(api, workflow, "A", "B", "C")
    workflow.chunks = ("re: B2",)
    new = (await edit(api, second["reply_to"], "B2")).json()
    old = await api.call("post", f"/api/messages/{second['reply_to']}/show")
    assert (old.status_code, old.json()["superseded"]) == (200, False)
    assert texts(await shown(api, first["session_id"])) == [
        "A",
        "re: A",
        "B",
        "re: B",
        "C",
        "re: C",
    ]
    workflow.chunks = ("re: D",)
    await api.ask("D", session_id=first["session_id"])
    assert [entry.text for entry in workflow.questions[-1].history][-2:] == ["C", "re: C"]
    await api.call("post", f"/api/messages/{new['reply_to']}/show")
    workflow.chunks = ("re: E",)
    await api.ask("E", session_id=first["session_id"])
    assert [entry.text for entry in workflow.questions[-1].history] == [
        "A",
        "re: A",
        "B2",
        "re: B2",
    ]
    assert texts(await shown(api, first["session_id"]))[-4:] == ["B2", "re: B2", "E", "re: E"]


async def test_answers_of_a_question_are_versions_each_with_its_rating(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    old, later = await dialogue(api, workflow, "A", "B")
    await api.call("put", f"/api/messages/{old['message_id']}/rating", {"thumb": "down"})
    workflow.chunks = ("better",)
    new = (await api.call("post", f"/api/messages/{old['message_id']}/regenerate")).json()
    await api.call("put", f"/api/messages/{new['message_id']}/rating", {"thumb": "up"})
    for message_id in (old["message_id"], new["message_id"]):
        versions = (await api.call("get", f"/api/messages/{message_id}/versions")).json()
        assert [version["message_id"] for version in versions["results"]] == [
            old["message_id"],
            new["message_id"],
        ]
        assert [version["rating"]["thumb"] for version in versions["results"]] == ["down", "up"]
        assert [version["superseded"] for version in versions["results"]] == [True, False]
        assert all(len(version["sources"]) == 1 for version in versions["results"])
    assert new["versions"] == [old["message_id"], new["message_id"]]
    assert texts(await shown(api, old["session_id"])) == ["A", "better", "B", "re: B"]
    await api.call("post", f"/api/messages/{old['message_id']}/show")
    assert texts(await shown(api, old["session_id"])) == ["A", "re: A", "B", "re: B"]
    assert later["versions"] == [later["message_id"]]


@pytest.mark.parametrize(
    "body", [{}, {"message": ""}, {"message": "  "}, {"message": "x", "text": "y"}, {"message": 5}]
)
async def test_bad_edits_are_refused(
    api: Api, workflow: ScriptedWorkflow, body: dict[str, Any]
) -> None:
    [first] = await dialogue(api, workflow, "A")
    assert (
        await api.call("post", f"/api/messages/{first['reply_to']}/edit", body)
    ).status_code == 400
    assert texts(await shown(api, first["session_id"])) == ["A", "re: A"]


async def test_nothing_is_edited_while_an_answer_is_written(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    [first] = await dialogue(api, workflow, "A")
    workflow.hold()
    await api.begin(session_id=first["session_id"])
    assert (await edit(api, first["reply_to"], "A2")).status_code == 409
    for call in (f"{first['reply_to']}/show", f"{first['message_id']}/regenerate"):
        assert (await api.call("post", f"/api/messages/{call}")).status_code == 409
    assert (await shown(api, first["session_id"]))[0]["superseded"] is False


async def test_an_edited_first_question_names_the_conversation_unless_it_was_renamed(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    first, second = await dialogue(api, workflow, "A", "B")
    session = f"/api/sessions/{first['session_id']}"
    await edit(api, second["reply_to"], "B2")
    assert (await api.call("get", session)).json()["title"] == "A"
    edited = (await edit(api, first["reply_to"], "A2")).json()
    assert (await api.call("get", session)).json()["title"] == "A2"
    await api.call("patch", session, {"title": "Mine"})
    await edit(api, edited["reply_to"], "A3")
    assert (await api.call("get", session)).json()["title"] == "Mine"
