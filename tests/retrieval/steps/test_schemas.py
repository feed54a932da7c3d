"""Schemas for one call: lengths and choices that the grammar holds to, and reading that stays lenient."""

from __future__ import annotations

from typing import Any

from retrieval.providers.reply_schema import reply_schema
from retrieval.steps.schemas import ChosenRoute, QuestionFilters, RewrittenQueries, exactly, shaped


def field(schema: Any, name: str) -> dict[str, Any]:
    return dict(reply_schema(schema)["properties"][name])


def test_a_list_of_known_length_has_exactly_so_many_entries() -> None:
    queries = field(exactly(RewrittenQueries, "queries", 3), "queries")
    assert (queries["minItems"], queries["maxItems"]) == (3, 3)


def test_a_reply_of_another_length_is_read_all_the_same() -> None:
    reply = exactly(RewrittenQueries, "queries", 3).model_validate_json('{"queries": ["fees"]}')
    assert isinstance(reply, RewrittenQueries)
    assert reply.queries == ["fees"]


def test_choices_are_those_of_the_call() -> None:
    schema = shaped(QuestionFilters, department={"enum": ["Library", ""]}, policy_year={"enum": [2024, None]})
    assert field(schema, "department") == {"enum": ["Library", ""]}
    assert field(schema, "policy_year") == {"enum": [2024, None]}


def test_order_of_the_fields_stays() -> None:
    schema = shaped(ChosenRoute, queries={"minItems": 2, "maxItems": 2}, route={"enum": ["direct"]})
    assert reply_schema(schema)["required"] == ["route", "standalone_question", "queries"]
