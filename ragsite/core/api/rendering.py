"""Output of the API: a value is sent as its serializer declares it, which is also what the OpenAPI schema says.

A view returns `Response(rendered(SessionSerializer, session))`. Where a shape is put together from several things, the
function that does so returns a mapping with the serializer's names. A name that is missing raises KeyError; one that is
not declared is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any

from rest_framework import serializers

Declared = type[serializers.Serializer[Any]]


def rendered(declared: Declared, value: Any) -> dict[str, Any]:
    """`value`, an object or a mapping, in the declared shape: what JSON holds, ready to be sent or stored.

    All calls share one instance of the serializer, since making one copies its fields and takes ten times as long as
    rendering an answer. A serializer that needs the request (`context`) is instantiated by its view.
    """
    return dict(_instance(declared).to_representation(value))


def rendered_list(declared: Declared, values: Iterable[Any]) -> list[dict[str, Any]]:
    """Each of them in the declared shape."""
    return [rendered(declared, value) for value in values]


@cache
def _instance(declared: Declared) -> serializers.Serializer[Any]:
    return declared()


class TimestampField(serializers.DateTimeField):
    """A moment as ISO 8601 text with its offset, as Python writes it; a text stays as it is."""

    def to_representation(self, value: datetime | str) -> str:
        return value if isinstance(value, str) else value.isoformat()
