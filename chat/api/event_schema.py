"""The events of an answer, as the schema describes them: `data` of a Server-Sent Event, or a frame of the WebSocket."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer
from rest_framework import serializers

from chat.api.serializers import AnswerSerializer, SourceSerializer, StepSerializer
from ragsite.core.api.schema import FixedTextField, event_stream

Fields = dict[str, serializers.Field[Any, Any, Any, Any]]


def _event(kind: str, **fields: serializers.Field[Any, Any, Any, Any]) -> type[serializers.Serializer[Any]]:
    """The serializer of one type of event."""
    common: Fields = {
        "type": FixedTextField(kind),
        "seq": serializers.IntegerField(min_value=1, help_text="1, 2, 3 … of this answer."),
        "message_id": serializers.UUIDField(help_text="The answer."),
    }
    return type(f"{kind.title().replace('_', '')}EventSerializer", (serializers.Serializer,), {**common, **fields})


def _seed_event(kind: str, **fields: serializers.Field[Any, Any, Any, Any]) -> type[serializers.Serializer[Any]]:
    """The same of seed 004's."""
    common: Fields = {"type": FixedTextField(kind), "content": serializers.CharField()}
    return type(f"Rag{kind.title().replace('_', '')}EventSerializer", (serializers.Serializer,), {**common, **fields})


def _line() -> serializers.CharField:
    return serializers.CharField(help_text="One line for people.")


def _done() -> serializers.BooleanField:
    return serializers.BooleanField(help_text="true: nothing comes after it.")


def _texts() -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField())


def _stream(name: str, kinds: Any, description: str) -> OpenApiResponse:
    content = PolymorphicProxySerializer(component_name=name, serializers=kinds, resource_type_field_name=None)
    return OpenApiResponse(event_stream(f"{name}Message", content), description=description)


EVENTS = _stream(
    "AnswerEvent",
    [
        _event(
            "started",
            session_id=serializers.UUIDField(),
            workflow=serializers.CharField(),
            user_message_id=serializers.UUIDField(help_text="The question."),
        ),
        _event("reasoning", content=_line(), step=StepSerializer()),
        _event("tool_call", content=_line(), tool=serializers.CharField(), step=StepSerializer()),
        _event("sources", sources=SourceSerializer(many=True)),
        _event("chunk", content=serializers.CharField(help_text="The next piece of the answer.")),
        _event("clarify", question=serializers.CharField(), options=_texts()),
        _event(
            "done",
            done=_done(),
            answer=serializers.CharField(),
            sources=SourceSerializer(many=True),
            decision=serializers.CharField(allow_null=True),
            message=AnswerSerializer(),
        ),
        _event(
            "error",
            done=_done(),
            code=serializers.CharField(),
            content=serializers.CharField(help_text="What went wrong and what to do."),
        ),
    ],
    "Server-Sent Events: `started`, `reasoning`, `tool_call`, `sources`, `chunk`, `clarify`, and at the end one `done` "
    "or `error`. `id:` is the event's number; comments are sent while there is nothing to say.",
)
RAG_EVENTS = _stream(
    "RagEvent",
    [
        _seed_event("reasoning"),
        _seed_event("tool_call"),
        _seed_event("chunk"),
        _seed_event("done", done=_done(), answer=serializers.CharField(), sources=_texts()),
        _seed_event("error", done=_done()),
    ],
    "Server-Sent Events: `reasoning`, `tool_call` and `chunk`, and at the end one `done` or `error`.",
)
