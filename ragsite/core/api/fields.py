"""Input of the API: serializers that refuse what they do not know, and fields that take their own JSON type alone.

5 is no text, "5" no number, and a number no id. Query parameters are text by nature: their fields are REST framework's
own, and parameters that are not known are ignored, except where a list is of people's texts (`StrictQuerySerializer`).

`schema_rules` of a serializer or field is added to its JSON Schema: rules that its Python code checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from asgiref.sync import sync_to_async
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from ragsite.core.errors import MOST_ERRORS
from ragsite.core.localized import localized
from ragsite.core.messages import joined, worded

Read = TypeVar("Read", bound=serializers.Serializer[Any])
NAME_CHARS = 100  # of an unknown one that an error tells


def read(serializer: type[Read], data: Any, *, partial: bool = False) -> Read:
    """A serializer of a body or of query parameters that were found valid. Raises ValidationError."""
    reader = serializer(data=data, partial=partial)
    reader.is_valid(raise_exception=True)
    return reader


def checked(
    serializer: type[serializers.Serializer[Any]], data: Any, *, partial: bool = False
) -> Any:
    """Its validated data. Raises ValidationError."""
    return read(serializer, data, partial=partial).validated_data


async def read_body(serializer: type[Read], request: Request) -> Read:
    """`read` of a request's body, beside the event loop: it may hold MiBs. Raises ValidationError, ParseError."""
    return await sync_to_async(lambda: read(serializer, request.data))()


def unknown_fields(names: Iterable[Any], known: Collection[str]) -> dict[str, list[str]]:
    """Those of `names` that are not in `known`, at most MOST_ERRORS, each with a sentence."""
    unknown = sorted(set(map(str, names)) - set(known))[:MOST_ERRORS]
    return {name[:NAME_CHARS]: [_unknown(name[:NAME_CHARS], known)] for name in unknown}


def _unknown(name: str, known: Collection[str]) -> str:
    if not known:
        return worded("No fields are expected here; leave out “{name}”.", name=name)
    return worded(
        "There is no field “{name}”. Known are: {fields}.", name=name, fields=joined(", ", known)
    )


class StrictSerializer(serializers.Serializer[Any]):
    """The base of every request body. Refuses fields that it does not know, with their names.

    A misspelt filter would otherwise silently not filter. A change may leave fields out (`partial`), but an object
    inside of it is replaced as a whole and has to be complete.
    """

    schema_rules: Mapping[str, Any] = {}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        writable = {name: field for name, field in self.fields.items() if not field.read_only}
        if unknown := unknown_fields(data, list(writable)):
            raise serializers.ValidationError(localized(unknown))
        if self.root is self or not getattr(self.root, "partial", False):
            return super().to_internal_value(data)
        absent = {name: field for name, field in writable.items() if name not in data}
        if missing := [name for name, field in absent.items() if field.required]:
            raise serializers.ValidationError(
                {name: [absent[name].error_messages["required"]] for name in missing}
            )
        defaults = {
            name: field.default for name, field in absent.items() if field.default is not empty
        }
        return {**defaults, **super().to_internal_value(data)}


class ListField(serializers.ListField):
    """A list of at most `max_length`, which is looked at first; REST framework would check every value before."""

    max_length: int

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        values: list[Any] = super().to_internal_value(data)
        return values

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        """It ends with the MOST_ERRORSth error."""
        values: list[Any] = []
        errors: dict[Any, Any] = {}  # by place
        for place, value in enumerate(data):
            try:
                values.append(self.child.run_validation(value))
            except serializers.ValidationError as error:
                errors[place] = error.detail
            if len(errors) == MOST_ERRORS:
                break
        if errors:
            raise serializers.ValidationError(errors)
        return values


class QuerySerializer(serializers.Serializer[Any]):
    """The base of query parameters. An empty value is a value."""

    def __init__(self, *, data: QueryDict | None = None, **kwargs: Any) -> None:
        super().__init__(data={} if data is None else data.dict(), **kwargs)


class StrictQuerySerializer(QuerySerializer):
    """Refuses parameters that it does not know: a misspelt filter would show, or export, everything.

    beside: parameters that are read elsewhere, such as those of a page.
    """

    beside: ClassVar[Sequence[str]] = ()

    def to_internal_value(self, data: Any) -> Any:
        if unknown := unknown_fields(data, [*self.fields, *self.beside]):
            raise serializers.ValidationError(localized(unknown))
        return super().to_internal_value(data)


class NoFieldsSerializer(StrictSerializer):
    """The body of a call that takes none: empty, or an empty object."""


class _OfType:
    """A field that takes the JSON types that it names, and nothing that could be turned into them."""

    json_types: ClassVar[tuple[type, ...]] = (str,)

    def to_internal_value(self, data: Any) -> Any:
        if type(data) not in self.json_types:
            self.fail("invalid", input=data, value=data, format="ISO 8601")  # type: ignore[attr-defined]
        return super().to_internal_value(data)  # type: ignore[misc]


class TextField(_OfType, serializers.CharField):
    """A string."""


class WholeNumberField(_OfType, serializers.IntegerField):
    """A JSON number without a fraction; JSON has one kind of number: 5.0 is 5."""

    json_types = (int, float)

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(
            int(data) if isinstance(data, float) and data.is_integer() else data
        )


class NumberField(_OfType, serializers.FloatField):
    """A JSON number that a double holds."""

    json_types = (int, float)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return super().to_internal_value(data)
        except OverflowError:  # an integer beyond every double
            self.fail("invalid")


class FlagField(_OfType, serializers.BooleanField):
    """`true` or `false`."""

    json_types = (bool,)


class IdField(_OfType, serializers.UUIDField):
    """A UUID as text. DRF would read a whole number as one, which then is an id of nothing."""


class DateField(_OfType, serializers.DateField):
    """A date as ISO 8601 text."""


class DateTimeField(_OfType, serializers.DateTimeField):
    """A date and time as ISO 8601 text."""
