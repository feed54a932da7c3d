"""Tokens of models: counted where an answer ends, refused once they are used up, told to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import openai
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db.models import Sum
from django.test import AsyncClient
from django.utils import timezone

from chat.models import Budget, Message, UsageDay
from chat.runs import budgets
from chat.runs.budgets import BudgetUsedUpError, allowances, site_budget_check
from chat.runs.spending import site_tokens_counted, tokens_count
from retrieval.engine.model_calls import model_call
from retrieval.engine.usage import ModelCall
from tests.chat.conftest import Api, Handbook, ScriptedWorkflow, program_key
from tests.factories import UserFactory

QUESTION = "How large is the deposit for a room in Lakeside hall?"


@pytest.fixture(autouse=True)
def _looks_each_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(budgets, "REFRESH_S", 0.0)
    monkeypatch.setattr(budgets, "SITE_SUM_S", 0.0)
    yield
    budgets.budgets_changed()


def call(prompt: int = 900, completion: int = 100, *, model: str = "chat") -> ModelCall:
    return ModelCall("chat", model, prompt_tokens=prompt, completion_tokens=completion)


def used(user: User | None, tokens: int, *, day: date | None = None) -> None:
    UsageDay.objects.create(
        user=user, day=day or timezone.localdate(), model="chat", prompt_tokens=tokens
    )


def budget_of(subject: User | Group | None, **tokens: int | None) -> Budget:
    if isinstance(subject, User):
        return Budget.objects.create(subject="user", user=subject, **tokens)
    if isinstance(subject, Group):
        return Budget.objects.create(subject="group", group=subject, **tokens)
    return Budget.objects.create(subject="site", **tokens)


def limits_of(user: User) -> list[int | None]:
    """For a day and for a month."""
    return [found.limit for found in allowances(user) if found.whose == "person"]


# ------------------------------------------------------------------------------------------------ counting
async def test_an_answer_counts_what_all_of_its_calls_used(
    api: Api, handbook: Handbook, online: Any
) -> None:
    await handbook()
    usage = (await api.ask(QUESTION)).json()["usage"]
    rows = UsageDay.objects.filter(user=api.user, day=timezone.localdate())
    sums = await rows.aaggregate(prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    assert sums == {"prompt": usage["prompt_tokens"], "completion": usage["completion_tokens"]}
    assert usage["prompt_tokens"] > 0 and usage["completion_tokens"] > 0
    told = (await api.call("get", "/api/usage")).json()["allowances"]
    total = usage["prompt_tokens"] + usage["completion_tokens"]
    assert [(one["period"], one["used"], one["left"]) for one in told] == [
        ("day", total, None),
        ("month", total, None),
    ]


@pytest.mark.django_db
def test_calls_add_up_in_one_row_of_a_person_a_day_and_a_model(user: User) -> None:
    tokens_count([call(10, 1), call(20, 2), call(5, 5, model="fast")], user_id=user.pk)
    tokens_count([call(100, 10)], user_id=user.pk)
    tokens_count([call(7, 7)], user_id=None)
    tokens_count([call(3, 3)], user_id=None)
    rows = UsageDay.objects.order_by("model", "-prompt_tokens")
    assert list(rows.values_list("user", "model", "prompt_tokens", "completion_tokens")) == [
        (user.pk, "chat", 130, 13),
        (None, "chat", 10, 10),
        (user.pk, "fast", 5, 5),
    ]


@pytest.mark.django_db
def test_work_of_the_site_counts_for_nobody_also_where_it_breaks_off(user: User) -> None:
    with pytest.raises(RuntimeError), site_tokens_counted(), model_call(call(40, 2)):
        raise RuntimeError
    row = UsageDay.objects.get()
    assert (row.user, row.prompt_tokens) == (None, 40)


@pytest.mark.django_db
def test_what_an_account_used_stays_without_its_name(user: User, stranger: User) -> None:
    for person in (user, stranger):
        used(person, 50)
    user.delete()
    stranger.delete()
    row = UsageDay.objects.get()
    assert (row.user, row.prompt_tokens) == (None, 100)


# ------------------------------------------------------------------------------------------------ refusals
async def test_a_question_is_refused_before_anything_is_asked_or_stored(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    await sync_to_async(budget_of)(api.user, day_tokens=1000)
    await sync_to_async(used)(api.user, 1200)
    response = await api.ask()
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (429, "budget_used_up")
    midnight = (timezone.localdate() + timedelta(days=1)).isoformat()
    assert error["message"].startswith("You have used 1,200 of your 1,000 tokens for today.")
    assert f"{midnight} 00:00" in error["message"]
    assert 0 < int(response["Retry-After"]) <= 25 * 3600
    assert workflow.questions == [] and not await Message.objects.aexists()
    found = await api.call("post", "/api/search", {"query": "books"})
    assert found.status_code == 200  # no model reads for it


async def test_a_socket_says_so_too_and_stays_open(
    socket: Any, user: User, workflow: ScriptedWorkflow
) -> None:
    await sync_to_async(budget_of)(user, month_tokens=10)
    await sync_to_async(used)(user, 10)
    tab = await socket()
    await tab.send("ask", message="How many books may I borrow?")
    event = await tab.receive()
    assert (event["type"], event["code"], event["done"]) == ("error", "budget_used_up", True)
    assert "for this month" in event["content"] and event["retry_after_s"] > 0
    await tab.send("ping")
    assert (await tab.receive())["type"] == "pong" and workflow.questions == []


async def test_openais_client_reads_insufficient_quota(
    site_url: str, user: User, workflow: ScriptedWorkflow
) -> None:
    await sync_to_async(budget_of)(None, day_tokens=500)
    await sync_to_async(used)(None, 500)
    key = await sync_to_async(program_key)(user, "ask")
    async with openai.AsyncOpenAI(base_url=f"{site_url}/v1", api_key=key, max_retries=0) as client:
        with pytest.raises(openai.RateLimitError) as refused:
            await client.chat.completions.create(
                model="ragsite", messages=[{"role": "user", "content": QUESTION}]
            )
    error = refused.value
    assert (error.code, error.type) == ("insufficient_quota", "insufficient_quota")
    assert "The site has used 500 of its 500 tokens for today." in str(error)


async def test_an_unfinished_answer_is_not_continued_either(
    api: Api, workflow: ScriptedWorkflow, online: Any
) -> None:
    workflow.partial = True
    message = (await api.ask()).json()
    await sync_to_async(budget_of)(api.user, day_tokens=0)
    again = await api.call("post", f"/api/messages/{message['message_id']}/regenerate", {})
    assert again.json()["error"]["code"] == "budget_used_up"
    on = await api.call("post", f"/api/messages/{message['message_id']}/continue", {})
    assert on.json()["error"]["code"] == "budget_used_up"


async def test_answers_that_are_being_written_end_beyond_the_budget(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    await sync_to_async(budget_of)(api.user, day_tokens=100)
    workflow.hold()
    begun = [await api.begin(), await api.begin()]
    await sync_to_async(used)(api.user, 100)
    assert (await api.ask()).json()["error"]["code"] == "budget_used_up"
    workflow.go_on()

    async def both_ended() -> bool:
        done = Message.objects.filter(role="assistant", status="complete")
        return await done.acount() == len(begun)

    async with asyncio.timeout(20):
        while not await both_ended():
            await asyncio.sleep(0.02)


@pytest.mark.django_db
def test_where_the_site_has_used_up_its_own_its_work_waits(user: User) -> None:
    site_budget_check()
    budget_of(None, month_tokens=10)
    used(user, 10)
    with pytest.raises(BudgetUsedUpError):
        site_budget_check()


# ------------------------------------------------------------------------------------------------ which budget counts
@pytest.mark.django_db
def test_own_goes_before_groups_of_which_the_most_generous_counts(
    user: User,
) -> None:
    assert limits_of(user) == [None, None]
    Budget.objects.create(subject="each", day_tokens=10, month_tokens=70)
    assert limits_of(user) == [10, 70]
    small = Group.objects.create(name="small")
    large = Group.objects.create(name="large")
    user.groups.add(small, large)
    of_small = budget_of(small, day_tokens=5, month_tokens=500)
    assert limits_of(user) == [
        5,
        500,
    ]  # a group's goes before everybody's, also where it is smaller
    budget_of(large, day_tokens=30, month_tokens=200)
    assert limits_of(user) == [30, 500]
    of_small.day_tokens = None
    of_small.save()
    assert limits_of(user) == [None, 500]  # none at all is the most
    budget_of(user, day_tokens=1, month_tokens=None)
    assert limits_of(user) == [1, None]
    assert limits_of(UserFactory()) == [10, 70]


@pytest.mark.django_db
def test_the_sites_budget_holds_for_who_has_a_larger_one(user: User, stranger: User) -> None:
    budget_of(user, day_tokens=None)
    budget_of(None, day_tokens=100)
    used(stranger, 100)
    found = {(one.whose, one.period): one for one in allowances(user)}
    assert found["person", "day"].left is None
    assert (found["site", "day"].used, found["site", "day"].left) == (100, 0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "now", "again", "days_used"),
    [
        ("UTC", "2026-12-31T22:30:00+00:00", "2027-01-01T00:00:00+00:00", [500, 3500]),
        ("UTC", "2027-01-01T00:30:00+00:00", "2027-02-01T00:00:00+00:00", [0, 0]),
        ("Asia/Shanghai", "2026-12-31T15:30:00+00:00", "2027-01-01T00:00:00+08:00", [500, 3500]),
        ("Asia/Shanghai", "2026-12-31T16:30:00+00:00", "2027-02-01T00:00:00+08:00", [0, 0]),
        ("America/New_York", "2027-01-01T04:30:00+00:00", "2027-01-01T00:00:00-05:00", [500, 3500]),
    ],
)
def test_a_month_ends_at_its_last_midnight_in_the_zone_of_the_site(
    user: User, monkeypatch: pytest.MonkeyPatch, settings: Any, zone: str, now: str, again: str,
    days_used: list[int],
) -> None:  # fmt: skip
    settings.TIME_ZONE = zone
    moment = datetime.fromisoformat(now)
    monkeypatch.setattr(timezone, "now", lambda: moment)
    used(user, 3000, day=date(2026, 12, 1))
    used(user, 500, day=date(2026, 12, 31))
    used(user, 9000, day=date(2026, 11, 30))
    found = allowances(user)
    assert [one.used for one in found] == days_used
    assert found[1].starts_again_at.isoformat() == again


# ------------------------------------------------------------------------------------------------ who reads it
async def test_nobody_reads_what_another_has_used(
    api: Api, other_api: Api, handbook: Handbook
) -> None:
    await sync_to_async(used)(api.user, 1234)
    await sync_to_async(budget_of)(api.user, day_tokens=5000)
    own = (await api.call("get", "/api/usage")).json()["allowances"]
    assert (own[0]["used"], own[0]["limit"], own[0]["left"]) == (1234, 5000, 3766)
    others = (await other_api.call("get", f"/api/usage?user={api.user.pk}")).json()["allowances"]
    assert [(one["used"], one["limit"]) for one in others] == [(0, None), (0, None)]
    assert (await AsyncClient().get("/api/usage")).status_code == 401
