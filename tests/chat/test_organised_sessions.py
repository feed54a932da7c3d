"""Pinned, archived and filed conversations."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.models import Session
from tests.chat.conftest import Api
from tests.factories import SessionFactory


async def sessions(api: Api, *titles: str) -> dict[str, str]:
    made: list[Session] = [
        await sync_to_async(SessionFactory)(user=api.user, title=title) for title in titles
    ]  # type: ignore[misc]
    return {session.title: str(session.pk) for session in made}


async def change(api: Api, session_id: str, **fields: Any) -> Any:
    return await api.call("patch", f"/api/sessions/{session_id}", fields)


async def listed(api: Api, query: str = "") -> list[str]:
    return [
        row["title"] for row in (await api.call("get", f"/api/sessions{query}")).json()["results"]
    ]


async def test_pinned_ones_come_first_and_the_archive_is_apart(api: Api) -> None:
    ids = await sessions(api, "A", "B", "C")
    assert (await change(api, ids["A"], pinned=True)).json()["pinned"] is True
    await change(api, ids["C"], archived=True)
    assert await listed(api) == ["A", "B"]
    assert await listed(api, "?archived=true") == ["C"]
    assert await listed(api, "?archived=false&search=C") == []
    await change(api, ids["C"], archived=False)
    assert await listed(api) == ["A", "C", "B"]


async def test_folders_are_listed_and_filtered_by(api: Api, other_api: Api) -> None:
    ids = await sessions(api, "A", "B", "C", "D")
    await change(api, ids["A"], folder="  Thesis\n work ")
    await change(api, ids["B"], folder="Admin")
    await change(api, ids["D"], folder="Admin")
    await change(api, ids["D"], archived=True)
    assert await listed(api, "?folder=Thesis%20work") == ["A"]
    assert await listed(api, "?folder=") == ["C"]
    folders = (await api.call("get", "/api/sessions/folders")).json()
    assert folders["results"] == [
        {"name": "Admin", "session_count": 1},
        {"name": "Thesis work", "session_count": 1},
    ]
    assert (await other_api.call("get", "/api/sessions/folders")).json()["count"] == 0
    await change(api, ids["C"], folder="Admin")
    await change(api, ids["B"], pinned=True)
    assert (await listed(api, "?folder=Admin&archived=false"))[0] == "B"
    await change(api, ids["C"], folder=None)
    await change(api, ids["A"], folder=None)
    assert sorted(await listed(api, "?folder=")) == ["A", "C"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"pinned": "yes"}, {"archived": 1}, {"folder": "x" * 101}, {"folder": 5}, {"title": None}, {"pinned": None},
     {"title": ""}, {"title": "\u200b\ufeff\u202e"}, {"starred": True}, {"folder": "\x00"}],
)  # fmt: skip
async def test_bad_changes_are_refused(api: Api, fields: dict[str, Any]) -> None:
    [session_id] = (await sessions(api, "A")).values()
    assert (await change(api, session_id, **fields)).status_code == 400
