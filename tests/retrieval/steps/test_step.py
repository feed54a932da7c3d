import asyncio

import pytest

from retrieval.errors import ModelOutputError
from retrieval.steps.deadline import Deadline
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.step import attempt
from retrieval.time_left import ends_within, seconds_left
from retrieval.trace import Trace


async def value(delay_s: float = 0.0) -> str:
    await asyncio.sleep(delay_s)
    return "result"


async def test_the_result_is_handed_through() -> None:
    async with Trace().step("rewrite") as step:
        assert await attempt(step, value(), fallback=lambda: "fallback", timeout_s=1) == "result"
    assert step.status == "ok"


async def test_a_step_that_takes_too_long_falls_back() -> None:
    async with Trace().step("rewrite") as step:
        assert await attempt(step, value(5), fallback=lambda: "fallback", timeout_s=0.01) == "fallback"
    assert step.status == "degraded"


async def test_a_model_error_falls_back_with_its_reason() -> None:
    async def fails() -> str:
        raise ModelOutputError("nonsense")

    async with Trace().step("hyde") as step:
        assert await attempt(step, fails(), fallback=lambda: "fallback", timeout_s=1) == "fallback"
    assert step.detail["reason"] == "nonsense"


async def test_cancelling_a_step_cancels_its_call() -> None:
    ended = asyncio.Event()

    async def call() -> str:
        try:
            return await value(5)
        finally:
            ended.set()

    async def step() -> None:
        async with Trace().step("rewrite") as record:
            await attempt(record, call(), fallback=str, timeout_s=3)

    task = asyncio.create_task(step())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_a_deadline_bounds_every_limit() -> None:
    assert Deadline(0).limit(20) == 0
    assert Deadline(100).limit(20) == 20


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Hello!", "small_talk"), ("Thank you.", "thanks"), ("你好！", "small_talk"), ("謝謝您", "thanks"),
     ("Hello, what is the fee?", None), ("你好，请问学费多少？", None), ("", None), ("?!", None)],
)  # fmt: skip
def test_a_message_that_is_a_greeting_and_nothing_else_is_no_question(text: str, kind: str | None) -> None:
    assert small_talk_kind(text) == kind


async def test_without_any_time_left_the_call_is_not_begun() -> None:
    called = []

    async def call() -> str:
        called.append(1)
        return "result"

    async with Trace().step("rewrite") as step:
        assert await attempt(step, call(), fallback=lambda: "fallback", timeout_s=0) == "fallback"
    assert (called, step.detail["reason"]) == ([], "no time was left for the model")


async def test_a_call_knows_how_much_time_it_has() -> None:
    async def call() -> float:
        return seconds_left()

    async with Trace().step("rewrite") as step:
        alone = await attempt(step, call(), fallback=float, timeout_s=5)
    assert 4 < alone <= 5
    assert seconds_left() == float("inf")


def test_the_earliest_limit_counts() -> None:
    with ends_within(5), ends_within(50):
        assert 4 < seconds_left() <= 5


def test_what_only_improves_an_answer_falls_away_first() -> None:
    assert deadline_shares(Deadline(200)) == (20, 20)
    late = Deadline(100)
    late._ends -= 60  # 40 s are left, 30 of them for the writing
    assert deadline_shares(late) == pytest.approx((2.5, 6.0), abs=0.1)
    late._ends -= 15
    assert deadline_shares(late) == (0.0, 0.0)


def deadline_shares(deadline: Deadline) -> tuple[float, float]:
    return (
        deadline.share(20, optional=True, writing=False),
        deadline.share(20, optional=False, writing=False),
    )


def test_no_time_is_kept_for_an_answer_that_is_written() -> None:
    late = Deadline(100)
    late._ends -= 75
    assert late.share(20, optional=False, writing=True) == 20
