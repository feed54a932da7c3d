"""Webhooks: what is told, to whom, how it is signed, and what happens where it is not taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from feedback.models import KnowledgeGap
from ragsite.core.errors import UnavailableError
from ragsite.core.sealed import seal, unseal
from ragsite.models import Webhook
from ragsite.operations.webhooks.delivery import new_secret, signature, webhook_deliver
from tests.clients import administrator
from tests.factories import CollectionFactory, DocumentFactory, RatingFactory, UserFactory
from tests.web_server import WebServer

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGE = {"message_id": "msg_1", "body": '{"type": "gap.opened"}'}


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The bodies that would have gone to the broker."""
    bodies: list[dict[str, Any]] = []

    def send(name: str, arguments: Any = (), **_: Any) -> None:
        if name == "ragsite.tasks.webhook_send":
            bodies.append(json.loads(arguments[2]))

    monkeypatch.setattr(current_app, "send_task", send)
    return bodies


@pytest.fixture
def server(settings: Any) -> Iterator[WebServer]:
    settings.SITE = settings.SITE.model_copy(update={"inner_hosts": ["127.0.0.1"]})
    with WebServer() as running:
        yield running


def hook(url: str = "https://hooks.example.org/", **values: Any) -> Webhook:
    events = list(Webhook.Event.values)
    return Webhook.objects.create(
        **{
            "name": "x",
            "url": url,
            "events": events,
            "is_active": True,
            "secret": seal(new_secret()),
            **values,
        }
    )


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """Their reference vector."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", '{"test": 2432232314}'
    made = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_events_are_told_without_texts_of_people(bodies: list[dict[str, Any]]) -> None:
    hook()
    document = DocumentFactory(status="embedding")
    for status in ("ready", "failed"):
        document.status = status
        document.save(update_fields=["status"])
    RatingFactory(score=5)
    RatingFactory(score=1, comment="my own words")
    KnowledgeGap.objects.create(terms="own words")
    assert [one["type"] for one in bodies] == [
        "document.ready",
        "document.failed",
        "answer.rated_down",
        "gap.opened",
    ]
    assert bodies[0]["data"]["id"] == str(document.pk) and "own words" not in json.dumps(bodies)


def test_nothing_is_told_where_nobody_wants_it(bodies: list[dict[str, Any]]) -> None:
    hook(is_active=False)
    hook(events=["gap.opened"])
    attached = CollectionFactory(
        owner=UserFactory(), conversation_id="00000000-0000-0000-0000-000000000001"
    )
    for document in (DocumentFactory(), DocumentFactory(collection=attached)):
        document.save(update_fields=["status"])
    assert bodies == []


def test_a_message_is_sent_with_its_signature(server: WebServer) -> None:
    server.pages["/hook"] = (200, {}, b"")
    row = hook(f"{server.url}/hook")
    webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    ((method, _, headers, body),) = server.requests
    stamp = int(headers["webhook-timestamp"])
    assert (method, body.decode()) == ("POST", MESSAGE["body"])
    assert headers["webhook-signature"] == signature(
        unseal(row.secret), "msg_1", stamp, MESSAGE["body"]
    )
    row.refresh_from_db()
    assert row.last_at and row.last_error == ""


@pytest.mark.parametrize(
    ("page", "again"),
    [
        ((500, {}, b""), True),
        ((302, {"Location": "http://169.254.169.254/"}, b""), True),
        ((410, {}, b""), False),
    ],
)
def test_what_is_not_taken_is_tried_again_until_the_receiver_is_gone(
    server: WebServer, page: Any, again: bool
) -> None:
    server.pages["/hook"] = page
    row = hook(f"{server.url}/hook")
    if again:
        with pytest.raises(UnavailableError):
            webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    else:
        webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    row.refresh_from_db()
    assert row.last_error and row.is_active is again and len(server.requests) == 1


def test_one_that_was_switched_off_while_it_was_told_stays_off(server: WebServer) -> None:
    row = hook(f"{server.url}/hook")
    server.answer = lambda *_: Webhook.objects.update(is_active=False) and (200, {}, b"")  # type: ignore[method-assign]
    webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    row.refresh_from_db()
    assert row.last_at and not row.is_active


def test_a_receiver_that_failed_is_left_alone_for_a_while(server: WebServer) -> None:
    server.pages["/hook"] = (500, {}, b"")
    row = hook(f"{server.url}/hook")
    for _ in range(3):
        with pytest.raises(UnavailableError):
            webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    assert len(server.requests) == 1
    Webhook.objects.update(last_at=timezone.now() - timedelta(minutes=2))
    server.pages["/hook"] = (200, {}, b"")
    webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    assert len(server.requests) == 3


def test_a_receiver_that_drips_is_given_up(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragsite.core.outgoing.WHOLE_S", 0.3)
    server.drips = b"x"
    row = hook(f"{server.url}/hook")
    with pytest.raises(UnavailableError):
        webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    row.refresh_from_db()
    assert "does not answer" in row.last_error


def test_an_address_inside_is_never_called() -> None:
    row = hook("http://127.0.0.1:9/")
    webhook_deliver(webhook_id=str(row.pk), **MESSAGE)
    row.refresh_from_db()
    assert "own network" in row.last_error


def test_an_administrator_makes_one_and_sees_its_secret_once() -> None:
    client = administrator()
    form = {
        "name": "Chat",
        "url": "https://hooks.example.org/x",
        "events": ["gap.opened"],
        "is_active": "on",
    }
    done = client.post("/admin/ragsite/webhook/add/", form, follow=True)
    row = Webhook.objects.get()
    assert unseal(row.secret) in done.content.decode()
    assert (
        unseal(row.secret)
        not in client.get(f"/admin/ragsite/webhook/{row.pk}/change/").content.decode()
    )
