"""The schema that a reply is written by: complete, in order, bounded."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from retrieval.providers.reply_schema import LIST_ENTRIES, STRING_CHARS, reply_schema


class Note(BaseModel):
    text: str = Field(default="", description="Why")


class Reply(BaseModel):
    reason: str = Field(default="", title="The reason", json_schema_extra={"maxLength": 60})
    verdict: Literal["yes", "no"]
    year: int | None = None
    notes: list[Note] = Field(default_factory=list)
    scores: list[int] = Field(json_schema_extra={"minItems": 3, "maxItems": 3})


def shape_of(schema: type[BaseModel]) -> dict[str, Any]:
    return dict(reply_schema(schema))


def test_all_fields_are_required_in_the_order_of_the_class() -> None:
    assert shape_of(Reply)["required"] == ["reason", "verdict", "year", "notes", "scores"]
    assert list(shape_of(Reply)["properties"]) == shape_of(Reply)["required"]


def test_parts_stand_where_they_are_used() -> None:
    note = shape_of(Reply)["properties"]["notes"]["items"]
    assert note["required"] == ["text"]
    assert note["additionalProperties"] is False
    assert "$" not in json.dumps(shape_of(Reply))


def test_what_is_for_people_is_not_sent() -> None:
    sent = json.dumps(shape_of(Reply))
    assert not any(word in sent for word in ("title", "description", "default"))


def test_texts_and_lists_without_a_limit_get_one() -> None:
    notes = shape_of(Reply)["properties"]["notes"]
    assert (notes["maxItems"], notes["items"]["properties"]["text"]["maxLength"]) == (LIST_ENTRIES, STRING_CHARS)


def test_a_number_or_nothing_stays_a_choice() -> None:
    assert shape_of(Reply)["properties"]["year"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def test_a_field_that_is_left_out_is_read_all_the_same() -> None:
    assert Reply.model_validate_json('{"verdict": "yes", "scores": [1]}').reason == ""
