"""The OpenAPI schema: what holds for every call of it. That the site keeps to it: tests/api_conformance.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from drf_spectacular.checks import schema_check

from ragsite.schema_view import api_schema

ERROR = {"$ref": "#/components/schemas/Error"}
OPENAI_ERROR = {"$ref": "#/components/schemas/OpenAIError"}
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
    without = []
    for name, operation in operations():
        form = OPENAI_ERROR if " /v1/" in name else ERROR
        if operation["responses"][status]["content"] != {"application/json": {"schema": form}}:
            without.append(name)
    assert without == []


@pytest.mark.django_db(transaction=True)
def test_every_call_but_that_for_a_token_asks_who_calls(client: Client) -> None:
    unasked = []
    for name, _ in operations():
        method, path = name.split()
        address = re.sub(
            r"\{\w+\}", str(UUID(int=1)), re.sub(r"\{(marker|page|notification_id)\}", "1", path)
        )
        if getattr(client, method)(address).status_code != 401:
            unasked.append(name)
    assert unasked == ["post /api/auth/token"]


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
    for operation in (
        "post /api/chat",
        "get /api/messages/{message_id}/events",
        "get /api/rag/query-stream",
    ):
        events = referenced(content(operation)["text/event-stream"]["schema"])
        kinds = {
            schema["properties"]["type"].get("const")
            for schema in events.values()
            if "type" in schema.get("properties", {})
        }
        assert {"done", "error"} <= kinds


def test_the_schema_is_made_without_a_warning() -> None:
    """Two components of one name, of which the one would be told with the other's fields; choices named by a hash."""
    assert [warning.msg for warning in schema_check(None)] == []
