"""Which language a page and an answer of the API are in."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client

COOKIE = settings.LANGUAGE_COOKIE_NAME


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accepted", "language", "heading"),
    [
        ("", "en", "Sign in"), ("de", "en", "Sign in"), ("zh-CN,zh;q=0.9", "zh-hans", "登录"),
        ("zh-TW", "zh-hant", "登入"), ("zh-HK,en;q=0.5", "zh-hant", "登入"), ("en-GB,zh-CN;q=0.8", "en", "Sign in"),
    ],
)  # fmt: skip
def test_a_page_before_sign_in_is_in_the_browsers_language(
    client: Client, accepted: str, language: str, heading: str
) -> None:
    response = client.get("/accounts/login/", headers={"accept-language": accepted})
    html = response.content.decode()
    assert f'<html lang="{language}">' in html
    assert f"<h1>{heading}</h1>" in html
    assert "Accept-Language" in response["Vary"]
    assert (f"texts.js?{language}" in html) == (language != "en")


@pytest.mark.django_db
def test_the_switch_goes_before_the_browsers_language_and_leads_back(client: Client) -> None:
    answer = client.post(
        "/accounts/language/",
        {"language": "zh-hant"},
        headers={"referer": "http://testserver/accounts/signup/"},
    )
    assert (answer.status_code, answer["Location"]) == (302, "http://testserver/accounts/signup/")
    assert answer.cookies[COOKIE]["httponly"]
    html = client.get("/accounts/signup/", headers={"accept-language": "en"}).content.decode()
    assert '<html lang="zh-hant">' in html
    assert re.search(r'value="zh-hant" lang="zh-hant" aria-current="true">繁體中文<', html)
    assert ">English<" in html


@pytest.mark.django_db
def test_the_switch_leads_to_no_other_site_and_to_no_other_language(client: Client) -> None:
    answer = client.post(
        "/accounts/language/", {"language": "xx", "next": "https://elsewhere.example/"}
    )
    assert answer["Location"] == "/"
    assert COOKIE not in answer.cookies


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/nothing-here", "这里什么也没有"),
        ("/api/messages/nothing", "这里什么也没有，或者您无权查看。"),
    ],
)
def test_errors_are_in_the_readers_language(client: Client, path: str, words: str) -> None:
    response = client.get(path, headers={"accept-language": "zh-CN"})
    assert response.status_code == 404
    body = (
        response.json()["error"]["message"]
        if path.startswith("/api/")
        else response.content.decode()
    )
    assert words in body
