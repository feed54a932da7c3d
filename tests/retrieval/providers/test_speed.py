"""Speeds that calls have shown, and what follows: calls that can't be done in time are not begun."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from retrieval.errors import ModelError, ModelTimeoutError, ModelTooSlowError
from retrieval.providers.ollama import FIRST_TOKEN_MOST_S, first_token_limit
from retrieval.providers.registry import ModelRegistry
from retrieval.providers.speed import BELIEVED_S, ModelSpeed, Timing
from retrieval.time_left import ends_within
from retrieval.trace import Trace
from tests.ollama_server import OllamaServer
from tests.retrieval.providers.conftest import RegistryMaker, make_prompt

LONG = "What is the fee for a card? " * 40


class Verdict(BaseModel):
    good: bool


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def timing(read: int = 300, read_s: float = 10.0, written: int = 60, written_s: float = 10.0, **more: float) -> Timing:
    whole_s = more.get("whole_s", read_s + written_s)
    load_s, prompt = more.get("load_s", 0.0), round(more.get("prompt", 0))
    return Timing(read, read_s, written, written_s, load_s=load_s, whole_s=whole_s, prompt=prompt)


def test_nothing_is_known_before_the_first_call() -> None:
    assert ModelSpeed().seconds_for(1000, 100) is None


def test_time_follows_from_both_speeds() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing())  # 30 tokens a second read, 6 written
    assert speed.seconds_for(1500, 60) == pytest.approx(60)


def test_one_slow_call_changes_little() -> None:
    speed = ModelSpeed()
    for read_s in (10.0, 10.0, 90.0):
        speed.observe("judge", timing(read_s=read_s))
    assert speed.seconds_for(300, 0) == pytest.approx(10)


def test_loading_the_model_is_no_reading() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing(load_s=40.0, whole_s=60.0))
    assert speed.seconds_for(300, 60) == pytest.approx(20)


def test_what_the_prompt_cache_serves_is_not_counted() -> None:
    speed = ModelSpeed()
    assert speed.new_tokens(LONG + "one more question") > 200
    assert speed.new_tokens(LONG + "another question") < 10


def test_a_call_given_up_counts_as_slower_than_it_was_waited_for() -> None:
    speed = ModelSpeed()
    speed.observe_given_up(1500, 100, waited_s=20)
    needed_s = speed.seconds_for(1500, 100)
    assert needed_s is not None
    assert needed_s > 20
    assert (speed.seconds_for(150, 5) or 0) < 20  # a small one may well be done


def test_a_call_given_up_while_the_model_was_loading_is_forgotten() -> None:
    speed = ModelSpeed()
    speed.observe_given_up(1500, 100, waited_s=20)
    speed.observe("generate", timing(read=1500, read_s=1.0, written=100, written_s=1.0))
    assert speed.seconds_for(1500, 100) == pytest.approx(2)


def test_a_call_given_up_is_believed_where_later_ones_are_slow_too() -> None:
    speed = ModelSpeed()
    speed.observe_given_up(1500, 100, waited_s=20)
    speed.observe("generate", timing())
    assert (speed.seconds_for(1500, 100) or 0) > 60


def test_what_was_learned_is_forgotten_after_a_while() -> None:
    clock = Clock()
    speed = ModelSpeed(clock)
    speed.observe_given_up(1500, 100, waited_s=20)
    clock.now += BELIEVED_S + 1
    assert speed.seconds_for(1500, 100) is None


def test_a_slow_speed_is_forgotten_though_calls_that_do_not_show_one_go_on() -> None:
    clock = Clock()
    speed = ModelSpeed(clock)
    speed.observe("judge", timing(read_s=100.0))
    for _ in range(11):
        clock.now += BELIEVED_S / 10
        speed.observe("condense", timing(read=10, read_s=0.1, written_s=1.0))
    assert (speed.seconds_for(300, 60) or 0) < 10


def test_a_call_given_up_is_forgotten_where_the_server_tells_no_durations() -> None:
    speed = ModelSpeed()
    speed.observe_given_up(1500, 100, waited_s=20)
    speed.observe("generate", timing(read=1500, read_s=0, written=100, written_s=0, whole_s=3.0))
    assert speed.seconds_for(1500, 100) is None


def test_a_call_given_up_is_forgotten_after_a_while_whatever_came_since() -> None:
    clock = Clock()
    speed = ModelSpeed(clock)
    speed.observe_given_up(1500, 100, waited_s=20)
    for _ in range(11):
        clock.now += BELIEVED_S / 10
        speed.observe("generate", timing(read=10, read_s=0, written=3, written_s=0, whole_s=15.0))
    assert speed.seconds_for(1500, 100) is None


def test_one_call_given_up_is_let_pass_where_all_others_were_quick() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing(read=1500, read_s=1.0, written=20, written_s=0.5))
    speed.observe_given_up(1500, 20, waited_s=20)
    assert speed.seconds_for(1500, 20) == pytest.approx(1.5)


def test_a_second_call_given_up_in_a_row_is_believed() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing(read=1500, read_s=1.0, written=20, written_s=0.5))
    for _ in range(2):
        speed.observe_given_up(1500, 20, waited_s=20)
    assert (speed.seconds_for(1500, 20) or 0) > 20


def test_no_speed_is_told_from_a_prompt_that_is_mostly_old() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing())
    speed.observe("judge", timing(read=60, read_s=50.0, prompt=1500))  # another process's call emptied the cache
    assert speed.seconds_for(1500, 60) == pytest.approx(60)


def test_calls_that_run_are_waited_for() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing(whole_s=30.0))  # 10 s of it in the server's queue
    with speed.running(300, 60):
        assert (speed.seconds_for(300, 60) or 0) == pytest.approx(30, abs=0.5)
    assert speed.seconds_for(300, 60) == pytest.approx(20)


def test_a_server_that_does_several_at_once_shows_no_queue() -> None:
    speed = ModelSpeed()
    speed.observe("judge", timing())
    with speed.running(300, 60):
        assert speed.seconds_for(300, 60) == pytest.approx(20)


def test_replies_are_expected_to_be_as_long_as_they_were() -> None:
    speed = ModelSpeed()
    assert speed.usual_tokens("judge", 400) == 200
    speed.observe("judge", timing(written=30))
    assert speed.usual_tokens("judge", 400) == 30


def test_first_token_may_take_as_long_as_a_slow_processor_needs_within_bounds() -> None:
    assert first_token_limit(60, None) == 60
    assert first_token_limit(60, 5) == 60
    assert first_token_limit(60, 50) == 100
    assert first_token_limit(60, 5000) == FIRST_TOKEN_MOST_S
    assert first_token_limit(300, 5000) == 300


# ------------------------------------------------------------------------------------------------ with a server
async def judge(models: ModelRegistry, user: str = LONG) -> Verdict:
    model = await models.chat("fast")
    return await model.complete_json(make_prompt(user), Verdict)


async def test_a_call_that_cannot_end_in_time_is_not_begun(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(json={"good": True}, read_s=30.0, written_s=5.0)
    models = registry(structured_timeout_s=20)
    await judge(models)
    with pytest.raises(ModelTooSlowError, match=r"would take about \d+ s for this, and 20 s are left"):
        await judge(models, "Another question, just as long. " * 40)
    assert len(ollama.chats) == 1


async def test_the_callers_time_counts_too(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(json={"good": True}, read_s=5.0, written_s=1.0)
    models = registry(structured_timeout_s=20)
    await judge(models)
    await judge(models, "Another question, just as long. " * 40)
    with pytest.raises(ModelTooSlowError), ends_within(2.0):
        await judge(models, "One more question, just as long. " * 40)
    assert len(ollama.chats) == 2


async def test_a_timeout_is_paid_once(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(delay_s=30)
    models = registry(structured_timeout_s=0.1)
    with pytest.raises(ModelTimeoutError):
        await judge(models)
    with pytest.raises(ModelTooSlowError):
        await judge(models, "Another question, just as long. " * 40)
    assert len(ollama.chats) == 1


async def test_a_call_that_its_step_gave_up_is_paid_once(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(delay_s=30)
    models = registry(structured_timeout_s=20)
    await models.chat("fast")  # found beforehand, so that all of the time is the call's
    with pytest.raises(TimeoutError), ends_within(0.1):
        async with asyncio.timeout(0.1):
            await judge(models)
    with pytest.raises(ModelTooSlowError), ends_within(0.1):
        await judge(models, "Another question, just as long. " * 40)
    assert len(ollama.chats) == 1


async def test_a_call_that_the_user_stopped_tells_nothing(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(delay_s=30, times=1)
    ollama.reply(json={"good": True})
    models = registry()
    task = asyncio.create_task(judge(models))
    while not ollama.chats:
        await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await judge(models)).good


async def test_slow_structured_calls_do_not_open_the_circuit(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(structured=True, delay_s=30)
    ollama.reply(text="It is 5.")
    models = registry(structured_timeout_s=0.1)
    for number in range(5):
        with pytest.raises(ModelError):
            await judge(models, f"{number}")
    model = await models.chat("answer")
    assert [piece async for piece in model.stream(make_prompt())]


async def test_a_server_without_a_sign_of_life_opens_it(ollama: OllamaServer, registry: RegistryMaker) -> None:
    ollama.reply(endpoint="chat", delay_s=30)
    ollama.reply(endpoint="version", delay_s=30)
    models = registry(structured_timeout_s=0.05, LIFE_TIMEOUT_S=0.05, BREAKER_FAILURES=1)
    with pytest.raises(ModelTimeoutError):
        await judge(models)
    while not ollama.count("version"):
        await asyncio.sleep(0.005)
    (asked,) = (request for request in ollama.requests if request.endpoint == "version")
    assert await asyncio.to_thread(asked.wait_client_closed)
    model = await models.chat("answer")
    with pytest.raises(ModelError, match="no sign of life"):
        _ = [piece async for piece in model.stream(make_prompt())]


async def test_a_steps_calls_tell_how_long_reading_and_writing_took(
    ollama: OllamaServer, registry: RegistryMaker
) -> None:
    ollama.reply(json={"good": True}, read_s=1.5, written_s=0.5)
    trace, models = Trace(), registry()
    async with trace.step("rerank") as step:
        await judge(models)
    call = step.calls[0].as_dict()
    assert (call["prefill_ms"], call["generation_ms"]) == (1500, 500)
