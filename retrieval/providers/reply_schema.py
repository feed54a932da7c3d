"""The JSON schema that a model writes by.

The server makes a grammar of the schema. llama.cpp's converter writes the required properties first and lets the model
leave out the others, so that a field with a default ("why") came after what it was to explain, or not at all: here all
are required, in the order in which the class declares them. What is read may still leave fields out.

A class says more than pydantic checks by `limited`: minItems, maxItems, minLength, maxLength, minimum, maximum, enum;
what is read may lie outside. Titles, descriptions and defaults are left out; a model is not shown the schema, the
prompts explain the fields by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, Field, create_model

STRING_CHARS = 160  # of a text whose class gives no limit
LIST_ENTRIES = 8  # of a list whose class gives no limit
_Made = TypeVar("_Made", bound=BaseModel)
_KEPT = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


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
    strict = {key: part[key] for key in ("type", *_KEPT) if key in part}
    match strict.get("type"):
        case "string":
            strict.setdefault("maxLength", STRING_CHARS)
        case "array":
            strict.setdefault("maxItems", max(LIST_ENTRIES, strict.get("minItems", 0)))
            strict["items"] = _strict(part["items"], defs)
        case "object":
            properties = {name: _strict(value, defs) for name, value in part["properties"].items()}
            strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
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
