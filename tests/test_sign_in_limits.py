"""The limits on guessing passwords: every door, many names, many places."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.core.exceptions import ImmediateHttpResponse
from django.test import Client, RequestFactory

from ragsite.accounts.adapters import AccountAdapter
from ragsite.asgi import application
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different phrase"
_SITE = Client()


@pytest.fixture(autouse=True)
def _small_limits(settings: Any) -> None:
    rates = {
        "login_failed": "5/300s/ip,3/300s/key",
        "signup": "2/h/ip",
        "change_password": "3/m/user",
    }
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | rates


def browser() -> Client:
    """Without a cookie. All share the site's middleware, whose loading takes most of a request's time."""
    client = Client()
    client.handler = _SITE.handler
    return client


def token(
    name: str,
    password: str,
    *,
    address: str = "192.0.2.1",
    client: Client | None = None,
    **options: Any,
) -> Any:
    body = {"username": name, "password": password}
    made = {"content_type": "application/json", "REMOTE_ADDR": address}
    return (client or browser()).post("/api/auth/token", body, **made, **options)


def page(
    name: str, password: str, *, address: str = "192.0.2.1", client: Client | None = None
) -> Any:
    form = {"username": name, "password": password}
    return (client or browser()).post("/accounts/login/", form, REMOTE_ADDR=address)


def guess(name: str, times: int, *, address: str = "192.0.2.1") -> None:
    for _ in range(times):
        assert token(name, "guess", address=address).status_code == 400


def test_the_page_tells_too_many_guesses_with_429_and_a_sentence() -> None:
    user = UserFactory()
    for _ in range(3):
        assert page(user.username, "guess").status_code == 200
    refused = page(user.username, PASSWORD)
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0
    assert "wait a few minutes" in refused.content.decode()


def test_the_token_call_tells_it_in_its_own_form() -> None:
    victim, other = UserFactory(), UserFactory()
    guess(victim.username, 3)
    refused = token(victim.username, PASSWORD)
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0
    assert refused.json()["error"]["code"] == "rate_limited"
    assert token(other.username, PASSWORD).status_code == 200


def test_all_doors_count_together() -> None:
    user = UserFactory()
    guess(user.username, 2)
    page(user.username, "guess")
    assert (
        token(user.username, PASSWORD).status_code
        == page(user.username, PASSWORD).status_code
        == 429
    )


def test_the_old_password_cannot_be_guessed_in_an_open_browser(client: Client) -> None:
    user = UserFactory()
    client.force_login(user)
    form = {"oldpassword": "guess", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    for _ in range(3):
        assert client.post("/accounts/password/change/", form).status_code == 200
    refused = client.post("/accounts/password/change/", form | {"oldpassword": PASSWORD})
    user.refresh_from_db()
    assert refused.status_code == 429 and user.check_password(PASSWORD)


def test_parallel_guesses_do_not_pass_the_limit() -> None:
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")

    def attempt(_: int) -> bool:
        try:
            AccountAdapter(request).pre_authenticate(request, username="mei")
        except ImmediateHttpResponse:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 3


def test_one_password_over_many_names_is_stopped() -> None:
    users = UserFactory.create_batch(6)
    assert [token(user.username, "guess").status_code for user in users] == [400] * 5 + [429]


def test_one_name_from_many_addresses_is_stopped() -> None:
    user = UserFactory()
    for host in range(3):
        guess(user.username, 1, address=f"192.0.2.{host}")
    assert token(user.username, PASSWORD, address="198.51.100.1").status_code == 429


def test_names_that_differ_in_case_or_width_are_one() -> None:
    for name in ("Mei", "mei", "ｍｅｉ"):
        guess(name, 1)
    assert token("MEI", "guess").status_code == 429


def test_another_name_of_the_site_is_no_new_beginning(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    user = UserFactory()
    for number in range(3):
        token(user.username, "guess", headers={"Host": f"host{number}.example.org"})
    assert token(user.username, PASSWORD, headers={"Host": "other.example.org"}).status_code == 429


def test_too_many_accounts_of_one_address_are_refused() -> None:
    def sign_up(name: str, address: str) -> Any:
        form = {"username": name, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
        return browser().post("/accounts/signup/", form, REMOTE_ADDR=address)

    assert [sign_up(name, "192.0.2.1").status_code for name in ("ann", "bob", "cid")] == [
        302,
        302,
        429,
    ]
    assert sign_up("cid", "192.0.2.2").status_code == 302


async def _status_for(forwarded: str, peer: str, proxies: list[str]) -> str:
    """The address that the application sees."""
    seen: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    middleware = type(application)(inner, trusted_hosts=proxies)
    scope: Any = {
        "type": "http",
        "client": (peer, 1),
        "headers": [(b"x-forwarded-for", forwarded.encode())],
    }
    await middleware(scope, None, None)  # type: ignore[arg-type]
    return seen[0]


async def test_x_forwarded_for_is_believed_from_a_trusted_proxy_alone() -> None:
    assert await _status_for("198.51.100.9", "127.0.0.1", []) == "127.0.0.1"
    assert await _status_for("198.51.100.9", "10.0.0.2", ["10.0.0.0/8"]) == "198.51.100.9"
    assert (
        await _status_for("203.0.113.1, 198.51.100.9", "10.0.0.2", ["10.0.0.0/8"]) == "198.51.100.9"
    )
