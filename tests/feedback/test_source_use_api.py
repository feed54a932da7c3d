"""`/api/messages/{id}/sources/{marker}/use`: what was opened, and what was copied from."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from chat.models import Message
from feedback.models import SourceUse
from feedback.ratings import services
from tests.factories import SourceFactory, UserFactory


def use_url(message: Message, marker: int = 1) -> str:
    return f"/api/messages/{message.pk}/sources/{marker}/use"


def tell(client: APIClient, message: Message, action: str = "opened", marker: int = 1) -> Any:
    return client.put(use_url(message, marker), {"action": action})


@pytest.fixture(autouse=True)
def _source(answer: Message) -> None:
    SourceFactory(message=answer, marker=1)


def test_an_opened_source_is_stored_with_its_time_and_nothing_is_answered(client: APIClient, answer: Message) -> None:
    response = tell(client, answer)
    use = SourceUse.objects.get()
    assert (response.status_code, response.content) == (204, b"")
    assert (use.user, use.source.marker, use.copied_at) == (answer.session.user, 1, None)
    assert use.opened_at is not None and timezone.now() - use.opened_at < timedelta(minutes=1)


def test_opening_again_changes_nothing(client: APIClient, answer: Message) -> None:
    tell(client, answer)
    before = SourceUse.objects.values().get()
    assert tell(client, answer).status_code == 204
    assert SourceUse.objects.values().get() == before


def test_copying_is_kept_beside_opening_in_one_row(client: APIClient, answer: Message) -> None:
    tell(client, answer)
    opened = SourceUse.objects.get()
    tell(client, answer, "copied")
    use = SourceUse.objects.get()
    assert use.opened_at == opened.opened_at
    assert use.copied_at is not None
    assert use.updated_at > opened.updated_at


def test_a_stranger_sees_the_same_as_where_nothing_is(answer: Message) -> None:
    stranger = APIClient()
    stranger.force_authenticate(UserFactory())
    theirs, nothing = tell(stranger, answer), tell(stranger, Message(pk=uuid4()))
    assert theirs.status_code == nothing.status_code == 404
    assert theirs.json() == nothing.json()
    assert not SourceUse.objects.exists()


def test_a_stranger_with_bad_input_still_gets_404(answer: Message) -> None:
    stranger = APIClient()
    stranger.force_authenticate(UserFactory())
    assert tell(stranger, answer, "nonsense").status_code == 404


def test_without_a_login_it_is_401(answer: Message) -> None:
    assert tell(APIClient(), answer).status_code == 401
    assert not SourceUse.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "action"),
        ({"action": None}, "action"),
        ({"action": "rated"}, "action"),
        ({"action": ["opened"]}, "action"),
        ({"action": {"opened": 1}}, "action"),
        ({"action": "o" * 100_000}, "action"),
        ({"action": "opened\x00"}, "action"),
        ({"action": "opened", "user": 1}, "user"),
        ([1, 2], "non_field_errors"),
    ],
)
def test_bad_input_is_400_and_names_the_field(client: APIClient, answer: Message, body: Any, field: str) -> None:
    response = client.put(use_url(answer), json.dumps(body), content_type="application/json")
    assert response.status_code == 400, response.content
    assert field in response.json()["error"]["fields"]
    assert not SourceUse.objects.exists()


def test_a_body_that_is_not_json_is_400(client: APIClient, answer: Message) -> None:
    response = client.put(use_url(answer), b'{"action"', content_type="application/json")
    assert response.status_code == 400


@pytest.mark.parametrize("marker", [0, 7, 10**30])
def test_a_source_that_is_not_there_is_404(client: APIClient, answer: Message, marker: int) -> None:
    assert tell(client, answer, marker=marker).status_code == 404


@pytest.mark.parametrize("method", ["get", "post", "delete", "patch"])
def test_there_is_nothing_else_to_do_with_it(client: APIClient, answer: Message, method: str) -> None:
    assert getattr(client, method)(use_url(answer), {"action": "opened"}).status_code == 405


def test_more_than_some_in_a_minute_is_429_and_says_when_to_try_again(
    client: APIClient, answer: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "USES_PER_MINUTE", 1)
    SourceFactory(message=answer, marker=2)
    assert tell(client, answer).status_code == 204
    refused = tell(client, answer, marker=2)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert tell(client, answer).status_code == 204  # known already
    SourceUse.objects.update(updated_at=timezone.now() - timedelta(minutes=2))
    assert tell(client, answer, marker=2).status_code == 204


def test_uses_go_with_the_account(client: APIClient, answer: Message) -> None:
    tell(client, answer)
    answer.session.user.delete()
    assert not SourceUse.objects.exists()
