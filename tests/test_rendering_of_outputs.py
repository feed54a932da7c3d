"""Outputs: what a serializer declares is what is sent, and a response that differs from the schema fails its test."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework import serializers

from ragsite.core.api.rendering import TimestampField, rendered, rendered_list
from tests.declared_shapes import check_event

CHUNK = {"type": "chunk", "seq": 1, "message_id": "8d8ac610-566d-4ef0-9c22-186b2a5ed793"}


class LoanSerializer(serializers.Serializer[Any]):
    title = serializers.CharField()
    due = TimestampField(allow_null=True)
    note = serializers.CharField(required=False)


def test_names_that_are_not_declared_are_not_sent() -> None:
    assert rendered(LoanSerializer, {"title": "Maps", "due": None, "shelf": 3}) == {
        "title": "Maps",
        "due": None,
    }


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="title"):
        rendered(LoanSerializer, {"due": None})


def test_a_moment_keeps_its_offset_and_a_text_stays() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    texts = rendered_list(
        LoanSerializer,
        [{"title": "Maps", "due": moment}, {"title": "Atlas", "due": "2026-03-01"}],
    )
    assert [loan["due"] for loan in texts] == ["2026-03-01T12:00:00+00:00", "2026-03-01"]


def test_an_event_as_declared_passes() -> None:
    check_event({**CHUNK, "content": "Ten books."})


@pytest.mark.parametrize(
    "event", [{**CHUNK, "content": "Ten.", "words": 1}, CHUNK, {**CHUNK, "content": 1}]
)
def test_an_event_of_another_shape_fails(event: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="does not send what its schema declares"):
        check_event(event)
