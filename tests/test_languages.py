"""Which language a page and an answer of the API are in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from ragsite.web.script_texts import ENTRIES, scripts_of
from tests.texts import SCRIPT_CALL

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
    assert (f"/texts/sign_in.js?{language}" in html) == (language != "en")


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


def texts_of(client: Client, page: str) -> dict[str, Any]:
    """What Django's catalogue for scripts holds, by its English text."""
    response = client.get(f"/texts/{page}.js", headers={"accept-language": "zh-TW"})
    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    found = re.search(r"const newcatalog = (\{.*\});", response.content.decode())
    assert found
    texts: dict[str, Any] = json.loads(found[1])
    return texts


@pytest.mark.parametrize("page", ["chat", "sign_in"])
def test_a_page_has_all_texts_of_its_own_scripts_and_of_what_they_fetch_later(
    client: Client, page: str
) -> None:
    own = texts_of(client, page)
    everything = texts_of(client, "all")
    scripts = scripts_of(page)
    called = {
        json.loads(text)
        for script in scripts
        for text, _many in SCRIPT_CALL.findall(script.read_text("utf-8"))
    }
    assert called and called.intersection(everything) <= own.keys() <= everything.keys()
    assert len(own) < 0.7 * len(everything)
    names = {script.name for script in scripts}
    assert page != "chat" or {"path.js", "source_panel.js", "palette.js", "install.js"} <= names


@pytest.mark.parametrize(
    ("page", "templates"),
    [("chat", ("app.html", "chat/chat.html")), ("sign_in", ("accounts/_page.html",))],
)
def test_the_scripts_of_a_page_are_those_of_its_templates(
    page: str, templates: tuple[str, ...]
) -> None:
    texts = [(settings.BASE_DIR / "templates" / name).read_text("utf-8") for name in templates]
    named = re.findall(r"""type="module" src="{% static 'js/([\w/]+\.js)' %}""", "".join(texts))
    assert set(named) == set(ENTRIES[page])


def test_the_texts_of_a_page_go_over_the_line_small_and_no_page_is_made_up(client: Client) -> None:
    sent = client.get("/texts/chat.js?zh-hant", headers={"accept-encoding": "gzip"})
    assert len(sent.content) < 10_000
    assert client.get("/texts/else.js").status_code == 404
