"""API keys: made, used, bound, expiring, revoked; and that no call forgets to say which scope it needs."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient
from rest_framework.views import APIView

from ragsite.accounts.tokens import key_create, token_create
from ragsite.models import ApiToken
from retrieval.models import Collection
from tests.clients import api_of, browser, sure
from tests.factories import (
    PASSWORD,
    CollectionFactory,
    DocumentFactory,
    MessageFactory,
    SessionFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db
PRIVATE = Collection.Visibility.PRIVATE
NO_KEY_OPENS = {
    "KeysApi",
    "KeyApi",
    "MemoriesApi",
    "MemoryApi",
    "MemorySettingsApi",
    "ModelServerApi",
    "ModelServerTestApi",
    "ModelPullsApi",
    "NotificationsApi",
    "NotificationApi",
    "NotificationsReadApi",
    "NotificationSettingsApi",
    "EmbeddingApi",
    "SamplesApi",
}
NO_SIGN_IN = {"TokenApi", "SchemaView", "SpectacularSwaggerSplitView"}


@pytest.fixture
def user() -> Any:
    return UserFactory()


def program(user: Any, *scopes: str, **values: Any) -> APIClient:
    _, key = key_create(user=user, name="script", scopes=scopes, **values)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def test_a_key_is_told_once_and_then_only_how_it_begins(user: Any) -> None:
    CollectionFactory(name="policies", owner=user, visibility=PRIVATE)
    api = sure(user)
    body = {"name": "bot", "scopes": ["ask", "read"], "collections": ["policies"]}
    made = api.post("/api/keys", body, content_type="application/json")
    assert made.status_code == 201 and made.json()["collections"] == [f"{user.username}/policies"]
    key = made.json()["key"]
    listed = api.get("/api/keys").json()["results"]
    assert [row["scopes"] for row in listed] == [["read", "ask"]] and key.startswith(
        listed[0]["prefix"]
    )
    assert (
        key not in str(listed) and not ApiToken.objects.filter(key_hash__contains=key[4:]).exists()
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"collections": ["nowhere"]}, "collections"),
        ({"scopes": ["review"], "collections": ["mine"]}, "collections"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(
    user: Any, change: dict[str, Any], field: str
) -> None:
    CollectionFactory(name="mine", owner=user)
    body = {"name": "bot", "scopes": ["read"], **change}
    answer = sure(user).post("/api/keys", body, content_type="application/json")
    assert answer.status_code in (400, 404) and field in answer.json()["error"]["fields"]


@pytest.mark.parametrize(
    ("scope", "call", "path"),
    [
        ("read", "get", "/api/documents"), ("read", "get", "/api/filters"), ("write", "post", "/api/collections"),
        ("write", "post", "/api/rag/upload"), ("ask", "get", "/api/sessions"), ("ask", "post", "/api/chat"),
        ("review", "get", "/api/review/answers"),
    ],
)  # fmt: skip
def test_a_key_opens_what_its_scope_says_and_no_more(
    user: Any, scope: str, call: str, path: str
) -> None:
    others = [other for other in ApiToken.Scope.values if other != scope]
    refused = getattr(program(user, *others), call)(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")
    assert scope in refused.json()["error"]["message"]
    let_in = getattr(program(user, scope), call)(path)
    assert let_in.status_code in (200, 400, 404)  # 404: the desk, to who has no role


@pytest.mark.parametrize(
    ("call", "path"), [("get", "/api/keys"), ("post", "/api/keys"), ("get", "/api/memory")]
)
def test_no_key_opens_what_is_the_persons_alone(user: Any, call: str, path: str) -> None:
    answer = getattr(program(user, *ApiToken.Scope.values), call)(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")


def test_the_token_of_a_sign_in_makes_no_key(user: Any) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token_create(user=user)}")
    answer = client.post("/api/keys", {"name": "bot", "scopes": ["read"]}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    assert client.get("/api/keys").json()["results"] == []


def test_a_session_makes_a_key_once_the_password_was_given_again(user: Any) -> None:
    client = browser(user)
    body = {"name": "bot", "scopes": ["read"]}
    later = time.time() + 3600
    with mock.patch("time.time", return_value=later):
        refused = client.post("/api/keys", body, content_type="application/json")
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        made = client.post("/api/keys", body, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (
        403,
        "reauthentication_required",
    )
    assert made.status_code == 201 and ApiToken.objects.get().name == "bot"


def test_every_call_says_what_a_key_needs() -> None:
    def views(patterns: Any) -> Any:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from views(pattern.url_patterns)
            elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "view_class"):
                yield pattern.callback.view_class

    calls = {view for view in views(get_resolver().url_patterns) if issubclass(view, APIView)}
    silent = {view.__name__ for view in calls if not getattr(view, "scope", "")}
    assert silent == NO_KEY_OPENS | NO_SIGN_IN


# ------------------------------------------------------------------------------------------------ bound to collections
@pytest.mark.django_db(transaction=True)  # a question is stored on a connection of its own
def test_a_bound_key_sees_its_collections_alone(user: Any) -> None:
    seen, hidden = (
        CollectionFactory(name=name, owner=user, visibility=PRIVATE) for name in ("seen", "hidden")
    )
    mine, other = DocumentFactory(collection=seen), DocumentFactory(collection=hidden)
    bound = program(user, "read", "write", "ask", collection_ids=[str(seen.pk)])
    assert [row["id"] for row in bound.get("/api/documents").json()["results"]] == [str(mine.pk)]
    assert [row["name"] for row in bound.get("/api/collections").json()["results"]] == ["seen"]
    calls = [
        bound.get(f"/api/documents/{other.pk}"),
        bound.delete(f"/api/documents/{other.pk}"),
        bound.post("/api/search", {"query": "books", "collections": ["hidden"]}, format="json"),
        bound.post("/api/chat", {"message": "books", "collections": ["hidden"]}, format="json"),
        bound.post("/api/chat", {"message": "books", "documents": [str(other.pk)]}, format="json"),
    ]
    assert [answer.status_code for answer in calls] == [404] * 5


def test_a_bound_key_neither_makes_collections_nor_writes_to_others(user: Any) -> None:
    seen = CollectionFactory(name="seen", owner=user)
    bound = program(user, "write", "ask", collection_ids=[str(seen.pk)])
    CollectionFactory(name="uploads", owner=user)
    file = {"file": __file__}
    for path, form in (
        ("/api/documents", {"collection": "new"}),
        ("/api/rag/upload", {}),
        ("/api/attachments", {}),
    ):
        with open(file["file"], "rb") as content:
            assert (
                bound.post(path, {"file": content, **form}, format="multipart").status_code == 403
            )
    assert bound.post("/api/collections", {"name": "new"}, format="json").status_code == 403
    assert set(Collection.objects.values_list("name", flat=True)) == {"seen", "uploads"}


def test_a_bound_key_whose_collection_is_gone_sees_nothing(user: Any) -> None:
    gone, other = CollectionFactory(owner=user), CollectionFactory(owner=user)
    DocumentFactory(collection=other)
    bound = program(user, "read", collection_ids=[str(gone.pk)])
    gone.delete()
    assert bound.get("/api/documents").json()["count"] == 0


def test_a_bound_key_reads_no_conversation_that_it_did_not_begin(user: Any) -> None:
    answer = MessageFactory(session=SessionFactory(user=user))
    bound = program(user, "ask", collection_ids=[str(CollectionFactory(owner=user).pk)])
    assert bound.get("/api/sessions").json()["count"] == 0
    assert bound.get(f"/api/messages/{answer.pk}").status_code == 404
    assert (
        bound.put(f"/api/messages/{answer.pk}/rating", {"thumb": "up"}, format="json").status_code
        == 404
    )
    assert program(user, "ask").get(f"/api/messages/{answer.pk}").status_code == 200


# ------------------------------------------------------------------------------------------------ the end of a key
def test_an_expired_key_opens_nothing(user: Any) -> None:
    client = program(user, "read", expires_at=timezone.now() + timedelta(minutes=1))
    assert client.get("/api/documents").status_code == 200
    ApiToken.objects.update(expires_at=timezone.now())
    assert client.get("/api/documents").status_code == 401


def test_sign_out_everywhere_leaves_keys_alone_and_a_button_revokes_them(
    user: Any, client: Client
) -> None:
    key = program(user, "read")
    client.force_login(user)
    client.post("/accounts/sign-out-everywhere/")
    assert key.get("/api/documents").status_code == 200
    client.force_login(user)
    page = client.get("/accounts/").content.decode()
    assert "API keys stay" in page and "Revoke all API keys" in page
    client.post("/accounts/keys/revoke-all/")
    assert key.get("/api/documents").status_code == 401


def test_a_closed_account_has_no_keys(user: Any) -> None:
    program(user, "read")
    user.is_active = False
    user.save()
    assert not ApiToken.objects.exists()


def test_another_users_key_is_not_found(user: Any) -> None:
    program(UserFactory(), "read")
    api = api_of(user)
    assert api.delete(f"/api/keys/{ApiToken.objects.get().pk}").status_code == 404
    assert ApiToken.objects.exists()


def test_the_use_is_noted_once_a_minute(user: Any) -> None:
    client = program(user, "read")
    for age, is_noted in (
        (None, True),
        (timedelta(seconds=30), False),
        (timedelta(seconds=61), True),
    ):
        before = timezone.now() - age if age else None
        ApiToken.objects.update(last_used_at=before)
        client.get("/api/documents")
        assert (ApiToken.objects.get().last_used_at != before) is is_noted


# ------------------------------------------------------------------------------------------------ the page


def test_the_page_makes_a_key_that_works_and_shows_it_once(user: Any) -> None:
    client = sure(user)
    collection = CollectionFactory(owner=user, name="policies")
    form = {"name": "bot", "scopes": ["read"], "collections": [str(collection.pk)], "lasts": "30"}
    page = client.post("/accounts/keys/new/", form).content.decode()
    key = page.partition('<code id="api-key">')[2].partition("<")[0]
    asked = Client().get("/api/collections", headers={"Authorization": f"Bearer {key}"})
    assert [row["name"] for row in asked.json()["results"]] == ["policies"]
    listed = client.get("/accounts/").content.decode()
    assert key not in listed and "only 1 collection" in listed


def test_the_page_offers_no_collection_that_is_not_seen(user: Any) -> None:
    foreign = CollectionFactory(name="theirs", owner=UserFactory(), visibility=PRIVATE)
    client = sure(user)
    page = client.get("/accounts/keys/new/").content.decode()
    assert "Only these collections" in page and "theirs" not in page
    client.post(
        "/accounts/keys/new/", {"name": "bot", "scopes": ["read"], "collections": [str(foreign.pk)]}
    )
    assert not ApiToken.objects.exists()
