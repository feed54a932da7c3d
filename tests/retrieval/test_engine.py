"""The engine when the settings change: the next question gets another one, which shares what stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.engine import close_engine, get_engine, get_engine_for
from retrieval.prompting import built_in_text
from retrieval.trace import HeldBackTrace, Trace

pytestmark = pytest.mark.usefixtures("offline")


async def test_an_engine_that_is_held_keeps_its_settings(rag_settings: Any) -> None:
    held = get_engine()
    rag_settings(search={"top_k": 9})
    assert held.settings.search.top_k == 5
    assert get_engine().settings.search.top_k == 9
    await close_engine()


async def test_parts_with_the_same_settings_are_kept(rag_settings: Any) -> None:
    before = get_engine()
    rag_settings(corrective={"good_score": 0.7})
    after = get_engine()
    assert after is not before
    for part in ("models", "index", "memory_index", "searcher", "boosts", "prompts"):
        assert getattr(after, part) is getattr(before, part), part
    await close_engine()


async def test_other_models_are_made_anew_and_the_old_ones_closed_with_the_engine(rag_settings: Any) -> None:
    before = get_engine()
    rag_settings(ollama={"chat_model": "other"})
    after = get_engine()
    assert after.models is not before.models and after.searcher is not before.searcher
    assert after.index is before.index
    closed: list[Any] = []
    for models in (before.models, after.models):
        models.close = lambda models=models: _note(closed, models)  # type: ignore[method-assign]
    await close_engine()
    assert closed == [after.models, before.models]


async def _note(closed: list[Any], models: Any) -> None:
    closed.append(models)


async def test_settings_are_tried_beside_the_sites_own(settings: Any) -> None:
    rag = settings.RAG.replace(search=settings.RAG.search.replace(top_k=9))
    tried = get_engine_for(rag)
    assert (tried.settings.search.top_k, get_engine().settings.search.top_k) == (9, 5)
    assert tried.index is get_engine().index and tried.models is get_engine().models
    assert get_engine_for(rag.replace()) is tried
    await close_engine()


async def test_a_prompt_of_the_settings_is_rendered(rag_settings: Any, settings: Any) -> None:
    before = get_engine()
    text = built_in_text("hyde.en").replace("\n---\n", "\nBe short.\n---\n")
    settings.RAG = settings.RAG.replace(prompts=(("hyde.en", text),))
    prompt = get_engine().prompts.render("hyde", language="en", history="", question="q")
    shipped = before.prompts.render("hyde", language="en", history="", question="q")
    assert "Be short." in prompt.system and "Be short." not in shipped.system
    assert prompt.hash != shipped.hash
    await close_engine()


async def test_the_first_entry_of_a_path_says_the_revision_of_settings() -> None:
    trace = Trace()
    trace.note_settings(7)
    async with trace.step("route"), trace.step("rewrite"):
        pass
    async with HeldBackTrace(trace).step("verify"):
        pass
    assert [step.detail.get("settings_revision") for step in trace.steps] == [7, None, None]
