"""The events of an answer, as the schema describes them: `data` of a Server-Sent Event, or a frame of the WebSocket."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer
from rest_framework import serializers

from chat.api.serializers import AnswerSerializer, SourceSerializer, StepSerializer
from ragsite.core.api.schema import FixedTextField, event_stream


class _EventSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(min_value=1, help_text="1, 2, 3 … of this answer.")
    message_id = serializers.UUIDField(help_text="The answer.")


class _LastEventSerializer(_EventSerializer):
    done = serializers.BooleanField(help_text="true: nothing comes after it.")


class StartedEventSerializer(_EventSerializer):
    type = FixedTextField("started")
    session_id = serializers.UUIDField()
    workflow = serializers.CharField()
    user_message_id = serializers.UUIDField(help_text="The question.")


class ReasoningEventSerializer(_EventSerializer):
    type = FixedTextField("reasoning")
    content = serializers.CharField(help_text="One line for people.")
    step = StepSerializer()


class ToolCallEventSerializer(_EventSerializer):
    type = FixedTextField("tool_call")
    content = serializers.CharField(help_text="One line for people.")
    tool = serializers.CharField()
    step = StepSerializer()


class SourcesEventSerializer(_EventSerializer):
    type = FixedTextField("sources")
    sources = SourceSerializer(many=True)


class ChunkEventSerializer(_EventSerializer):
    type = FixedTextField("chunk")
    content = serializers.CharField(help_text="The next piece of the answer.")


class ClarifyEventSerializer(_EventSerializer):
    type = FixedTextField("clarify")
    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField())


class DoneEventSerializer(_LastEventSerializer):
    type = FixedTextField("done")
    answer = serializers.CharField()
    sources = SourceSerializer(many=True)
    decision = serializers.CharField(allow_null=True)
    message = AnswerSerializer()


class ErrorEventSerializer(_LastEventSerializer):
    type = FixedTextField("error")
    code = serializers.CharField()
    content = serializers.CharField(help_text="What went wrong and what to do.")


_EVENTS = {
    "started": StartedEventSerializer,
    "reasoning": ReasoningEventSerializer,
    "tool_call": ToolCallEventSerializer,
    "sources": SourcesEventSerializer,
    "chunk": ChunkEventSerializer,
    "clarify": ClarifyEventSerializer,
    "done": DoneEventSerializer,
    "error": ErrorEventSerializer,
}


# ------------------------------------------------------------------------------------------------ seed 004's
class RagStepEventSerializer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["reasoning", "tool_call", "chunk"])
    content = serializers.CharField()


class RagDoneEventSerializer(serializers.Serializer[Any]):
    type = FixedTextField("done")
    content = serializers.CharField(help_text="The answer.")
    done = serializers.BooleanField()
    answer = serializers.CharField()
    sources = serializers.ListField(child=serializers.CharField(), help_text="File names; addresses of web pages.")


class RagErrorEventSerializer(serializers.Serializer[Any]):
    type = FixedTextField("error")
    content = serializers.CharField()
    done = serializers.BooleanField()


def _stream(name: str, kinds: Any, description: str) -> OpenApiResponse:
    content = PolymorphicProxySerializer(component_name=name, serializers=kinds, resource_type_field_name=None)
    return OpenApiResponse(event_stream(f"{name}Message", content), description=description)


EVENTS = _stream(
    "AnswerEvent",
    list(_EVENTS.values()),
    "Server-Sent Events: `started`, `reasoning`, `tool_call`, `sources`, `chunk`, `clarify`, and at the end one `done` "
    "or `error`. `id:` is the event's number; comments are sent while there is nothing to say.",
)
RAG_EVENTS = _stream(
    "RagEvent",
    [RagStepEventSerializer, RagDoneEventSerializer, RagErrorEventSerializer],
    "Server-Sent Events: `reasoning`, `tool_call` and `chunk`, and at the end one `done` or `error`.",
)
