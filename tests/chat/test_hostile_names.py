"""Names and titles from outside: shown as they are read, or refused with a sentence; nothing in them is markup."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from chat.models import Session
from tests.chat.conftest import Api
from tests.factories import MessageFactory, SessionFactory

UNSEEN = "\u202e\u202c\u2066\u2069\x1b\x07"
TURNED = "\u202eevil\u202c\u2066x\u2069"
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[a](javascript:alert(1))",
    "data:text/html,<script>alert(1)</script>",
    TURNED,
    "a\x1b[31mb\x07c",
    "😀" * 90,
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("field", ["title", "folder"])
async def test_a_conversations_title_and_folder_are_kept_as_they_are_read(api: Api, name: str, field: str) -> None:
    session = await Session.objects.acreate(user=api.user, title="Before")
    response = await api.call("patch", f"/api/sessions/{session.pk}", {field: name})
    assert response.status_code == 200
    shown = response.json()[field]
    assert not set(shown) & set(UNSEEN)
    assert shown == "".join(c for c in name if c not in UNSEEN)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_that_shows_a_title_holds_no_markup_of_it(client: Client, user: Any, name: str) -> None:
    client.force_login(user)
    session = SessionFactory(user=user, title=name)
    MessageFactory(session=session, question=True, text=name)
    html = client.get(f"/chat/{session.pk}/").content.decode()
    assert "<script>alert" not in html and "<img src=x" not in html
    assert "javascript:alert" not in html.replace("[a](javascript:alert(1))", "")


UNSEEN_ALONE = ["\u200b\u200c\u200d", "\ufeff", "\u2060 \u00ad", "\u202e"]


@pytest.mark.parametrize("name", UNSEEN_ALONE)
async def test_a_title_of_which_nothing_is_seen_is_refused_with_a_sentence(api: Api, name: str) -> None:
    session = await Session.objects.acreate(user=api.user, title="Before")
    response = await api.call("patch", f"/api/sessions/{session.pk}", {"title": name})
    assert response.status_code == 400 and response.json()["error"]["fields"]["title"]


@pytest.mark.parametrize("question", UNSEEN_ALONE)
async def test_a_question_of_which_nothing_is_seen_is_refused_with_a_sentence(api: Api, question: str) -> None:
    response = await api.call("post", "/api/chat", {"message": question})
    assert response.status_code == 400 and response.json()["error"]["fields"]["message"]
