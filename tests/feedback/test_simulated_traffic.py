"""Simulated traffic: marked, like real conversations at the desk, and gone again."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.utils import timezone

from chat.models import AnswerReview, AnswerRollup, Message
from chat.models.rollups import ANY
from feedback.curation.simulated_traffic import (
    PEOPLE,
    RealTrafficError,
    plans_make,
    traffic_remove,
    traffic_simulate,
)
from feedback.models import Rating
from tests.chat.test_end_to_end import library  # noqa: F401
from tests.factories import DocumentFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


async def _made(count: int, *, force: bool = False) -> int:
    made = [done async for done in traffic_simulate(conversations=count, seed=3, within_s=60, force=force)]
    return len(made)


def test_plans_are_the_same_for_a_seed_and_of_the_last_month() -> None:
    now = timezone.now()
    plans = plans_make(200, seed=1, now=now)
    assert plans == plans_make(200, seed=1, now=now)
    assert plans != plans_make(200, seed=2, now=now)
    assert now - timedelta(days=32) < plans[0].begins_at <= plans[-1].begins_at <= now


async def test_conversations_come_to_the_desk_and_go(library: object) -> None:  # noqa: F811
    assert await _made(12) == 12

    def look() -> None:
        people = User.objects.filter(groups__name="Simulated users")
        assert people.count() == PEOPLE
        assert not any(user.has_usable_password() for user in people)
        answers = Message.objects.filter(role="assistant")
        assert answers.count() == AnswerReview.objects.count() >= 12
        assert len(set(answers.dates("created_at", "day"))) > 3
        rows = AnswerRollup.objects.filter(collection=None, workflow=ANY, model=ANY, language=ANY)
        assert sum(rows.values_list("answers", flat=True)) == answers.count()
        assert Rating.objects.exists()
        assert traffic_remove() == PEOPLE
        assert not Message.objects.exists()
        assert not AnswerRollup.objects.exists()
        assert not Group.objects.filter(name="Simulated users").exists()

    await sync_to_async(look)()


def test_a_site_with_conversations_of_others_is_left_alone(offline: None) -> None:
    DocumentFactory()
    MessageFactory()
    with pytest.raises(RealTrafficError):
        asyncio.run(_made(1))
