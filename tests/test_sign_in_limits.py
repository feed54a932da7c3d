"""The limits on guessing passwords: every door, parallel guesses, many names, many places, and the owner let in."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client, RequestFactory
from django.utils import timezone

from ragsite.accounts import sign_in_limits
from ragsite.accounts.sign_in_limits import TooManyAttemptsError, attempt_begin, counted_address, sign_in_limits_purge
from ragsite.asgi import application
from ragsite.models import AttemptCounter, KnownOrigin
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different phrase"
_SITE = Client()


@pytest.fixture(autouse=True)
def _small_limits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_limits, "LOGIN_FAILURES_PER_ADDRESS", 5)
    monkeypatch.setattr(sign_in_limits, "LOGIN_FAILURES_PER_ACCOUNT", 6)
    limits = settings.RAG.limits.replace(login_failures=3, signups_per_hour=2)
    settings.RAG = settings.RAG.replace(limits=limits)


def browser() -> Client:
    """Without a cookie. All share the site's middleware, whose loading takes most of a request's time."""
    client = Client()
    client.handler = _SITE.handler
    return client


def token(name: str, password: str, *, address: str = "192.0.2.1", client: Client | None = None) -> Any:
    body = {"username": name, "password": password}
    return (client or browser()).post("/api/auth/token", body, content_type="application/json", REMOTE_ADDR=address)


def page(path: str, name: str, password: str, *, address: str = "192.0.2.1", client: Client | None = None) -> Any:
    return (client or browser()).post(path, {"username": name, "password": password}, REMOTE_ADDR=address)


def guess(name: str, times: int, *, address: str = "192.0.2.1") -> None:
    for _ in range(times):
        assert token(name, "guess", address=address).status_code == 400


@pytest.mark.parametrize("path", ["/accounts/login/", "/admin/login/"])
def test_the_pages_tell_too_many_guesses_with_429_and_a_sentence(path: str) -> None:
    staff = UserFactory(is_staff=True, is_superuser=True)
    for _ in range(3):
        assert page(path, staff.username, "guess").status_code == 200
    refused = page(path, staff.username, PASSWORD)
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0
    assert "Too many wrong passwords" in refused.content.decode()


def test_all_doors_count_together() -> None:
    staff = UserFactory(is_staff=True)
    guess(staff.username, 1)
    page("/accounts/login/", staff.username, "guess")
    page("/admin/login/", staff.username, "guess")
    assert token(staff.username, PASSWORD).status_code == 429


def test_the_old_password_cannot_be_guessed_in_an_open_browser(client: Client) -> None:
    user = UserFactory()
    client.force_login(user)
    form = {"old_password": "guess", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    for _ in range(3):
        assert client.post("/accounts/password/", form).status_code == 200
    refused = client.post("/accounts/password/", form | {"old_password": PASSWORD})
    user.refresh_from_db()
    assert refused.status_code == 429 and user.check_password(PASSWORD)


def test_the_administrations_own_form_for_the_password_leads_to_ours(client: Client) -> None:
    client.force_login(UserFactory(is_staff=True))
    assert client.get("/admin/password_change/").headers["Location"] == "/accounts/password/"


def test_one_password_over_many_names_is_stopped() -> None:
    users = UserFactory.create_batch(6)
    codes = [token(user.username, "guess").status_code for user in users]
    assert codes == [400] * 5 + [429]


def test_an_own_right_password_in_between_does_not_free_the_address() -> None:
    own = UserFactory()
    for user in UserFactory.create_batch(5):
        guess(user.username, 1)
        token(own.username, PASSWORD)
    assert token(UserFactory().username, "guess").status_code == 429


def test_one_name_from_many_addresses_is_stopped() -> None:
    user = UserFactory()
    for host in range(6):
        guess(user.username, 1, address=f"192.0.2.{host}")
    assert token(user.username, PASSWORD, address="198.51.100.1").status_code == 429


def test_the_owner_gets_in_from_a_known_address_while_others_guess() -> None:
    user = UserFactory()
    assert token(user.username, PASSWORD, address="198.51.100.1").status_code == 200
    for host in range(6):
        guess(user.username, 1, address=f"192.0.2.{host}")
    assert token(user.username, PASSWORD, address="198.51.100.1").status_code == 200
    assert token(user.username, PASSWORD, address="198.51.100.2").status_code == 429


def test_the_owner_gets_in_with_a_known_browser_while_the_same_address_guesses() -> None:
    user, known = UserFactory(), browser()
    assert page("/accounts/login/", user.username, PASSWORD, client=known).status_code == 302
    known.post("/accounts/logout/")
    guess(user.username, 3)
    assert page("/accounts/login/", user.username, PASSWORD).status_code == 429
    assert page("/accounts/login/", user.username, PASSWORD, client=known).status_code == 302


def test_a_known_browser_has_a_limit_too() -> None:
    user, known = UserFactory(), browser()
    page("/accounts/login/", user.username, PASSWORD, client=known)
    known.post("/accounts/logout/")
    codes = [token(user.username, "guess", client=known).status_code for _ in range(4)]
    assert codes == [400, 400, 400, 429]


def test_a_browser_of_one_account_is_unknown_to_another() -> None:
    own, other, known = UserFactory(), UserFactory(), browser()
    page("/accounts/login/", own.username, PASSWORD, client=known)
    known.post("/accounts/logout/")
    guess(other.username, 3)
    assert token(other.username, PASSWORD, client=known).status_code == 429


def test_names_that_differ_in_case_or_width_are_one() -> None:
    for name in ("Mei", "mei", "ｍｅｉ"):
        guess(name, 1)
    assert token("MEI", "guess").status_code == 429


def test_a_right_password_is_no_attempt() -> None:
    user = UserFactory()
    for _ in range(7):
        assert token(user.username, PASSWORD).status_code == 200
    assert all(not counter.times for counter in AttemptCounter.objects.all())


def test_attempts_stop_counting_after_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    user, now = UserFactory(), time.time()
    guess(user.username, 3)
    refused = token(user.username, PASSWORD)
    assert 0 < int(refused.headers["Retry-After"]) <= sign_in_limits.LOGIN_WINDOW_S
    later = now + sign_in_limits.LOGIN_WINDOW_S + 1
    monkeypatch.setattr(sign_in_limits.time, "time", lambda: later)
    assert token(user.username, PASSWORD).status_code == 200


def test_a_refused_guess_does_not_prolong_the_wait() -> None:
    user = UserFactory()
    guess(user.username, 3)
    before = list(AttemptCounter.objects.values_list("key", "times").order_by("key"))
    assert token(user.username, "guess").status_code == 429
    assert list(AttemptCounter.objects.values_list("key", "times").order_by("key")) == before


def test_too_many_accounts_of_one_address_are_refused() -> None:
    def sign_up(name: str, address: str) -> Any:
        form = {"username": name, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return browser().post("/accounts/signup/", form, REMOTE_ADDR=address)

    assert [sign_up(name, "192.0.2.1").status_code for name in ("ann", "bob", "cid")] == [302, 302, 429]
    assert sign_up("cid", "192.0.2.2").status_code == 302


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", "unknown"),
    ],
)
def test_an_ipv6_address_counts_by_its_64(address: str, counted: str) -> None:
    assert counted_address(address) == counted


def test_what_counts_no_longer_is_purged() -> None:
    user = UserFactory()
    guess(user.username, 1)
    assert sign_in_limits_purge() == 0
    AttemptCounter.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    KnownOrigin.objects.create(user=user, origin="o", last_used_at=timezone.now() - timedelta(days=181))
    assert sign_in_limits_purge() == 4
    assert not AttemptCounter.objects.exists() and not KnownOrigin.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_guesses_do_not_pass_the_limit(settings: Any) -> None:
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")

    def attempt(_: int) -> bool:
        try:
            attempt_begin(request, username="mei")
        except TooManyAttemptsError:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 3


async def _status_for(forwarded: str, peer: str, proxies: list[str]) -> str:
    """The address that the application sees."""
    seen: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    middleware = type(application)(inner, trusted_hosts=proxies)
    scope: Any = {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", forwarded.encode())]}
    await middleware(scope, None, None)  # type: ignore[arg-type]
    return seen[0]


async def test_x_forwarded_for_is_believed_from_a_trusted_proxy_alone() -> None:
    assert await _status_for("198.51.100.9", "127.0.0.1", []) == "127.0.0.1"
    assert await _status_for("198.51.100.9", "10.0.0.2", ["10.0.0.0/8"]) == "198.51.100.9"
    assert await _status_for("203.0.113.1, 198.51.100.9", "10.0.0.2", ["10.0.0.0/8"]) == "198.51.100.9"
