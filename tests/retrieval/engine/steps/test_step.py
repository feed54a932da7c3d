"""What every step is: its entry in the decision path, its limit, and its fallback."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.engine.deps import Deadline, Deps
from retrieval.engine.errors import IndexUnavailableError, ModelOutputError
from retrieval.engine.path_details import RewriteDetails
from retrieval.engine.steps.step import step
from retrieval.engine.trace import Trace, note, skip
from tests.retrieval.engine.steps.fakes import make_tools


@pytest.fixture
def deps() -> Deps:
    return replace(make_tools(settings.RAG), trace=Trace())


def nothing(deps: Deps, text: str) -> list[str]:
    return []


@step("rewrite", fallback=nothing, timeout_s=0.05)
async def rewrite(deps: Deps, text: str) -> list[str]:
    match text:
        case "late":
            await asyncio.sleep(5)
        case "nonsense":
            raise ModelOutputError("no JSON")
        case "off":
            skip("switched_off")
            return []
        case "away":
            raise IndexUnavailableError
    note("queries_made", RewriteDetails(queries=(text,)))
    return [text]


async def test_a_step_gives_its_result_and_leaves_an_entry(deps: Deps) -> None:
    assert await rewrite(deps, "other words") == ["other words"]
    [entry] = deps.trace.steps
    assert (entry.name, entry.status, entry.code, entry.summary) == (
        "rewrite", "ok", "queries_made", "other words",
    )  # fmt: skip
    assert entry.detail == {"queries": ["other words"]}


@pytest.mark.parametrize(
    ("text", "reason"), [("nonsense", "no JSON"), ("late", "no result within 0.05 s")]
)
async def test_the_fallback_serves_where_the_model_fails_or_is_late(
    deps: Deps, text: str, reason: str
) -> None:
    assert await rewrite(deps, text) == []
    assert deps.trace.degraded == [{"step": "rewrite", "reason": reason}]


async def test_an_error_that_is_no_models_is_the_callers(deps: Deps) -> None:
    with pytest.raises(IndexUnavailableError):
        await rewrite(deps, "away")
    assert deps.trace.steps[0].status == "failed"


async def test_nothing_is_begun_when_the_answers_time_is_over(deps: Deps) -> None:
    late = replace(deps, deadline=Deadline(0))
    assert await rewrite(late, "other words") == []
    assert late.trace.degraded == [{"step": "rewrite", "reason": "no time was left for the model"}]
