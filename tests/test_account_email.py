"""An account's e-mail: confirmed by a link, told when it changes, the way to a new password; nobody learns from it
who has an account."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from celery import current_app
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.core import mail, signing
from django.test import Client
from django.utils import timezone

from ragsite import tasks
from ragsite.accounts import letters
from ragsite.accounts.email_links import confirmation_token
from ragsite.accounts.sign_in_limits import LETTERS_PER_RECIPIENT
from ragsite.models import Account, AccountSession, ApiToken, WaitingLetter
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different phrase"
LINK = re.compile(r"https?://[^/\s]+(/\S+)")


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> list[tuple[str, Any]]:
    """Messages to the worker; a letter is sent as soon as it is asked for."""
    sent: list[tuple[str, Any]] = []

    def send_task(name: str, args: Any = (), **_: Any) -> None:
        sent.append((name, args))
        if name == "ragsite.tasks.letter_send":
            tasks.letter_send(*args)

    monkeypatch.setattr(current_app, "send_task", send_task)
    return sent


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Callable[[], Any]:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def with_email(email: str = "mei@example.org", **values: Any) -> User:
    user: User = UserFactory(email=email, **values)
    Account.objects.update_or_create(user=user, defaults={"confirmed_email": email})
    return user


def signed_in_browser(user: User) -> Client:
    client = Client()
    client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    return client


def link_of_letter(number: int = -1) -> str:
    found = LINK.search(mail.outbox[number].body)
    assert found
    return found[1]


def test_an_address_of_the_sign_up_counts_only_after_its_link(client: Client, committed: Any) -> None:
    new = {"username": "mei", "email": "mei@example.org", "password1": PASSWORD, "password2": PASSWORD}
    with committed():
        client.post("/accounts/signup/", new)
    user = User.objects.get(username="mei")
    assert user.email == "" and user.account.pending_email == "mei@example.org" and user.account.confirmed_email == ""
    address = link_of_letter()
    assert client.get(address).status_code == 200
    assert not Account.objects.get(user=user).confirmed_email, "a program that opens links must not confirm"
    assert client.post(address).status_code == 302
    user.refresh_from_db()
    assert user.email == Account.objects.get(user=user).confirmed_email == "mei@example.org"


def test_a_link_works_once_and_says_so_the_second_time(committed: Any) -> None:
    user = UserFactory(email="")
    client = signed_in_browser(user)
    with committed():
        client.post("/accounts/email/", {"email": "mei@example.org", "password": PASSWORD})
    address = link_of_letter()
    client.post(address)
    again = client.post(address)
    assert again.status_code == 409 and "confirmed already" in again.content.decode()


def test_an_old_a_cut_and_a_forged_link_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory(email="")
    Account.objects.create(user=user, pending_email="mei@example.org")
    client = signed_in_browser(user)
    token = confirmation_token(user_id=user.pk, email="mei@example.org")
    forged = signing.dumps([user.pk, "mei@example.org"], salt="another")
    for bad in (token[:-4], forged, "x"):
        page = client.post(f"/accounts/email/confirm/{bad}/")
        assert page.status_code == 400 and "ask for a new one" in page.content.decode()
    monkeypatch.setattr("ragsite.accounts.email_links.GOOD_FOR_S", -1)
    old = client.post(f"/accounts/email/confirm/{token}/")
    assert old.status_code == 400 and "too old" in old.content.decode()
    assert not Account.objects.get(user=user).confirmed_email


def test_a_letter_that_went_astray_gives_a_stranger_nothing() -> None:
    owner, stranger = UserFactory(email=""), UserFactory(email="")
    Account.objects.create(user=owner, pending_email="wrong@example.org")
    address = f"/accounts/email/confirm/{confirmation_token(user_id=owner.pk, email='wrong@example.org')}/"
    assert Client().post(address).headers["Location"].startswith("/accounts/login/")
    assert signed_in_browser(stranger).post(address).status_code == 409
    assert not Account.objects.get(user=owner).confirmed_email
    assert not Account.objects.filter(user=stranger).exclude(confirmed_email="").exists()


def test_a_new_address_leaves_the_old_one_in_use_until_it_is_confirmed_and_tells_it_then(committed: Any) -> None:
    user = with_email("old@example.org")
    client = signed_in_browser(user)
    with committed():
        client.post("/accounts/email/", {"email": "new@example.org", "password": PASSWORD})
    assert Account.objects.get(user=user).confirmed_email == "old@example.org"
    assert [letter.to for letter in mail.outbox] == [["new@example.org"]]
    with committed():
        client.post(link_of_letter())
    assert Account.objects.get(user=user).confirmed_email == "new@example.org"
    assert mail.outbox[-1].to == ["old@example.org"] and "no longer uses this address" in mail.outbox[-1].body


def test_an_address_is_changed_with_the_password_alone(committed: Any) -> None:
    user = with_email("old@example.org")
    with committed():
        page = signed_in_browser(user).post("/accounts/email/", {"email": "thief@example.org", "password": "guess"})
    assert "not your password" in page.content.decode() and not mail.outbox
    assert Account.objects.get(user=user).pending_email == ""


def test_an_empty_address_takes_it_away_and_tells_it(committed: Any) -> None:
    user = with_email("old@example.org")
    with committed():
        signed_in_browser(user).post("/accounts/email/", {"email": "", "password": PASSWORD})
    user.refresh_from_db()
    assert user.email == Account.objects.get(user=user).confirmed_email == ""
    assert mail.outbox[-1].to == ["old@example.org"]


def test_two_accounts_may_have_one_address() -> None:
    """Refusing it would tell who has an account."""
    with_email("shared@example.org", username="one")
    client = Client()
    new = {"username": "two", "email": "shared@example.org", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/signup/", new).status_code == 302


# ------------------------------------------------------------------------------------------------ forgotten passwords
def test_a_known_and_an_unknown_address_answer_alike(client: Client, worker: list[Any]) -> None:
    with_email("mei@example.org")
    known = client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    unknown = client.post("/accounts/password/forgotten/", {"email": "nobody@example.org"})
    assert (known.status_code, known.headers["Location"]) == (unknown.status_code, unknown.headers["Location"])
    assert [name for name, _ in worker] == ["ragsite.tasks.letter_send"] * 2
    assert [letter.to for letter in mail.outbox] == [["mei@example.org"]]


@pytest.mark.parametrize("state", ["never confirmed", "changed by staff", "inactive", "no password"])
def test_no_link_goes_where_it_must_not(client: Client, state: str) -> None:
    user = with_email("mei@example.org")
    match state:
        case "never confirmed":
            Account.objects.filter(user=user).update(confirmed_email="", pending_email="mei@example.org")
        case "changed by staff":
            User.objects.filter(pk=user.pk).update(email="other@example.org")
        case "inactive":
            User.objects.filter(pk=user.pk).update(is_active=False)
        case "no password":
            user.set_unusable_password()
            user.save()
    mail.outbox.clear()
    client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    assert not mail.outbox


def test_a_new_password_ends_sessions_and_tokens_and_its_link(committed: Any) -> None:
    user = with_email()
    elsewhere = signed_in_browser(user)
    ApiToken.objects.create(user=user, prefix="x", key_hash="x")
    client = Client()
    client.post("/accounts/password/forgotten/", {"email": "MEI@example.org"})
    address = link_of_letter()
    form = client.get(address, follow=True)
    assert user.username not in form.content.decode()
    with committed():
        done = client.post(form.request["PATH_INFO"], {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert done.headers["Location"] == "/accounts/login/"
    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)
    assert elsewhere.get("/accounts/").status_code == 302
    assert not ApiToken.objects.exists() and not AccountSession.objects.filter(account=user).exists()
    assert mail.outbox[-1].subject == "Your password was changed"
    assert "does not work any more" in Client().get(address, follow=True).content.decode()


def test_a_link_for_a_new_password_expires(client: Client, settings: Any) -> None:
    with_email()
    client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "does not work any more" in client.get(link_of_letter(), follow=True).content.decode()


def test_letters_are_limited_for_known_and_unknown_addresses_alike(client: Client) -> None:
    with_email("mei@example.org")
    for email in ("mei@example.org", "nobody@example.org"):
        for _ in range(LETTERS_PER_RECIPIENT):
            assert client.post("/accounts/password/forgotten/", {"email": email}).status_code == 302
        refused = client.post("/accounts/password/forgotten/", {"email": email})
        assert refused.status_code == 429 and refused.headers["Retry-After"]
        assert "Too many e-mails" in refused.content.decode()
    assert len(mail.outbox) == LETTERS_PER_RECIPIENT


@pytest.mark.parametrize(
    ("origins", "site", "said"),
    [
        ([], {}, "http://127.0.0.1:8000/"),
        (["https://*.example.org", "https://rag.example.org"], {}, "https://rag.example.org/"),
        ([], {"host": "0.0.0.0"}, "http://127.0.0.1:8000/"),
        ([], {"allowed_hosts": ["*", "rag.lan"], "port": 9000}, "http://rag.lan:9000/"),
        ([], {"allowed_hosts": ["rag.lan"], "https": True}, "https://rag.lan/"),
    ],
)
def test_links_lead_to_the_site_whatever_it_was_called(
    client: Client, settings: Any, origins: list[str], site: dict[str, Any], said: str
) -> None:
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["*"], origins
    settings.SITE = settings.SITE.model_copy(update=site)
    with_email()
    for host in ("127.0.0.1:6666", "evil.example"):
        client.post("/accounts/password/forgotten/", {"email": "mei@example.org"}, headers={"Host": host})
        assert f"{said}accounts/password/new/" in mail.outbox[-1].body


def test_a_link_that_confirms_leads_to_the_site_whatever_it_was_called(committed: Any) -> None:
    browser = signed_in_browser(with_email())
    with committed():
        browser.post(
            "/accounts/email/", {"email": "new@example.org", "password": PASSWORD}, headers={"Host": "localhost:6666"}
        )
    assert "http://127.0.0.1:8000/accounts/email/confirm/" in mail.outbox[-1].body


# ------------------------------------------------------------------------------------------------ letters
def test_a_letter_is_in_its_readers_language_as_text_and_as_html(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragsite.accounts.letters._", lambda text: f"{text}")
    user = with_email()
    Account.objects.filter(user=user).update(language="zh-hant")
    client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    (letter,) = mail.outbox
    (html, kind) = letter.alternatives[0]
    assert kind == "text/html" and '<html lang="zh-hant">' in html and link_of_letter() in html


def test_a_name_is_no_markup_in_a_letter(client: Client) -> None:
    with_email(username="<b>@x+mei")
    client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    html = str(mail.outbox[0].alternatives[0][0])
    assert "<b>@x" not in html and "&lt;b&gt;@x" in html and "<b>@x+mei" in mail.outbox[0].body


def test_no_link_waits_in_the_queue(client: Client, worker: list[Any]) -> None:
    with_email()
    client.post("/accounts/password/forgotten/", {"email": "mei@example.org"})
    assert link_of_letter().rstrip("/").rpartition("/")[2] not in repr(worker)


def test_a_mail_server_that_is_away_is_tried_again_and_one_that_refuses_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    user = with_email()
    values = {"email": "mei@example.org", "language": "en"}
    tried: list[Exception] = []

    def fails(error: Exception) -> Callable[[Any], None]:
        def deliver(letter: Any) -> None:
            tried.append(error)
            raise error

        return deliver

    monkeypatch.setattr(tasks, "letter_deliver", fails(SMTPServerDisconnected("away")))
    with pytest.raises((SMTPServerDisconnected, Retry)):
        tasks.letter_send("reset", values)
    monkeypatch.setattr(tasks, "letter_deliver", fails(SMTPRecipientsRefused({"mei@example.org": (550, b"no")})))
    assert tasks.letter_send("reset", values) == 1
    assert len(tried) == 2 and user.pk


@pytest.fixture
def broker_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The broker is away from now on; called, it is back."""
    send = current_app.send_task

    def away(*_: Any, **__: Any) -> None:
        raise OSError("away")

    monkeypatch.setattr(current_app, "send_task", away)
    return lambda: monkeypatch.setattr(current_app, "send_task", send)


