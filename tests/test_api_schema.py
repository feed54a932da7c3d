"""The OpenAPI schema: what holds for every call of it. That the site keeps to it: tests/api_conformance.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.checks import schema_check

from ragsite.schema_view import api_schema

ERROR = {"$ref": "#/components/schemas/Error"}
METHODS = ("get", "post", "put", "patch", "delete")


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in api_schema()["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method} {path}", item[method]


def referenced(schema: dict[str, Any]) -> dict[str, Any]:
    """What the schema names, by its name, and what that names in turn."""
    found: dict[str, Any] = {}
    waiting: list[Any] = [schema]
    while waiting:
        match waiting.pop():
            case {"$ref": str(name)} if name not in found:
                found[name] = api_schema()["components"]["schemas"][name.rpartition("/")[2]]
                waiting.append(found[name])
            case dict() as value:
                waiting.extend(value.values())
            case list() as value:
                waiting.extend(value)
    return found


def content(operation: str, status: str = "200") -> dict[str, Any]:
    answer: dict[str, Any] = dict(operations())[operation]["responses"][status]["content"]
    return answer


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "503"])
def test_every_call_documents_its_errors(status: str) -> None:
    without = [
        name
        for name, operation in operations()
        if operation["responses"][status]["content"] != {"application/json": {"schema": ERROR}}
    ]
    assert without == []


def test_no_body_takes_unknown_fields() -> None:
    loose = {
        f"{name}: {component}"
        for name, operation in operations()
        for media in operation.get("requestBody", {}).get("content", {}).values()
        for component, schema in referenced(media["schema"]).items()
        if schema["type"] == "object" and schema.get("additionalProperties") is not False
    }
    assert loose == set()


def test_event_streams_tell_their_events() -> None:
    for operation in ("post /api/chat", "get /api/messages/{message_id}/events", "get /api/rag/query-stream"):
        events = referenced(content(operation)["text/event-stream"]["schema"])
        kinds = {
            schema["properties"]["type"].get("const")
            for schema in events.values()
            if "type" in schema.get("properties", {})
        }
        assert {"done", "error"} <= kinds


def test_files_have_their_own_media_types() -> None:
    assert "application/pdf" in content("get /api/documents/{document_id}/file")
    assert set(content("get /api/sessions/{session_id}/export")) == {"text/markdown", "application/json"}


def test_usage_has_a_shape() -> None:
    usage = referenced(content("post /api/chat")["application/json"]["schema"])["#/components/schemas/Usage"]
    assert {"llm_calls", "prompt_tokens", "total_ms"} <= set(usage["properties"])


def test_the_schema_is_built_once(client: Client) -> None:
    first, second = (client.get("/api/schema", headers={"Accept": "application/vnd.oai.openapi+json"}) for _ in "12")
    assert first.json()["paths"].keys() == api_schema()["paths"].keys()
    assert second.content == first.content
    assert api_schema.cache_info().misses == 1


def test_a_blank_text_fits_its_schema() -> None:
    comment = api_schema()["components"]["schemas"]["RatingInputRequest"]["properties"]["comment"]
    assert "oneOf" not in comment and {"type": "string", "maxLength": 0} in comment["anyOf"]


def test_the_schema_is_made_without_a_warning() -> None:
    """Two components of one name, of which the one would be told with the other's fields; choices named by a hash."""
    assert [warning.msg for warning in schema_check(None)] == []
