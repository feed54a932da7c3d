"""The JSON schema that a model writes by.

The server makes a grammar of the schema. llama.cpp's converter writes the required properties first and lets the model
leave out the others, so that a field with a default ("why") came after what it was to explain, or not at all: here all
are required, in the order in which the class declares them. What is read may still leave fields out.

A class says more than pydantic checks through `json_schema_extra`: minItems, maxItems, minLength, maxLength, minimum,
maximum, enum. Titles, descriptions and defaults are left out; a model is not shown the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

STRING_CHARS = 160  # of a text whose class gives no limit
LIST_ENTRIES = 8  # of a list whose class gives no limit
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
