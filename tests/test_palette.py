"""What Ctrl K leads to, and what a phone needs to install the site."""

from __future__ import annotations

import re
from typing import Any

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


def test_the_manifest_is_there_before_signing_in_and_its_icons_are(client: Client) -> None:
    response = client.get("/manifest.webmanifest", headers={"Accept-Language": "zh-hant"})
    manifest = response.json()
    assert response["Content-Type"] == "application/manifest+json"
    assert (manifest["display"], manifest["lang"]) == ("standalone", "zh-hant")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        assert finders.find(icon["src"].removeprefix("/static/")), icon
    assert (
        '<link rel="manifest" href="/manifest.webmanifest">'
        in client.get("/accounts/login/").content.decode()
    )


def test_what_a_phone_shares_survives_the_sign_in(client: Client) -> None:
    target = client.get("/manifest.webmanifest").json()["share_target"]
    assert target["params"] == {"title": "title", "text": "text", "url": "url"}
    response = client.get(target["action"], {"text": "How many books?"})
    assert (
        response.headers["Location"] == "/accounts/login/?next=/%3Ftext%3DHow%2Bmany%2Bbooks%253F"
    )
