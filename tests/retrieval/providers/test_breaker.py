from __future__ import annotations

import asyncio

import pytest

from retrieval.errors import ModelError, ModelOutputError, ModelTimeoutError, ModelUnavailableError
from retrieval.providers.breaker import CircuitBreaker, Gate, ModelMissingError
from retrieval.providers.ollama import OllamaChatModel
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def open_breaker(clock: Clock) -> CircuitBreaker:
    breaker = CircuitBreaker(failures=3, reset_s=20, clock=clock)
    for _ in range(3):
        breaker.admit()
        breaker.failed("Ollama timed out")
    return breaker


def test_opens_after_consecutive_failures_and_says_why() -> None:
    breaker = open_breaker(Clock())
    assert breaker.state == "open"
    with pytest.raises(ModelUnavailableError, match=r"Ollama timed out \(failed 3 times in a row"):
        breaker.admit()


def test_success_in_between_starts_the_count_anew() -> None:
    breaker = CircuitBreaker(failures=2, reset_s=20)
    breaker.failed("x")
    breaker.succeeded()
    breaker.failed("x")
    assert breaker.state == "closed"


def test_after_a_while_one_probe_is_let_through_and_closes() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.now += 21
    assert breaker.state == "half-open"
    breaker.admit()
    with pytest.raises(ModelUnavailableError):
        breaker.admit()
    breaker.succeeded()
    assert breaker.state == "closed"


def test_failed_probe_opens_again_at_once() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.now += 21
    breaker.admit()
    breaker.failed("still down")
    assert breaker.state == "open"


def test_probe_given_up_lets_the_next_one_through() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.now += 21
    breaker.admit()
    breaker.undecided()
    breaker.admit()
    assert breaker.state == "half-open"


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ModelUnavailableError("down"), "open"),
        (ModelMissingError("no such model"), "closed"),
        (ModelOutputError("nonsense"), "closed"),
    ],
)
async def test_only_failures_of_the_server_count(error: ModelError, state: str) -> None:
    gate = Gate(limit=1, breaker=CircuitBreaker(failures=1, reset_s=20))
    with pytest.raises(ModelError):
        async with gate.enter(wait_s=1, patience_s=1):
            raise error
    assert gate.breaker.state == state


@pytest.mark.parametrize(("waited_s", "state"), [(16, "open"), (2, "closed")])
async def test_call_whose_callers_time_was_up_counts(waited_s: float, state: str) -> None:
    clock = Clock()
    gate = Gate(limit=1, breaker=CircuitBreaker(failures=1, reset_s=20, clock=clock), clock=clock)
    with pytest.raises(asyncio.CancelledError):
        async with gate.enter(wait_s=1, patience_s=15):
            clock.now += waited_s
            raise asyncio.CancelledError
    assert gate.breaker.state == state


async def test_waiting_for_a_place_has_a_limit_and_is_not_the_servers_failure() -> None:
    gate = Gate(limit=1, breaker=CircuitBreaker(failures=1, reset_s=20))
    async with gate.enter(wait_s=1, patience_s=1):
        with pytest.raises(ModelTimeoutError, match=r"all places for model calls were taken for 0\.02 s"):
            async with gate.enter(wait_s=0.02, patience_s=1):
                pass
    assert gate.breaker.state == "closed"
    async with gate.enter(wait_s=0.02, patience_s=1):  # the place is free again
        pass


async def test_failing_server_is_left_alone_until_it_is_well(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(status=500, times=2)
    ollama.reply(text="well again")
    model = await registry(BREAKER_FAILURES=2, BREAKER_RESET_S=0.1).chat("answer")
    assert isinstance(model, OllamaChatModel)

    async def ask() -> str:
        return "".join([piece async for piece in model.stream(make_prompt())])

    for _ in range(5):
        with pytest.raises(ModelUnavailableError):
            await ask()
    assert len(ollama.chats) == 2
    await asyncio.sleep(0.12)
    assert await ask() == "well again"
    assert await ask() == "well again"
