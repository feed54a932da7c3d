"""Conversations that others may read: what they see, who sees it, and how that ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone

from chat.models import Share
from retrieval.models import Collection
from tests.chat.conftest import Api, ScriptedWorkflow
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    MessageFactory,
    SessionFactory,
    SourceFactory,
    answered,
)

PRIVATE, PUBLIC, WEB = "Exam drafts", "Loan rules", "City library"


@pytest.fixture
def links(settings: Any) -> None:
    settings.SHARE_LINKS = True


@pytest.fixture
async def session_id(api: Api) -> str:
    """A conversation that cites a private document, a public one and a web page."""

    def make() -> str:
        text = "Ten books [1]. Secret [2]. Online [3].<script>x</script>"
        answer = answered(
            "Who borrows <b>what</b>?", session=SessionFactory(user=api.user), text=text
        )
        drafts = CollectionFactory(owner=api.user, visibility="private")
        for marker, title, collection in ((1, PUBLIC, CollectionFactory()), (2, PRIVATE, drafts)):
            document: Any = DocumentFactory(title=title, collection=collection)
            SourceFactory(
                message=answer,
                marker=marker,
                document_id=document.pk,
                title=title,
                text=f"text of {title}",
                cited=True,
            )
        SourceFactory(
            message=answer,
            marker=3,
            kind="web",
            document_id=None,
            title=WEB,
            url="https://example.org/",
            cited=True,
        )
        return str(answer.session_id)

    return await sync_to_async(make)()


async def share(api: Api, session_id: str, scope: str = "site", **fields: Any) -> Any:
    return await api.call("post", f"/api/sessions/{session_id}/share", {"scope": scope, **fields})


async def read(url: str, reader: User | None = None) -> Any:
    client = AsyncClient()
    if reader:
        await client.aforce_login(reader)
    return await client.get(url.removeprefix("http://testserver"))


def seen(response: Any) -> list[str]:
    page = response.content.decode()
    return [title for title in (PRIVATE, PUBLIC, WEB) if title in page]


async def test_people_of_the_site_read_it_with_the_sources_that_they_may_read(
    api: Api, session_id: str, stranger: User
) -> None:
    url = (await share(api, session_id)).json()["url"]
    page = await read(url, stranger)
    assert page.status_code == 200
    assert seen(page) == [PUBLIC, WEB]
    assert "text of Exam drafts" not in page.content.decode()
    assert "A document that you may not read" in page.content.decode()
    assert "Who borrows &lt;b&gt;what&lt;/b&gt;?" in page.content.decode()
    assert "<script>x" not in page.content.decode()
    assert seen(await read(url, api.user)) == [PRIVATE, PUBLIC, WEB]


async def test_who_is_not_signed_in_is_asked_to(api: Api, session_id: str) -> None:
    page = await read((await share(api, session_id)).json()["url"])
    assert (page.status_code, "/accounts/login/" in page["Location"]) == (302, True)


async def test_a_link_is_read_without_an_account_and_found_by_nobody(
    api: Api, session_id: str, links: None
) -> None:
    url = (await share(api, session_id, "link")).json()["url"]
    page = await read(url)
    assert seen(page) == [PUBLIC, WEB]
    assert page["X-Robots-Tag"].startswith("noindex")
    assert (page["Referrer-Policy"], page["Cache-Control"]) == ("no-referrer", "private, no-store")
    assert 'content="noindex' in page.content.decode()


async def test_public_documents_that_the_site_has_not_approved_are_no_strangers(
    api: Api, session_id: str, links: None
) -> None:
    await Collection.objects.filter(visibility="public").aupdate(owner=api.user, approved=False)
    assert seen(await read((await share(api, session_id, "link")).json()["url"])) == [WEB]


async def test_links_are_off_unless_an_administrator_allows_them(
    api: Api, session_id: str, settings: Any
) -> None:
    refused = await share(api, session_id, "link")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "share_links_off")
    settings.SHARE_LINKS = True
    url = (await share(api, session_id, "link")).json()["url"]
    settings.SHARE_LINKS = False
    assert (await read(url)).status_code == 404
    assert (await api.call("get", f"/api/sessions/{session_id}/share")).json() == {
        "shares": [],
        "links_allowed": False,
    }


async def test_a_link_without_its_secret_opens_nothing(
    api: Api, session_id: str, links: None, stranger: User
) -> None:
    url = (await share(api, session_id, "link")).json()["url"]
    bare, _, secret = url.rstrip("/").rpartition("/")
    assert len(secret) >= 40
    for wrong in (
        f"{bare}/",
        f"{bare}/{'0' * len(secret)}/",
        f"{bare}/{secret[:-1]}/",
        f"{bare}/{secret}x/",
        f"{bare}/é/",
    ):
        assert (await read(wrong, stranger)).status_code == 404


async def test_revoked_and_expired_shares_are_gone(
    api: Api, session_id: str, links: None, stranger: User
) -> None:
    site, link = [(await share(api, session_id, scope)).json()["url"] for scope in ("site", "link")]
    gone = await api.call("delete", f"/api/sessions/{session_id}/share", {"scope": "link"})
    assert gone.status_code == 204
    assert (await read(link)).status_code == 404
    assert (await read(site, stranger)).status_code == 200
    await Share.objects.aupdate(expires_at=timezone.now() - timedelta(seconds=1))
    assert (await read(site, stranger)).status_code == 404
    assert (await api.call("delete", f"/api/sessions/{session_id}/share")).status_code == 204


async def test_what_a_closed_account_shares_is_gone(
    api: Api, session_id: str, links: None, stranger: User
) -> None:
    site, link = [(await share(api, session_id, scope)).json()["url"] for scope in ("site", "link")]
    await User.objects.filter(pk=api.user.pk).aupdate(is_active=False)
    assert (await read(link)).status_code == 404
    assert (await read(site, stranger)).status_code == 404


async def test_it_shows_the_conversation_as_it_was(
    api: Api, workflow: ScriptedWorkflow, stranger: User
) -> None:
    asked = (await api.ask("First question")).json()
    url = (await share(api, asked["session_id"])).json()["url"]
    await api.ask("A later question", session_id=asked["session_id"])
    await api.call("post", f"/api/messages/{asked['reply_to']}/edit", {"message": "Other words"})
    page = (await read(url, stranger)).content.decode()
    assert "First question" in page
    assert "A later question" not in page
    assert "Other words" not in page


@pytest.mark.parametrize(
    "fields",
    [{"scope": "world"}, {"scope": None}, {"expires_at": "yesterday"}, {"expires_at": "2020-01-01T00:00:00Z"},
     {"expires_at": 5}, {"until": "x"}],
)  # fmt: skip
async def test_bad_input_is_refused(api: Api, session_id: str, fields: dict[str, Any]) -> None:
    assert (
        await api.call("post", f"/api/sessions/{session_id}/share", {"scope": "site", **fields})
    ).status_code == 400


async def test_an_empty_conversation_and_somebody_elses_are_not_shared(
    api: Api, other_api: Api, session_id: str, workflow: ScriptedWorkflow
) -> None:
    for method, body in (("post", {"scope": "site"}), ("delete", {}), ("get", None)):
        assert (
            await other_api.call(method, f"/api/sessions/{session_id}/share", body)
        ).status_code == 404
    empty: Any = await sync_to_async(MessageFactory)(
        session__user=api.user, question=True, status="streaming"
    )
    assert (await share(api, str(empty.session_id))).status_code == 409
