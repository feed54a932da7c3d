"""An account's e-mail: confirmed by a link, told when it changes, the way to a new password; nobody learns from it
who has an account."""

from __future__ import annotations

import re
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from celery import current_app
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from kombu.exceptions import OperationalError

from ragsite import tasks
from ragsite.models import ApiToken
from tests.clients import browser, is_in, sure
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different phrase"
NEW = {"username": "mei", "email": "mei@example.org", "password1": PASSWORD, "password2": PASSWORD}
LINK = re.compile(r"https?://[^/\s]+(/\S{12,})")


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter is sent as soon as it is asked for."""

    def send_task(name: str, args: Any = (), **_: Any) -> None:
        if name == "ragsite.tasks.email_send":
            tasks.email_send(*args)

    monkeypatch.setattr(current_app, "send_task", send_task)


@pytest.fixture
def mail_server(settings: Any) -> None:
    """What `EMAIL_URL` sets."""
    settings.SENDS_EMAIL = settings.ACCOUNT_EMAIL_NOTIFICATIONS = (
        settings.ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS
    ) = True
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    settings.ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
    settings.MFA_ALLOW_UNVERIFIED_EMAIL = False


def with_email(email: str = "mei@example.org", *, verified: bool = True, **values: Any) -> User:
    user: User = UserFactory(email=email, **values)
    EmailAddress.objects.create(user=user, email=email, verified=verified, primary=True)
    return user


def link_of_letter(number: int = -1) -> str:
    found = LINK.search(mail.outbox[number].body)
    assert found, mail.outbox[number].body
    return found[1]


# ------------------------------------------------------------------------------------------------ confirmed
@pytest.mark.usefixtures("mail_server")
def test_with_a_mail_server_an_account_is_open_once_its_address_is_confirmed(
    client: Client,
) -> None:
    assert "email" in client.get("/accounts/signup/").context["form"].fields
    answer = client.post("/accounts/signup/", NEW)
    assert answer.headers["Location"] == "/accounts/confirm-email/" and not is_in(client)
    client.post("/accounts/login/", {"username": "mei", "password": PASSWORD})
    assert not is_in(client)
    address = link_of_letter(0)
    assert client.get(address).status_code == 200
    assert not EmailAddress.objects.get().verified, "a program that opens links must not confirm"
    assert client.post(address).status_code == 302
    client.post("/accounts/login/", {"username": "mei", "password": PASSWORD})
    assert is_in(client)


@pytest.mark.usefixtures("mail_server")
def test_no_token_comes_by_an_address_that_nobody_has_confirmed(client: Client) -> None:
    client.post("/accounts/signup/", NEW)
    body = {"username": "mei", "password": PASSWORD}
    refused = Client().post("/api/auth/token", body, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "email_not_confirmed")
    client.post(link_of_letter())
    assert (
        Client().post("/api/auth/token", body, content_type="application/json").status_code == 200
    )


@pytest.mark.usefixtures("mail_server")
def test_while_no_letter_can_be_queued_nothing_is_half_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = with_email()
    signed_in, stranger = sure(user), Client(raise_request_exception=False)
    signed_in.raise_request_exception = False

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app, "send_task", away)
    password = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    for client, address, form in (
        (stranger, "signup", NEW | {"email": "other@example.org"}),
        (stranger, "password/reset", {"email": user.email}),
        (stranger, "password/reset", {"email": "nobody@example.org"}),
        (signed_in, "email", {"email": "new@example.org", "action_add": ""}),
        (signed_in, "password/change", password),
    ):
        answer = client.post(f"/accounts/{address}/", form)
        assert answer.status_code == 503 and "No e-mail can be sent" in answer.content.decode(), (
            address
        )
        assert answer.headers["Retry-After"]
    user.refresh_from_db()
    assert User.objects.count() == EmailAddress.objects.count() == 1 and user.check_password(
        PASSWORD
    )


@pytest.mark.django_db(transaction=True)
def test_a_password_is_looked_at_without_keeping_other_writers_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, check, waiting = UserFactory(), User.check_password, list[bool]()

    def checked(self: User, password: str) -> bool:
        waiting.append(connection.in_atomic_block)
        return check(self, password)

    monkeypatch.setattr(User, "check_password", checked)
    sure(user)
    assert waiting == [False, False]


def test_without_a_mail_server_an_account_is_open_at_once(client: Client) -> None:
    assert client.post("/accounts/signup/", NEW | {"email": ""}).headers[
        "Location"
    ] == "/" and is_in(client)
    assert is_in(sure(UserFactory(email="someone@example.org"))) and not mail.outbox


@pytest.mark.usefixtures("mail_server")
def test_a_new_address_leaves_the_old_one_in_use_until_it_is_confirmed_and_tells_it_then() -> None:
    user = with_email("old@example.org")
    client = sure(user)
    client.post("/accounts/email/", {"email": "new@example.org", "action_add": ""})
    user.refresh_from_db()
    assert user.email == "old@example.org" and [letter.to for letter in mail.outbox] == [
        ["new@example.org"]
    ]
    client.post(link_of_letter())
    user.refresh_from_db()
    assert user.email == "new@example.org"
    assert [(address.email, address.verified) for address in EmailAddress.objects.all()] == [
        ("new@example.org", True)
    ]
    assert mail.outbox[-1].to == ["old@example.org"]


def test_an_address_is_changed_with_the_password_alone() -> None:
    user = with_email("old@example.org")
    answer = browser(user).post(
        "/accounts/email/", {"email": "thief@example.org", "action_add": ""}
    )
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/") and not mail.outbox
    assert not EmailAddress.objects.filter(email="thief@example.org").exists()


@pytest.mark.usefixtures("mail_server")
def test_a_sign_up_with_a_taken_address_looks_like_any_other_and_tells_its_owner(
    client: Client,
) -> None:
    with_email("mei@example.org", username="owner")
    answer = client.post("/accounts/signup/", NEW)
    other = Client().post(
        "/accounts/signup/", NEW | {"username": "lin", "email": "lin@example.org"}
    )
    assert (answer.status_code, answer.headers["Location"]) == (
        other.status_code,
        other.headers["Location"],
    )
    assert not User.objects.filter(username="mei").exists()
    assert "already exists" in mail.outbox[0].body and mail.outbox[0].to == ["mei@example.org"]


# ------------------------------------------------------------------------------------------------ forgotten passwords
def forgotten(client: Client, email: str = "mei@example.org", **options: Any) -> Any:
    return client.post("/accounts/password/reset/", {"email": email}, **options)


@pytest.mark.usefixtures("mail_server")
def test_a_known_and_an_unknown_address_answer_alike(client: Client) -> None:
    with_email("mei@example.org")
    known, unknown = forgotten(client), forgotten(client, "nobody@example.org")
    assert (known.status_code, known.headers["Location"]) == (
        unknown.status_code,
        unknown.headers["Location"],
    )
    assert [letter.to[0] for letter in mail.outbox] == ["mei@example.org", "nobody@example.org"]
    assert (
        "/password/reset/key/" in mail.outbox[0].body
        and "/password/reset/key/" not in mail.outbox[1].body
    )


@pytest.mark.usefixtures("mail_server")
def test_a_new_password_ends_sessions_and_tokens_and_its_link() -> None:
    user = with_email()
    elsewhere = sure(user)
    ApiToken.objects.create(user=user, prefix="x", key_hash="x")
    client = Client()
    forgotten(client, "MEI@example.org")
    address = link_of_letter()
    form = client.get(address, follow=True)
    assert address.rstrip("/").rpartition("-")[2] not in form.request["PATH_INFO"], (
        "a link that leaks is worth nothing"
    )
    done = client.post(
        form.request["PATH_INFO"], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    )
    assert done.status_code == 302 and not is_in(client)
    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)
    assert not is_in(elsewhere) and not ApiToken.objects.exists()
    assert mail.outbox[-1].to == ["mei@example.org"] and "password" in mail.outbox[-1].body
    assert Client().get(address, follow=True).context["token_fail"]


def test_letters_are_limited_for_known_and_unknown_addresses_alike(client: Client) -> None:
    with_email("mei@example.org")
    for email in ("mei@example.org", "nobody@example.org"):
        assert [forgotten(client, email).status_code for _ in range(6)] == [302] * 5 + [429]
    assert len(mail.outbox) == 5


# ------------------------------------------------------------------------------------------------ links
@pytest.mark.parametrize(
    ("origins", "site", "said"),
    [
        ([], {}, "http://127.0.0.1:8000/"),
        (["https://*.example.org", "https://rag.example.org"], {}, "https://rag.example.org/"),
        ([], {"host": "0.0.0.0"}, "http://127.0.0.1:8000/"),
    ],
)
def test_links_lead_to_the_site_whatever_it_was_called(
    client: Client, settings: Any, origins: list[str], site: dict[str, Any], said: str
) -> None:
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["*"], origins
    settings.SITE = settings.SITE.model_copy(update=site)
    with_email()
    for host in ("127.0.0.1:6666", "evil.example"):
        forgotten(client, headers={"Host": host})
        assert f"{said}accounts/password/reset/key/" in mail.outbox[-1].body


def test_a_mail_server_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise SMTPServerDisconnected("away")

    monkeypatch.setattr(mail.EmailMessage, "send", away)
    with pytest.raises((SMTPServerDisconnected, Retry)):
        tasks.email_send("mei@example.org", "Subject", "Text")
