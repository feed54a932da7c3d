"""What Ctrl K leads to, and what a phone needs to install the site."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tests.clients import administrator, client_of, person
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def offered(client: Client) -> set[str]:
    return {page["url"] for page in client.get("/palette.json").json()["pages"]}


def menus(client: Client, path: str, *classes: str) -> set[str]:
    """Where the links of these menus lead."""
    page = client.get(path).content.decode()
    pattern = rf'<a class="(?:{"|".join(classes)})"[^>]*href="([^"]+)"'
    return set(re.findall(pattern, page))


def test_a_superuser_finds_all_that_the_menus_have() -> None:
    client = administrator()
    shown = menus(client, "/", "menu-item", "tab") | menus(client, "/administration/", "side-link")
    shown |= menus(client, "/review/dashboard/", "side-link")
    shown |= menus(client, "/documents/", "side-link")
    assert len(shown) > 15
    assert shown - offered(client) == set()


def test_nobody_is_offered_what_they_may_not_open() -> None:
    for user in (UserFactory(), person(), person("Reviewers"), person("Curators")):
        client = client_of(user)
        answers = {path: client.get(path, follow=True).status_code for path in offered(client)}
        assert set(answers.values()) == {200}, answers


def test_a_stranger_is_offered_nothing(client: Client) -> None:
    assert client.get("/palette.json").status_code == 401


def test_a_temporary_chat_is_offered_where_it_may_be_chosen(settings: Any) -> None:
    client = client_of(UserFactory())
    assert client.get("/palette.json").json()["temporary"] is True
    rules = settings.RAG.conversations.replace(temporary_chat="forbidden")
    settings.RAG = settings.RAG.replace(conversations=rules)
    assert client.get("/palette.json").json()["temporary"] is False


@pytest.mark.parametrize("language", ["en", "zh-hans", "zh-hant"])
def test_the_manifest_is_there_before_signing_in_and_its_icons_are(
    client: Client, language: str
) -> None:
    page = client.get("/accounts/login/", headers={"Accept-Language": language})
    address = f"/manifest/{language}.webmanifest"
    assert f'<link rel="manifest" href="{address}">' in page.content.decode()
    manifest = client.get(address).json()
    assert (manifest["display"], manifest["lang"]) == ("standalone", language)
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        assert finders.find(icon["src"].removeprefix("/static/")), icon


def test_the_manifest_is_the_same_for_everybody_and_may_be_kept(client: Client) -> None:
    address = "/manifest/en.webmanifest"
    strangers = Client().get(address, headers={"Accept-Language": "zh-hant"})
    client.cookies["django_language"] = "zh-hans"
    client.force_login(UserFactory(username="mei"))
    own = client.get(address)
    assert own.content == strangers.content
    assert own["Content-Type"] == "application/manifest+json"
    assert own["Cache-Control"] == "public, max-age=3600" and not own.cookies
    assert client.get("/manifest/xx.webmanifest").json()["lang"] == "en"


def test_what_a_phone_shares_stands_in_no_address_and_is_kept_by_its_browser_alone() -> None:
    client = Client(enforce_csrf_checks=True)
    target = client.get("/manifest/en.webmanifest").json()["share_target"]
    assert (target["method"], target["enctype"]) == ("POST", "application/x-www-form-urlencoded")
    sent = urlencode({"title": "Rules", "text": "</textarea>How many?", "url": "https://a.b/c"})
    page = client.post(target["action"], sent, content_type=target["enctype"])
    assert page.status_code == 200 and "no-store" in page["Cache-Control"]
    assert "sessionid" not in page.cookies
    html = page.content.decode()
    assert "data-shared>Rules\n&lt;/textarea&gt;How many?\nhttps://a.b/c</textarea>" in html
    for nothing in (client.get(target["action"]), client.post(target["action"])):
        assert nothing["Location"] == "/"
