"""Signing in with a provider of OpenID Connect, a real one in a process of its own (`tests.oidc_provider`)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.test import Client

from ragsite.core.settings_group import SettingsError
from ragsite.core.site_settings import SiteSettings
from tests.clients import browser, is_in
from tests.factories import PASSWORD, UserFactory
from tests.oidc_provider import VALUE, provider
from tests.processes import free_port

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
AWAY = re.compile(r"URL=(?:&#x27;|')([^\"]+?)(?:&#x27;|')\"")
CALLBACK = "http://testserver/accounts/oidc/login/callback/"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider(free_port(), CALLBACK) as url:
        yield url


def use(settings: Any, url: str, **more: Any) -> None:
    """As `RAGSITE_OIDC` and `RAGSITE_OIDC_GROUPS` say."""
    site = SiteSettings.from_env(
        {"RAGSITE_OIDC": VALUE.format(url=url), "RAGSITE_OIDC_GROUPS": "library=Reviewers"}
    )
    assert site.oidc
    settings.OIDC, settings.OIDC_GROUPS = site.oidc, site.oidc_groups
    providers = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [site.oidc.as_app()]}}
    settings.SOCIALACCOUNT_PROVIDERS = providers
    for name, value in more.items():
        setattr(settings, name, value)


@pytest.fixture(autouse=True)
def _provider(settings: Any, issuer: str) -> None:
    use(settings, issuer)


def callback_of(name: str, client: Client, *, address: str = "/accounts/oidc/login/") -> str:
    """Where the provider sends the browser back to, once `name` has signed in there."""
    page = client.post(address)
    assert page.status_code == 200, "a page leads there, no redirect: `form-action`"
    found = AWAY.search(page.content.decode())
    assert found, page.content.decode()
    with httpx.Client(follow_redirects=False) as there:
        door = there.get(html.unescape(found[1]).encode().decode(), follow_redirects=True)
        token = TOKEN.search(door.text)
        assert token, door.text
        form = {
            "login": name,
            "password": PASSWORD,
            "csrfmiddlewaretoken": token[1],
            "next": door.url.params["next"],
        }
        answer = there.post(str(door.url), data=form)
        while not answer.headers["Location"].startswith(CALLBACK):
            answer = there.get(str(door.url.join(answer.headers["Location"])))
    return answer.headers["Location"].removeprefix("http://testserver")


def signed_in(name: str, client: Client | None = None, **options: Any) -> Client:
    client = client or Client()
    client.get(callback_of(name, client, **options))
    return client


def test_a_first_sign_in_makes_an_account_with_the_address_that_the_provider_has_confirmed() -> (
    None
):
    client = signed_in("mei")
    user = User.objects.get(username="mei")
    assert is_in(client) and not user.has_usable_password()
    assert EmailAddress.objects.get(user=user, email="mei@example.org").verified
    assert signed_in("mei") and User.objects.count() == 1


def test_it_goes_on_to_the_page_that_asked_and_to_no_other_site() -> None:
    client = Client()
    back = callback_of(
        "mei", client, address="/accounts/oidc/login/?process=login&next=/documents/"
    )
    assert client.get(back).headers["Location"] == "/documents/"
    client = Client()
    back = callback_of(
        "mei", client, address="/accounts/oidc/login/?process=login&next=https://evil.example/"
    )
    assert client.get(back).headers["Location"] == "/"


# ------------------------------------------------------------------------------------------------ linked accounts
def test_it_is_linked_to_the_account_whose_address_both_sides_have_confirmed() -> None:
    user = UserFactory(username="owner", email="mei@example.org")
    EmailAddress.objects.create(user=user, email="mei@example.org", verified=True, primary=True)
    assert is_in(signed_in("mei"))
    assert User.objects.count() == 1 and SocialAccount.objects.get().user == user
    assert Client().login(username="owner", password=PASSWORD), "the password stays"


@pytest.mark.parametrize("has_row", [True, False])
def test_it_is_not_linked_where_the_site_has_not_confirmed_the_address(has_row: bool) -> None:
    """Else who signs up with somebody's address would wait in their account."""
    user = UserFactory(username="waiting", email="mei@example.org")
    if has_row:
        EmailAddress.objects.create(
            user=user, email="mei@example.org", verified=False, primary=True
        )
    signed_in("mei")
    assert not SocialAccount.objects.filter(user=user).exists()
    assert Client().login(username="waiting", password=PASSWORD)


