"""The JSON schema that a model writes by, and how long its reply may get.

The server makes a grammar of the schema. llama.cpp's converter writes the required properties first and lets the model
leave out the others, so that a field with a default ("why") came after what it was to explain, or not at all: here all
are required, in the order in which the class declares them. What is read may still leave fields out.

A class says more than pydantic checks through `json_schema_extra`: minItems, maxItems, minLength, maxLength, minimum,
maximum, enum. Titles, descriptions and defaults are left out; a model is not shown the schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

STRING_CHARS = 160  # of a text whose class gives no limit
LIST_ENTRIES = 8  # of a list whose class gives no limit
CHARS_PER_TOKEN = 3.0  # low, so that a reply as long as its schema allows is not cut
HAN_CHARS_PER_TOKEN = 1.0
KEY_TOKENS, ENTRY_TOKENS = 5, 3  # quotes, colon, comma, line break and indent
NUMBER_TOKENS, LITERAL_TOKENS = 8, 2
MARGIN_TOKENS = 16
_KEPT = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """`shape`: as it is sent, without references. `tokens`: that a reply can have; `han_tokens`: of one in Chinese."""

    shape: Mapping[str, Any]
    tokens: int
    han_tokens: int


@lru_cache(maxsize=512)
def reply_schema(schema: type[BaseModel]) -> ReplySchema:
    whole = schema.model_json_schema()
    shape = _strict(whole, whole.get("$defs", {}))
    bounds = (
        math.ceil(_tokens(shape, chars_per_token)) + MARGIN_TOKENS
        for chars_per_token in (CHARS_PER_TOKEN, HAN_CHARS_PER_TOKEN)
    )
    return ReplySchema(shape, *bounds)


def _strict(part: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        named = defs[str(part["$ref"]).rpartition("/")[2]]
        return _strict({**named, **{key: value for key, value in part.items() if key != "$ref"}}, defs)
    if "allOf" in part and len(part["allOf"]) == 1:
        return _strict({**part["allOf"][0], **{key: value for key, value in part.items() if key != "allOf"}}, defs)
    for listed in ("const", "enum"):
        if listed in part:
            return {listed: part[listed]}
    if "anyOf" in part:
        return {"anyOf": [_strict(option, defs) for option in part["anyOf"]]}
    strict = {key: part[key] for key in _KEPT if key in part}
    kind = part.get("type")
    strict = {"type": kind, **strict} if kind else strict
    if kind == "string":
        strict.setdefault("maxLength", STRING_CHARS)
    elif kind == "array":
        strict.setdefault("maxItems", max(LIST_ENTRIES, strict.get("minItems", 0)))
        strict["items"] = _strict(part.get("items", {"type": "string"}), defs)
    elif kind == "object":
        properties = {name: _strict(value, defs) for name, value in part.get("properties", {}).items()}
        strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return strict


def _tokens(shape: Mapping[str, Any], chars_per_token: float) -> float:
    """At most, for a reply of this shape that is spread over lines."""
    if "anyOf" in shape:
        return max(_tokens(option, chars_per_token) for option in shape["anyOf"])
    if "enum" in shape or "const" in shape:
        written = [json.dumps(value, ensure_ascii=False) for value in shape.get("enum", [shape.get("const")])]
        return max((len(text) / _per_token(text, chars_per_token) for text in written), default=0) + LITERAL_TOKENS
    match shape.get("type"):
        case "object":
            properties: Mapping[str, Mapping[str, Any]] = shape["properties"]
            keys = sum(len(name) / CHARS_PER_TOKEN + KEY_TOKENS for name in properties)
            return LITERAL_TOKENS + keys + sum(_tokens(part, chars_per_token) for part in properties.values())
        case "array":
            each = _tokens(shape["items"], chars_per_token) + ENTRY_TOKENS
            return LITERAL_TOKENS + float(shape["maxItems"]) * each
        case "string":
            return LITERAL_TOKENS + shape["maxLength"] / chars_per_token
        case "integer" if "maximum" in shape and "minimum" in shape:
            return float(max(len(str(shape["minimum"])), len(str(shape["maximum"]))))
        case "boolean" | "null":
            return LITERAL_TOKENS
        case _:
            return NUMBER_TOKENS


def _per_token(text: str, chars_per_token: float) -> float:
    return CHARS_PER_TOKEN if text.isascii() else min(chars_per_token, HAN_CHARS_PER_TOKEN)
