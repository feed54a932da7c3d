"""The pages: who may see them, what they say, and the headers they come with."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.templatetags.static import static
from django.test import Client

from retrieval.models import Document
from tests.factories import CollectionFactory, DocumentFactory, SessionFactory, UserFactory

pytestmark = pytest.mark.django_db
TEMPLATES = Path(site.BASE_DIR) / "templates"


@pytest.fixture
def user(client: Client) -> Any:
    user = UserFactory()
    client.force_login(user)
    return user


def boot_of(page: Any) -> Any:
    found = re.search(
        r'<script id="boot" type="application/json">(.*?)</script>', page.content.decode(), re.S
    )
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/chat/{uuid.UUID(int=1)}/",
        "/documents/",
        f"/documents/{uuid.UUID(int=1)}/",
        "/memory/",
        "/self-corrective-rag",
        "/assistants/",
        "/assistants/new/",
    ],
)
def test_pages_ask_a_stranger_to_sign_in(client: Client, path: str) -> None:
    response = client.get(path)
    assert (
        response.status_code == 302
        and response.headers["Location"] == f"/accounts/login/?next={path}"
    )


def test_a_session_opens_under_its_own_address(client: Client, user: Any) -> None:
    session = SessionFactory(user=user, title="Loans </script><b>")
    page = client.get(f"/chat/{session.pk}/")
    opened = boot_of(page)["session"]
    assert (opened["id"], opened["title"], opened["folder"]) == (str(session.pk), session.title, "")
    assert "<b>" not in page.content.decode()


def test_another_users_session_answers_like_none(client: Client, user: Any) -> None:
    theirs, none = client.get(f"/chat/{SessionFactory().pk}/"), client.get(f"/chat/{uuid.uuid4()}/")
    assert theirs.status_code == none.status_code == 404
    assert "Nothing here" in theirs.content.decode()


def test_the_page_of_a_document_says_why_it_could_not_be_read(client: Client, user: Any) -> None:
    problem = "The file is damaged."
    document = DocumentFactory(collection__owner=user, status=Document.Status.FAILED, error=problem)
    assert f"<p>{problem}</p>" in client.get(f"/documents/{document.pk}/").content.decode()


def test_a_private_document_of_another_answers_like_none(client: Client, user: Any) -> None:
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    assert client.get(f"/documents/{DocumentFactory(collection=private).pk}/").status_code == 404
    assert client.get(f"/documents/{uuid.uuid4()}/").status_code == 404


@pytest.mark.parametrize(
    "path", ["/", "/documents/", "/accounts/login/", "/accounts/signup/", "/nowhere", "/admin/"]
)
def test_every_page_forbids_inline_and_foreign_scripts(
    client: Client, user: Any, path: str
) -> None:
    policy = client.get(path).headers["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'self'" and not rules.keys() & {
        "script-src",
        "style-src",
        "connect-src",
    }
    assert rules["object-src"] == rules["frame-ancestors"] == "'none'"


# E-mails bring their style along.
PAGES = [path for path in sorted(TEMPLATES.rglob("*.html")) if path.parent.name != "letters"]


@pytest.mark.parametrize("template", PAGES, ids=lambda path: path.name)
def test_templates_keep_to_the_policy(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)


def test_an_unknown_page_says_so_in_words(client: Client) -> None:
    page = client.get("/nowhere")
    assert page.status_code == 404 and "Nothing here" in page.content.decode()


def test_an_unknown_api_address_answers_in_json(client: Client) -> None:
    response = client.get("/api/nowhere")
    assert response.status_code == 404 and response.json()["error"]["code"] == "not_found"


def test_a_lost_csrf_token_is_explained() -> None:
    page = Client(enforce_csrf_checks=True).post(
        "/accounts/login/", {"username": "a", "password": "b"}
    )
    assert page.status_code == 403 and "out of date" in page.content.decode()


def test_the_status_call_names_the_models(client: Client, user: Any, online: Any) -> None:
    status = client.get("/api/status").json()
    assert status["online"] is True and status["chat_model"] and status["embed_model"]


def test_a_file_of_the_pages_bears_no_policies_but_its_type(client: Client) -> None:
    response = client.get(static("css/base.css"))
    assert response.status_code == 200
    assert response["X-Content-Type-Options"] == "nosniff"
    needless = {"Access-Control-Allow-Origin", "Cross-Origin-Opener-Policy", "Referrer-Policy"}
    assert not needless & set(response.headers)
