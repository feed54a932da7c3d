"""Who reads a conversation in the administration stands in the desk's log, as who reads it at the desk."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import DeskEvent, Message
from chat.review.records import answers_record
from tests.clients import client_of
from tests.factories import UserFactory, answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def keeper() -> Client:
    return client_of(UserFactory(username="keeper", is_staff=True, is_superuser=True))


@pytest.fixture
def answer() -> Message:
    answer = answered()
    answers_record([answer.pk])
    return answer


def readings() -> list[tuple[str, str]]:
    events = DeskEvent.objects.filter(kind=DeskEvent.Kind.READ)
    return sorted((event.by_name, str(event.answer.message_id)) for event in events if event.answer)


def test_an_answer_and_its_question_are_logged(keeper: Client, answer: Message) -> None:
    for message_id in (answer.reply_to_id, answer.pk):
        DeskEvent.objects.all().delete()
        assert (
            keeper.get(reverse("admin:chat_message_change", args=[message_id])).status_code == 200
        )
        assert readings() == [("keeper", str(answer.pk))]


def test_who_may_not_read_it_has_not_read_it(answer: Message) -> None:
    staff = client_of(UserFactory(is_staff=True))
    assert staff.get(reverse("admin:chat_message_change", args=[answer.pk])).status_code == 403
    assert readings() == []
