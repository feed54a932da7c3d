"""What the API declares is what it sends: every response of every test is held against the OpenAPI schema.

A key that the schema does not name, one that it requires and that is missing, and a value of another type all fail the
test that made the call. Events of an answer are checked alike where a test reads them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.schema_view import api_schema

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
UNDECLARED = (405, 406)  # of any call; they have the one error form
Schema = dict[str, Any]


def check_response(request: Request, response: Response) -> None:
    """Raises AssertionError where the body is not what the operation declares for its status."""
    data = getattr(response, "data", None)
    match = request.resolver_match
    if data is None or match is None or response.status_code in UNDECLARED:
        return
    path = "/" + PARAMETER.sub(r"{\1}", match.route)
    validator = _validator_of_body(str(request.method).lower(), path, str(response.status_code))
    if validator is not None:
        place = f"{request.method} {path} {response.status_code}"
        _check(validator, json.loads(JSONRenderer().render(data)), place)


def check_event(event: Schema) -> None:
    """Raises AssertionError where it is none of the events of an answer."""
    _check(_validator_of_event(str(event["type"])), event, f"event {event['type']}")


def _check(validator: Validator, sent: Any, place: str) -> None:
    errors = [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(sent)]
    assert not errors, f"{place} does not send what its schema declares: {errors[:5]}"


@cache
def _components() -> Schema:
    closed: Schema = _closed(api_schema()["components"])
    return closed


def _validator(schema: Schema) -> Validator:
    return Draft202012Validator({**schema, "components": _components()})


@cache
def _validator_of_body(method: str, path: str, status: str) -> Validator | None:
    """None: the operation is not part of the schema, or its body is no JSON."""
    operation = api_schema()["paths"].get(path, {}).get(method)
    if operation is None:
        return None
    assert status in operation["responses"], f"{method} {path} does not declare {status}"
    content = operation["responses"][status].get("content", {}).get("application/json")
    return _validator(_closed(content["schema"])) if content else None


@cache
def _validator_of_event(kind: str) -> Validator:
    name = f"AnswerEvent{kind.title().replace('_', '')}"
    return _validator({"$ref": f"#/components/schemas/{name}"})


def _closed(schema: Any) -> Any:
    """The same, where an object has the properties that are named and no others."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        closed.setdefault("additionalProperties", False)
    return closed