def forgotten(client: Client, email: str = "mei@example.org") -> None:
    assert client.post("/accounts/password/forgotten/", {"email": email}).status_code == 302


def test_a_letter_waits_for_the_broker_and_is_sent_once(client: Client, broker_away: Callable[[], None]) -> None:
    with_email()
    forgotten(client)
    with pytest.raises(OSError, match="away"):
        tasks.letters_waiting()
    assert mail.outbox == []
    broker_away()
    assert (tasks.letters_waiting(), tasks.letters_waiting()) == (1, 0)
    assert [letter.to for letter in mail.outbox] == [["mei@example.org"]]


def test_a_letter_does_not_wait_longer_than_a_day(client: Client, broker_away: Callable[[], None]) -> None:
    with_email()
    forgotten(client)
    WaitingLetter.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    broker_away()
    assert tasks.letters_waiting() == 0
    assert mail.outbox == [] and not WaitingLetter.objects.exists()


def test_no_more_letters_wait_than_can_be_meant(
    client: Client, broker_away: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "MOST_WAITING", 1)
    for email in ("mei@example.org", "lea@example.org"):
        forgotten(client, email)
    assert WaitingLetter.objects.count() == 1


def test_what_waits_for_a_person_goes_with_their_account(client: Client, broker_away: Callable[[], None]) -> None:
    user = with_email()
    forgotten(client)
    forgotten(client, "lea@example.org")
    letters.letter_queue("password_changed", user_id=user.pk)
    assert letters.letters_forget(user) == 2
    assert [letter.values["email"] for letter in WaitingLetter.objects.all()] == ["lea@example.org"]
