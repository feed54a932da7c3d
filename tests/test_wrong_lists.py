"""Lists that are too long, or of wrong values, at every door: a short answer, before much of them is looked at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.fields import Field

from feedback.models import CurationImport, GapRequest, KnowledgeGap
from ragsite.core.api.error_responses import sentences
from ragsite.core.api.json_parser import MOST_MARKS, InvalidJsonError, parse_json
from ragsite.core.errors import MOST_ERRORS
from ragsite.models import Notification
from ragsite.schema_view import api_schema
from retrieval.models import SyncSource
from tests.chat.conftest import Socket
from tests.clients import sure
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    MessageFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
)
from tests.test_api_schema import operations

pytestmark = pytest.mark.django_db(transaction=True)
ANSWER_BYTES = 64 << 10
LOOKS = 6000  # of fields at a value: as long a list as there is, of objects with a field each, and then some
LONG = "\u0001" * 10_000
WRONG = {
    "numbers": 1,
    "blanks": "",
    "nothing": None,
    "lists": [],
    "objects": {},
    "long texts": LONG,
}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = api_schema()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def fields_of(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Those of an object by name, whatever it is wrapped in."""
    schema = resolved(schema)
    found = {name: resolved(part) for name, part in schema.get("properties", {}).items()}
    for variant in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found |= fields_of(variant)
    return found


