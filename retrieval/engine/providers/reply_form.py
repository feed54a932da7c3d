"""The form of a structured reply: a schema for the server's grammar, the same in words, and what is read of a reply.

The server makes a grammar of the schema. llama.cpp's converter writes the required properties first and lets the model
leave out the others, so that a field with a default ("why") came after what it was to explain, or not at all: here all
are required, in the order in which the class declares them. What is read may still leave fields out.

A class says more than pydantic checks by `limited`: minItems, maxItems, minLength, maxLength, minimum, maximum, enum;
what is read may lie outside. Titles, descriptions and defaults are left out; a model is not shown the schema, the
prompts explain the fields by name.

Many servers follow no schema: JSON is taken out of fences and prose, as it stands, and `showing_form` says the form in
the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError, create_model

from retrieval.engine.ports import Prompt, Schema

STRING_CHARS = 160  # of a text whose class gives no limit
LIST_ENTRIES = 8  # of a list whose class gives no limit
_Made = TypeVar("_Made", bound=BaseModel)
_KEYWORDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
BY_PROMPT = "Reply with nothing but one JSON value of this form:\n{form}"


@lru_cache(maxsize=512)
def reply_schema(schema: type[BaseModel]) -> Mapping[str, Any]:
    """Complete, in order and bounded; without references."""
    whole = schema.model_json_schema()
    return _strict(whole, whole.get("$defs", {}))


def _strict(part: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        part = {**defs[part["$ref"].rpartition("/")[2]], **part}
    for listed in ("const", "enum"):
        if listed in part:
            return {listed: part[listed]}
    if "anyOf" in part:
        return {"anyOf": [_strict(option, defs) for option in part["anyOf"]]}
    strict = {key: part[key] for key in ("type", *_KEYWORDS) if key in part}
    match strict.get("type"):
        case "string":
            strict.setdefault("maxLength", STRING_CHARS)
        case "array":
            strict.setdefault("maxItems", max(LIST_ENTRIES, strict.get("minItems", 0)))
            strict["items"] = _strict(part["items"], defs)
        case "object":
            properties = {name: _strict(value, defs) for name, value in part["properties"].items()}
            strict |= {
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
    return strict


def limited(**keywords: Any) -> Any:
    """Keywords of JSON schema for a field."""
    return Field(json_schema_extra=keywords)


def shaped(schema: type[_Made], **limits: Mapping[str, Any]) -> type[_Made]:
    """`schema` with other keywords of JSON schema on its fields, for the grammar of one call; made once and kept."""
    return cast("type[_Made]", _shaped(schema, json.dumps(limits)))


@lru_cache(maxsize=256)
def _shaped(schema: type[BaseModel], limits: str) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, keywords in json.loads(limits).items():
        info = copy(schema.model_fields[name])
        known = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        info.json_schema_extra = {**known, **keywords}
        fields[name] = (info.annotation, info)
    return create_model(schema.__name__, __base__=schema, **fields)


def exactly(schema: type[_Made], field: str, count: int) -> type[_Made]:
    """`schema` by whose grammar the list `field` has exactly `count` entries."""
    return shaped(schema, **{field: {"minItems": count, "maxItems": count}})


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_object(text: str, schema: type[Schema]) -> Schema:
    """The last JSON object in the text that is valid. Raises ValidationError, of the text where it holds no object."""
    failure: ValidationError | None = None
    for found in reversed(list(_objects(text))):
        try:
            return schema.model_validate(found)
        except ValidationError as error:
            failure = failure or error
    if failure:
        raise failure
    return schema.model_validate_json(text)


def _objects(text: str) -> Iterator[Any]:
    """The outermost JSON objects, in order."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
        else:
            yield found
            place = text.find("{", end)


def showing_form(prompt: Prompt, schema: type[BaseModel]) -> Prompt:
    """The prompt, with the form of the reply at the end of its fixed part."""
    form = form_of(reply_schema(schema))
    return replace(prompt, system=f"{prompt.system}\n\n{BY_PROMPT.format(form=form)}")


def form_of(part: Mapping[str, Any]) -> str:
    """As a person writes it down: {"numbers": [whole number, …], "verdict": "yes" or "no"}."""
    if "const" in part:
        return json.dumps(part["const"], ensure_ascii=False)
    if "enum" in part:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(form_of(option) for option in part["anyOf"])
    match part.get("type"):
        case "object":
            fields = (
                f"{json.dumps(name)}: {form_of(value)}"
                for name, value in part["properties"].items()
            )
            return "{" + ", ".join(fields) + "}"
        case "array":
            return f"[{form_of(part['items'])}, …]"
        case "string":
            return '"text"'
        case "boolean":
            return "true or false"
        case "integer" | "number" as kind:
            name = "whole number" if kind == "integer" else "number"
            return (
                f"{name} from {part['minimum']} to {part['maximum']}" if "maximum" in part else name
            )
    return "null"
