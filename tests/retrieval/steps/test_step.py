"""What every step is: its entry in the decision path, its limit, and its fallback."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.errors import IndexUnavailableError, ModelOutputError
from retrieval.steps.deps import Deadline, Deps
from retrieval.steps.step import step, try_call
from retrieval.trace import Trace, degrade, note, skip
from tests.retrieval.steps.fakes import make_tools


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
    note("passage_imagined", passage=text)
    return [text]


async def test_a_step_gives_its_result_and_leaves_an_entry(deps: Deps) -> None:
    assert await rewrite(deps, "other words") == ["other words"]
    [entry] = deps.trace.steps
    assert (entry.name, entry.status, entry.code, entry.summary) == (
        "rewrite", "ok", "passage_imagined", "other words",
    )  # fmt: skip
    assert entry.detail == {"passage": "other words"}


@pytest.mark.parametrize(("text", "reason"), [("nonsense", "no JSON"), ("late", "no result within 0.05 s")])
async def test_the_fallback_serves_where_the_model_fails_or_is_late(deps: Deps, text: str, reason: str) -> None:
    assert await rewrite(deps, text) == []
    assert deps.trace.degraded == [{"step": "rewrite", "reason": reason}]


async def test_what_is_switched_off_is_skipped_with_its_reason(deps: Deps) -> None:
    assert await rewrite(deps, "off") == []
    assert (deps.trace.steps[0].status, deps.trace.steps[0].detail) == ("skipped", {"reason": "switched off"})


async def test_an_error_that_is_no_models_is_the_callers(deps: Deps) -> None:
    with pytest.raises(IndexUnavailableError):
        await rewrite(deps, "away")
    assert deps.trace.steps[0].status == "failed"


async def test_nothing_is_begun_when_the_answers_time_is_over(deps: Deps) -> None:
    late = replace(deps, deadline=Deadline(0))
    assert await rewrite(late, "other words") == []
    assert late.trace.degraded == [{"step": "rewrite", "reason": "no time was left for the model"}]


def test_what_only_improves_an_answer_falls_away_first() -> None:
    assert shares(Deadline(200)) == (20, 20)
    late = Deadline(100)
    late._ends -= 60  # 40 s are left, 30 of them for the writing
    assert shares(late) == pytest.approx((2.5, 6.0), abs=0.1)
    late._ends -= 15
    assert shares(late) == (0.0, 0.0)


def shares(deadline: Deadline) -> tuple[float, float]:
    return (
        deadline.share(20, optional=True, writing=False),
        deadline.share(20, optional=False, writing=False),
    )


async def test_a_call_within_a_step_is_none_where_it_fails(deps: Deps) -> None:
    async def fails() -> str:
        raise ModelOutputError("no JSON")

    @step("assess")
    async def judge(deps: Deps) -> str | None:
        return await try_call(deps, fails())

    assert await judge(deps) is None
    assert deps.trace.degraded == [{"step": "assess", "reason": "no JSON"}]


async def test_a_fallback_may_be_a_coroutine_and_note_in_the_same_entry(deps: Deps) -> None:
    async def imagined(deps: Deps) -> str:
        note("passage_imagined", passage="by rules")
        return "by rules"

    @step("hyde", fallback=imagined)
    async def fails(deps: Deps) -> str:
        raise ModelOutputError("no JSON")

    assert await fails(deps) == "by rules"
    [entry] = deps.trace.steps
    assert (entry.status, entry.summary, entry.detail["reason"]) == ("degraded", "by rules", "no JSON")


async def test_outside_a_step_nothing_is_noted() -> None:
    note("passage_imagined", passage="x")
    skip("switched_off")
    degrade("no JSON")
