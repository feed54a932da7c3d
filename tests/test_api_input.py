"""What every call refuses alike: JSON that is none, and fields that it does not know."""

from __future__ import annotations

import pytest
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
def test_a_change_of_a_document_with_bad_json_is_bad_input(client: APIClient, text: str | bytes) -> None:
    document = DocumentFactory(collection=CollectionFactory(owner=client.handler._force_user))
    response = client.patch(f"/api/documents/{document.pk}", text, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid"


def test_a_form_that_is_none_is_refused_in_one_sentence(client: APIClient) -> None:
    response = client.post("/api/documents", b"hello", content_type="multipart/form-data")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid" and response.json()["error"]["message"]
