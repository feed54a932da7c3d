"""Names and titles from outside: shown as they are read, or refused with a sentence; nothing in them is markup."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from chat.models import Session
from tests.chat.conftest import Api
from tests.factories import MessageFactory, SessionFactory

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
