"""What every call refuses alike: JSON that is none, and fields that it does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from ragsite.core.api.fields import NAME_CHARS, NAMED, NumberField, StrictSerializer, TextField, WholeNumberField
from ragsite.core.api.json_parser import MOST_NAMES, InvalidJsonError, parse_json
from tests.factories import CollectionFactory, DocumentFactory, UserFactory

BAD_JSON = {
    "not JSON": '{"a": tru}',
    "nested too deeply": "[" * 100_000,
    "too large": '{"a": 1e400}',
    "not a JSON value": '{"a": NaN}',
    "Infinity is not": "[-Infinity]",
    "too long": "9" * 5000,
    "the same name twice": '{"a": {"b": 1, "b": 2}}',
    "too many names": json.dumps({"list": [{"a": number, "b": {}} for number in range(MOST_NAMES // 2)]}),
}


@pytest.mark.parametrize(("said", "text"), BAD_JSON.items(), ids=list(BAD_JSON))
def test_bad_json_is_refused_with_a_sentence(said: str, text: str) -> None:
    with pytest.raises(InvalidJsonError, match=said):
        parse_json(text)


def test_good_json_is_read() -> None:
    value = {"text": "a\x00\ud800", "whole": 10**30, "share": -0.5, "list": [None, True]}
    assert parse_json(json.dumps(value)) == value


@pytest.fixture
def client(db: None) -> APIClient:
    api = APIClient()
    api.force_authenticate(UserFactory(is_staff=True, is_superuser=True))
    return api


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=list(BAD_JSON))
def test_a_change_of_a_document_with_bad_json_is_bad_input(client: APIClient, text: str) -> None:
    document = DocumentFactory(collection=CollectionFactory(owner=client.handler._force_user))
    response = client.patch(f"/api/documents/{document.pk}", text, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid"


def test_a_body_over_the_limit_is_too_large_for_every_view(client: APIClient, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = client.post("/api/collections", {"name": "x" * 200}, format="json")
    assert response.status_code == 413


@pytest.mark.parametrize(
    ("call", "path", "format_"),
    [
        ("post", "/api/auth/token", "json"),
        ("post", "/api/collections", "json"),
        ("post", "/api/search", "json"),
        ("patch", "/api/memory/settings", "json"),
        ("post", "/api/documents", "multipart"),
        ("post", "/api/rag/upload", "multipart"),
    ],
)
def test_an_unknown_field_is_named(client: APIClient, call: str, path: str, format_: str) -> None:
    response = getattr(client, call)(path, {"colour": "red"}, format=format_)
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == ["colour"]


def test_of_many_unknown_fields_some_are_named_and_each_is_cut_short(client: APIClient) -> None:
    names = [f"{number:03d}" + "x" * 200 for number in range(500)]
    response = client.post("/api/auth/token", dict.fromkeys(names, 1), format="json")
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [name[:NAME_CHARS] for name in names[:NAMED]]


def test_of_many_unknown_parameters_some_are_named(client: APIClient) -> None:
    response = client.get("/api/review/answers?" + "&".join(f"x{number}" for number in range(500)))
    assert response.status_code == 400
    assert len(response.json()["error"]["fields"]) == NAMED


class Place(StrictSerializer):
    page = WholeNumberField()
    grade = WholeNumberField(default=1)


class Change(StrictSerializer):
    title = TextField()
    share = NumberField()
    places = Place(many=True)


@pytest.mark.parametrize(
    "value",
    [{"places": [{"grade": 2}]}, {"places": [{"page": 1, "line": 2}]}, {"share": 10**400}, {"share": "1"}],
)
def test_a_change_is_refused(value: dict[str, Any]) -> None:
    assert not Change(data=value, partial=True).is_valid()


def test_objects_inside_a_change_are_whole() -> None:
    change = Change(data={"places": [{"page": 7.0}]}, partial=True)
    change.is_valid(raise_exception=True)
    assert change.validated_data == {"places": [{"page": 7, "grade": 1}]}


def _form(name: str, *, boundary: str = "b") -> bytes:
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    return f"--{boundary}\r\n{disposition}\r\nContent-Type: text/plain\r\n\r\nhello\r\n--{boundary}--\r\n".encode()


@pytest.mark.parametrize("path", ["/api/documents", "/api/rag/upload", "/api/attachments"])
def test_a_file_name_of_thousands_of_characters_is_refused_in_the_readers_language(
    client: APIClient, path: str
) -> None:
    response = client.post(
        path,
        _form("😀" * 10_000 + ".txt"),
        content_type="multipart/form-data; boundary=b",
        headers={"accept-language": "zh-hant"},
    )
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "invalid"
    assert error["message"] == "檔案名稱太長，請改用較短的名稱。"
    assert error["fields"] == {"file": [error["message"]]}


def test_a_form_that_is_none_is_refused_in_one_sentence(client: APIClient) -> None:
    response = client.post("/api/documents", b"hello", content_type="multipart/form-data")
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("This form cannot be read")
