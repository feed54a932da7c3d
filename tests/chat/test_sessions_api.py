"""Conversations: list, search, rename, delete, export."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import sync_to_async

from chat.models import Message, Session
from tests.chat.conftest import Api, ScriptedWorkflow
from tests.factories import SessionFactory, SourceFactory, answered


def _conversation(user: Any, title: str = "Loans", answer: str = "Ten books [1].") -> Session:
    session: Session = SessionFactory(user=user, title=title)
    SourceFactory(
        message=answered(session=session, text=answer), marker=1, title="Library rules", page=2
    )
    return session


async def test_list_is_paged_and_shows_only_ones_own(api: Api, other_api: Api) -> None:
    mine = await sync_to_async(_conversation)(api.user)
    await sync_to_async(_conversation)(other_api.user)
    data = (await api.call("get", "/api/sessions")).json()
    assert (data["count"], data["next"], data["previous"]) == (1, None, None)
    assert data["results"][0]["id"] == str(mine.pk)
    assert data["results"][0]["message_count"] == 2


async def test_search_finds_titles_and_messages(api: Api) -> None:
    await sync_to_async(_conversation)(api.user, "Exam dates", "In May.")
    await sync_to_async(_conversation)(api.user, "Loans", "Zwölf Bücher.")
    found = [
        [
            item["title"]
            for item in (await api.call("get", f"/api/sessions?search={words}")).json()["results"]
        ]
        for words in ("exam", "Bücher", "nothing")
    ]
    assert found == [["Exam dates"], ["Loans"], []]


async def test_a_bad_query_parameter_is_bad_input(api: Api) -> None:
    response = await api.call("get", "/api/sessions?search=%00exam")
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, ["search"])
    assert (await api.call("get", "/api/sessions?page=x")).status_code == 404


async def test_rename(api: Api) -> None:
    session = await sync_to_async(_conversation)(api.user)
    response = await api.call(
        "patch", f"/api/sessions/{session.pk}", {"title": "  Library   loans "}
    )
    await session.arefresh_from_db()
    assert (response.status_code, session.title) == (200, "Library loans")


async def test_delete_takes_the_messages_along(api: Api) -> None:
    session = await sync_to_async(_conversation)(api.user)
    assert (await api.call("delete", f"/api/sessions/{session.pk}")).status_code == 204
    assert await Message.objects.filter(session_id=session.pk).acount() == 0


async def test_delete_stops_the_answer_that_is_being_written(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.hold()
    started = await api.begin()
    response = await api.call("delete", f"/api/sessions/{started['session_id']}")
    assert (response.status_code, workflow.cancelled) == (204, 1)
    assert await Session.objects.acount() == 0


async def test_strangers_get_404_by_every_call(api: Api, other_api: Api) -> None:
    session = await sync_to_async(_conversation)(api.user)
    for known in (session.pk, uuid.uuid4(), "nonsense"):
        path = f"/api/sessions/{known}"
        for method, call, body in (
            ("get", "", None),
            ("patch", "", {"title": "Mine now"}),
            ("delete", "", None),
            ("get", "/messages", None),
            ("get", "/export", None),
        ):
            response = await other_api.call(method, path + call, body)
            assert response.status_code == 404, (method, call)
            assert response.json()["error"]["message"]
    await session.arefresh_from_db()
    assert session.title == "Loans"


async def test_markdown_export_is_a_file_with_its_sources(api: Api) -> None:
    session = await sync_to_async(_conversation)(api.user, "Bücher 借书")
    response = await api.call("get", f"/api/sessions/{session.pk}/export?format=markdown")
    text = response.content.decode()
    assert response["Content-Disposition"].startswith("attachment; filename")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert "# Bücher 借书" in text
    assert "Ten books [1]." in text
    assert "- [1] Library rules, page 2" in text
