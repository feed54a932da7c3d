"""What every call refuses alike: JSON that is none, and fields that it does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver
from rest_framework.test import APIClient

from tests.clients import api_of
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

BAD_JSON = {
    "not JSON": '{"a": tru}',
    "nested too deeply": "[" * 100_000,
    "too large": '{"a": 1e400}',
    "not a JSON value": '{"a": NaN}',
    "Infinity is not": "[-Infinity]",
    "too long": "9" * 5000,
    "not UTF-8": b"\xff",
    "half a surrogate pair": '{"title": "\\ud800"}',
}


@pytest.fixture
def client(db: None) -> APIClient:
    return api_of(UserFactory(is_staff=True, is_superuser=True))


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=list(BAD_JSON))
def test_a_change_of_a_document_with_bad_json_is_bad_input(
    client: APIClient, text: str | bytes
) -> None:
    document = DocumentFactory(collection=CollectionFactory(owner=client.handler._force_user))
    response = client.patch(f"/api/documents/{document.pk}", text, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid"


def test_a_form_that_is_none_is_refused_in_one_sentence(client: APIClient) -> None:
    response = client.post("/api/documents", b"hello", content_type="multipart/form-data")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid" and response.json()["error"]["message"]


def _message(response: Any, status: int) -> str:
    assert response.status_code == status
    return response.json()["error"]["message"]


def test_a_call_without_credentials_is_told_to_send_them(db: None) -> None:
    assert _message(APIClient().get("/api/sessions"), 401) == "Sign in, or send a token."


def test_a_body_of_another_type_is_told_which_to_send(client: APIClient) -> None:
    response = client.post(
        "/api/chat", "message=hello", content_type="application/x-www-form-urlencoded"
    )
    assert "application/json" in _message(response, 415)


def test_another_method_is_told_which_there_are(client: APIClient) -> None:
    assert "POST" in _message(client.put("/api/chat"), 405)


def _paths(patterns: Any, before: str = "/") -> Iterator[str]:
    """An address of each pattern, of things that are not there."""
    for pattern in patterns:
        path = before + str(pattern.pattern).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, path)
        else:
            path = re.sub(r"<uuid:\w+>", str(uuid4()), path)
            path = re.sub(r"\(\?P<\w+>[^)]*\)|<\w+:\w+>|<\w+>", "1", path)
            yield path.removesuffix("$").removesuffix("\\Z")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_no_method_of_any_address_is_a_bug_to_a_stranger(db: None, method: str) -> None:
    stranger = Client(raise_request_exception=False)
    statuses = {
        path: stranger.generic(method, path).status_code
        for path in _paths(get_resolver().url_patterns)
    }
    assert len(statuses) > 150
    assert {path: status for path, status in statuses.items() if status == 500} == {}


def test_a_field_where_none_is_expected_is_to_be_left_out(client: APIClient) -> None:
    response = client.post(f"/api/messages/{uuid4()}/stop", {"colour": "red"}, format="json")
    assert response.json()["error"]["fields"]["colour"] == [
        "No fields are expected here; leave out “colour”."
    ]