def places(
    schema: dict[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The paths of the fields in a body, and in the objects in it."""
    for name, part in fields_of(schema).items():
        yield (*above, name), part
        yield from places(part, (*above, name))


def is_list(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" or "array" in (schema.get("type") or ())


def bodies(media_type: str = "application/json") -> dict[str, dict[str, Any]]:
    """The schema of what each operation takes."""
    found = {}
    for name, operation in operations():
        content = operation.get("requestBody", {}).get("content", {})
        if media_type in content:
            found[name] = content[media_type]["schema"]
    return found


def example(schema: dict[str, Any], place: tuple[str, ...], value: Any) -> Any:
    """A body with `value` at this place; what else is required is there."""
    if not place:
        return value
    fields = fields_of(schema)
    body: dict[str, Any] = {}
    for name in resolved(schema).get("required", ()):
        body[name] = [] if is_list(fields[name]) else fields[name].get("enum", ["hello"])[0]
    body[place[0]] = example(fields[place[0]], place[1:], value)
    return body


def wrong_lists(field: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Of each kind as long a one as is read, and one as long as the field allows."""
    for kind, value in WRONG.items():
        yield kind, [value] * (MOST_MARKS // 4 if value != LONG else 50)
        if is_list(field):
            yield kind, [value] * field["maxItems"]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """[0]: how many values the fields of REST framework have looked at."""
    count = [0]
    look = Field.validate_empty_values

    def counted(self: Any, data: Any) -> Any:
        count[0] += 1
        return look(self, data)

    monkeypatch.setattr(Field, "validate_empty_values", counted)
    return count


@pytest.fixture
def person() -> User:
    user: User = UserFactory(is_staff=True, is_superuser=True)
    return user


@pytest.fixture
def things(person: User) -> dict[str, str]:
    """What the addresses name, by the parameters' names."""
    session = SessionFactory(user=person)
    question = MessageFactory(session=session, question=True)
    answer = MessageFactory(session=session, reply_to=question)
    source = SourceFactory(message=answer)
    collection = CollectionFactory(name="mine", owner=person)
    kept = SyncSource.objects.create(
        owner=person,
        collection=collection,
        name="pages",
        kind=SyncSource.Kind.WEB,
        address="https://example.org/",
    )
    told = Notification.objects.create(
        user=person, kind=Notification.Kind.SHARE, subject=str(collection.pk)
    )
    sent = GapRequest.objects.create(
        gap=KnowledgeGap.objects.create(),
        question="books",
        sent_to=GapRequest.To.COLLECTION,
        collection=collection,
    )
    return {
        "request_id": str(sent.pk),
        "session_id": str(session.pk),
        "message_id": str(answer.pk),
        "marker": str(source.marker),
        "document_id": str(DocumentFactory(collection=collection).pk),
        "name": "mine",
        "source_id": str(kept.pk),
        "notification_id": str(told.pk),
        "import_id": str(CurationImport.objects.create(by=person, kind="golden").pk),
    }


@pytest.mark.parametrize("operation", [name for name, _ in operations()])
def test_every_list_that_a_call_takes_has_a_length(operation: str) -> None:
    described = dict(operations())[operation]
    inputs = [
        content["schema"]
        for content in described.get("requestBody", {}).get("content", {}).values()
    ]
    lists = [part for schema in inputs for _, part in places(schema) if is_list(part)]
    assert all(part["maxItems"] for part in lists)
    assert not any(is_list(parameter["schema"]) for parameter in described.get("parameters", ()))


@pytest.mark.parametrize("operation", list(bodies()))
def test_a_wrong_list_is_refused_in_a_short_answer(
    operation: str, person: User, things: dict[str, str], looks: list[int]
) -> None:
    method, path = operation.split(" ")
    client, schema = sure(person), bodies()[operation]
    for place, field in [((), {}), *places(schema)]:
        for kind, value in wrong_lists(field):
            looks[0] = 0
            body = json.dumps(example(schema, place, value))
            answer = getattr(client, method)(
                path.format(**things), body, content_type="application/json"
            )
            assert 400 <= answer.status_code < 500, (place, kind, len(value), answer.content[:500])
            assert len(answer.content) <= ANSWER_BYTES, (place, kind)
            assert looks[0] <= LOOKS, (place, kind, looks)
            assert len(list(sentences(answer.json()["error"]["fields"]))) <= MOST_ERRORS, (
                place,
                kind,
            )


@pytest.mark.parametrize(
    "body",
    [{"message": "hello", "workflow": "中" * 800_000}, {"message": "hello", "中" * 800_000: 1}],
)
def test_what_is_wrong_is_quoted_as_far_as_anybody_reads(
    person: User, body: dict[str, Any]
) -> None:
    answer = sure(person).post("/api/chat", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400 and len(answer.content) < 5_000


def test_an_answer_with_as_many_errors_as_are_told_says_so(person: User) -> None:
    body = {"message": "hello", "collections": [1] * 50}
    error = (
        sure(person)
        .post("/api/chat", json.dumps(body), content_type="application/json")
        .json()["error"]
    )
    assert len(error["fields"]["collections"]) == MOST_ERRORS
    assert "Only the first 20 errors are listed." in error["message"]


def test_a_form_of_too_many_fields_is_too_large(person: User) -> None:
    answer = sure(person).post("/api/documents", {"tags": ["a"] * 2000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("value", WRONG.values(), ids=list(WRONG))
async def test_a_socket_refuses_wrong_lists_alike(
    person: User, looks: list[int], value: Any
) -> None:
    socket = await (await asyncio.to_thread(Socket, person)).open()
    for count in (50, 7_500):
        looks[0] = 0
        await socket.send(
            "ask", message="hello", collections=[value if value != LONG else "x" * 300] * count
        )
        event = await socket.receive()
        assert (
            event["type"] == "error"
            and looks[0] <= LOOKS
            and len(json.dumps(event)) <= ANSWER_BYTES
        )
        assert len(list(sentences(event["fields"]))) <= MOST_ERRORS
    await socket.close()


# ------------------------------------------------------------------------------------------------ values of a body
@pytest.mark.parametrize("text", ["[{}]", '{{"a": [{}]}}', '[{}, "b"'])
@pytest.mark.parametrize("value", ["1", '""', '"a,b"', "[]", '{"a": 1}', "null"])
def test_json_of_too_many_values_is_refused(text: str, value: str) -> None:
    with pytest.raises(InvalidJsonError, match="too many values"):
        parse_json(text.format(",".join([value] * (MOST_MARKS + 2))))


@pytest.mark.parametrize("content", [",:[{" * MOST_MARKS, '\\",' * MOST_MARKS, "\\\\", '\\\\\\",'])
def test_what_stands_in_a_text_is_no_value(content: str) -> None:
    assert parse_json(f'["{content}"]') == [json.loads(f'"{content}"')]
