"""The OpenAPI schema, and what every call has in common there. `ragsite.schema_view` serves it.

A view declares its own input, its answers, and of errors those that only some calls have (`errors(409, 429)`). The rest
is added here: the errors that any call may answer with, in the one error form; that bodies take no unknown fields; and
which characters a text may hold.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from ragsite.core.api.error_responses import OPENAI
from ragsite.core.api.fields import StrictSerializer

EVENT_STREAM = "text/event-stream"
STORABLE = r"^[^\u0000]*$"
STORABLE_NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"


# ------------------------------------------------------------------------------------------------ errors
class ErrorDetailSerializer(serializers.Serializer[Any]):
    """fields: what is wrong with which field of the input; a nested field's name leads to its own fields."""

    code = serializers.CharField(help_text="Stable, for programs.")
    message = serializers.CharField(help_text="One sentence that says what to do.")
    fields: Any = serializers.DictField()


class ErrorSerializer(serializers.Serializer[Any]):
    """The body of every answer that is not a success."""

    error = ErrorDetailSerializer()


class OpenAIErrorDetailSerializer(ErrorDetailSerializer):
    type = serializers.CharField()
    param = serializers.CharField(allow_null=True, help_text="The first field that is not valid.")


class OpenAIErrorSerializer(serializers.Serializer[Any]):
    """The same as OpenAI's clients read it."""

    error = OpenAIErrorDetailSerializer()


DESCRIPTIONS = {
    400: "Not valid; `error.fields` says what.",
    401: "Sign in, or send a token that is valid.",
    403: "Not allowed for you, or the CSRF token is missing.",
    404: "Not there, or not yours.",
    409: "Not possible in the present state, such as while an answer is being written in this session.",
    413: "The file, the message or the whole body is too large.",
    415: "A body or file of a type that is not taken here.",
    422: "The file can't be read; the message says why.",
    429: "Too much in too short a time; see `Retry-After`.",
    503: "A dependency is away; see `Retry-After`.",
    507: "No room is left, on the site's disk or in your quota.",
}
ANY_CALL = (400, 401, 403, 404, 503)
ANY_BODY = (413, 415, 507)
WITH_RETRY_AFTER = (429, 503)
RETRY_AFTER = {
    "Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds to wait."}
}


def errors(
    *statuses: int, form: type[serializers.Serializer[Any]] = ErrorSerializer
) -> dict[Any, OpenApiResponse]:
    """For the `responses` of a view whose errors are more than those of any call."""
    return {status: OpenApiResponse(form, description=DESCRIPTIONS[status]) for status in statuses}


# ------------------------------------------------------------------------------------------------ events
class JsonTextField(serializers.CharField):
    """A text that holds JSON: what a serializer describes."""

    def __init__(self, content: Any, **kwargs: Any) -> None:
        self.content = content
        super().__init__(**kwargs)


def event_stream(name: str, content: Any) -> Any:
    """The schema of Server-Sent Events whose `data` is described by `content`, a serializer. name: of one event."""
    fields = {
        "id": serializers.CharField(),
        "event": serializers.CharField(required=False),
        "data": JsonTextField(content),
    }
    return type(f"{name}Serializer", (serializers.Serializer,), fields)


class FixedTextField(serializers.CharField):
    """A field that always has this value."""

    def __init__(self, value: str, **kwargs: Any) -> None:
        self.value = value
        super().__init__(**kwargs)


# ------------------------------------------------------------------------------------------------ the schema
class ApiSchema(AutoSchema):
    """REST_FRAMEWORK["DEFAULT_SCHEMA_CLASS"]."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        common = ANY_CALL + (ANY_BODY if self.method in ("POST", "PUT", "PATCH") else ())
        for status, response in errors(*common, form=self._error_form()).items():
            if str(status) not in bodies:
                bodies[str(status)] = self._get_response_for_code(
                    response, str(status), ["application/json"]
                )
        for status in WITH_RETRY_AFTER:
            if str(status) in bodies:
                bodies[str(status)]["headers"] = RETRY_AFTER
        return dict(sorted(bodies.items()))

    def _error_form(self) -> type[serializers.Serializer[Any]]:
        return OpenAIErrorSerializer if self.path.startswith(OPENAI) else ErrorSerializer

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)
        if isinstance(serializer, StrictSerializer):
            schema.update(serializer.schema_rules)
            schema["additionalProperties"] = False
            if type(serializer).__doc__ is None:  # not the base class's, which is for us
                schema.pop("description", None)
        return schema

    def _map_serializer_field(
        self, field: Any, direction: Any, bypass_extensions: bool = False
    ) -> Any:
        if isinstance(field, JsonTextField):
            content = self.resolve_serializer(field.content, direction).ref
            return {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": content,
            }
        if isinstance(field, FixedTextField):
            return {"type": "string", "const": field.value}
        schema = super()._map_serializer_field(field, direction, bypass_extensions)
        if schema and direction == "request" and getattr(field, "allow_empty", True) is False:
            schema["minItems"] = 1
        if isinstance(field, serializers.CharField) and direction == "request":
            schema["pattern"] = (
                STORABLE_NOT_BLANK if field.trim_whitespace and not field.allow_blank else STORABLE
            )
            schema.update(getattr(field, "schema_rules", {}))
        return schema

    def _insert_field_validators(self, field: Any, schema: dict[str, Any]) -> None:
        """A text that may be blank is described as `oneOf` with the empty one, which its pattern takes, too:
        `anyOf`."""
        super()._insert_field_validators(field, schema)
        if "pattern" in schema.get("oneOf", [{}])[0]:
            schema["anyOf"] = schema.pop("oneOf")
