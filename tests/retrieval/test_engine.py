"""The engine when the settings change: the next question gets another one, and the former is closed later."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from retrieval import engine
from retrieval.engine import close_engine, get_engine

pytestmark = pytest.mark.usefixtures("offline")


async def test_an_engine_that_is_held_keeps_its_settings(rag_settings: Any) -> None:
    held = get_engine()
    rag_settings(search={"top_k": 9})
    assert held.settings.search.top_k == 5
    assert get_engine().settings.search.top_k == 9
    await close_engine()


async def test_a_former_engine_is_closed_when_no_answer_can_hold_it_any_more(
    rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "GRACE_S", 0.0)
    rag_settings(limits={"answer_timeout_s": 0.05})
    former = get_engine()
    closed: list[str] = []
    monkeypatch.setattr(former.index, "close", partial(_note, closed, "index"))
    rag_settings(search={"top_k": 9})
    get_engine()
    assert closed == []
    await asyncio.sleep(0.2)
    assert closed == ["index"]
    await close_engine()


async def _note(closed: list[str], part: str) -> None:
    closed.append(part)