@pytest.mark.parametrize("name", ["eve", "eva"])
def test_it_is_not_linked_where_the_provider_has_not_confirmed_the_address(name: str) -> None:
    user = UserFactory(username="owner", email="owner@example.org")
    EmailAddress.objects.create(user=user, email="owner@example.org", verified=True, primary=True)
    signed_in(name)
    assert not SocialAccount.objects.filter(user=user).exists()


def test_an_address_that_is_confirmed_in_words_is_confirmed() -> None:
    signed_in("ada")
    assert EmailAddress.objects.get(email="ada@example.org").verified is True


def test_the_same_subject_at_another_issuer_is_somebody_else(settings: Any) -> None:
    signed_in("mei")
    with provider(free_port(), CALLBACK, order=-1) as other:
        use(settings, other)
        assert is_in(signed_in("odd"))
    subjects = [account.extra_data["id_token"]["sub"] for account in SocialAccount.objects.all()]
    assert len(subjects) == 2 and len(set(subjects)) == 1
    assert set(User.objects.values_list("username", flat=True)) == {"mei", "odd"}


def test_who_is_signed_in_links_it_after_the_password() -> None:
    user = UserFactory()
    client = browser(user)
    address = "/accounts/oidc/login/?process=connect"
    assert (
        client.get(callback_of("lin", client, address=address))
        .headers["Location"]
        .startswith("/accounts/reauth")
    )
    assert not SocialAccount.objects.exists()
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert SocialAccount.objects.get().user == user


# ------------------------------------------------------------------------------------------------ who may sign up
def test_where_only_administrators_make_accounts_the_provider_makes_none(settings: Any) -> None:
    settings.SIGNUP = "0"
    client = signed_in("mei")
    assert not is_in(client) and not User.objects.exists()


def test_sign_up_by_the_provider_alone(settings: Any, client: Client) -> None:
    settings.SIGNUP = "oidc"
    form = {"username": "lin", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/signup/", form).status_code == 403 and not User.objects.exists()
    assert "/accounts/signup/" not in client.get("/accounts/login/").content.decode()
    assert is_in(signed_in("mei"))


def test_a_closed_account_stays_closed() -> None:
    signed_in("mei")
    User.objects.update(is_active=False)
    assert not is_in(signed_in("mei"))


def test_a_second_factor_is_asked_for_here_too() -> None:
    signed_in("mei")
    TOTP.activate(User.objects.get(), generate_totp_secret())
    assert not is_in(signed_in("mei"))


# ------------------------------------------------------------------------------------------------ groups
def test_groups_follow_the_claim_at_each_sign_in_and_others_stay(settings: Any) -> None:
    signed_in("mei")
    user = User.objects.get()
    assert list(user.groups.values_list("name", flat=True)) == ["Reviewers"] and user.is_staff
    friends = Group.objects.create(name="Friends")
    user.groups.add(friends)
    settings.OIDC_GROUPS = {"no longer": "Reviewers"}
    signed_in("mei")
    user.refresh_from_db()
    assert list(user.groups.all()) == [friends] and not user.is_staff


def test_a_group_of_the_provider_that_only_has_the_same_name_gives_nothing(settings: Any) -> None:
    Group.objects.create(name="everyone")
    signed_in("lin")
    assert not User.objects.get().groups.exists()


@pytest.mark.parametrize(("name", "groups"), [("ada", ["Reviewers"]), ("one", []), ("odd", [])])
def test_a_claim_is_a_name_or_a_list_of_names(name: str, groups: list[str]) -> None:
    assert is_in(signed_in(name))
    assert list(User.objects.get().groups.values_list("name", flat=True)) == groups


# ------------------------------------------------------------------------------------------------ faults
def test_a_provider_that_is_away_is_told(settings: Any, client: Client) -> None:
    use(settings, f"http://localhost:{free_port()}")
    page = client.post("/accounts/oidc/login/")
    assert page.status_code == 503 and "<h1>" in page.content.decode()
    assert client.get("/accounts/login/").status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        "https://id.example.org",
        "issuer=https://x.org",
        "issuer=ftp://x, client=a, secret=hush",
        "issuer=, client=, x=1",
    ],
)
def test_a_wrong_setting_is_refused_without_its_secret(value: str) -> None:
    with pytest.raises(SettingsError, match="RAGSITE_OIDC") as error:
        SiteSettings.from_env({"RAGSITE_OIDC": value})
    assert "hush" not in str(error.value)
