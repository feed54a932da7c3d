"""The events of an answer, as the schema describes them: `data` of a Server-Sent Event, or a frame of the WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer
from rest_framework import serializers

from chat.messages.answer_serializers import AnswerSerializer, SourceSerializer, StepSerializer
from ragsite.core.api.schema import FixedTextField, event_stream

Fields = Mapping[str, Any]
TEXT = serializers.CharField()
TEXTS = serializers.ListField(child=serializers.CharField())
LINE = serializers.CharField(help_text="One line for people.")
SOURCES = SourceSerializer(many=True)
LAST = {"done": serializers.BooleanField(help_text="true: nothing comes after it.")}
NUMBERED = {
    "seq": serializers.IntegerField(min_value=1, help_text="1, 2, 3 … of this answer."),
    "message_id": serializers.UUIDField(help_text="The answer."),
}


def _stream(
    name: str, kinds: Mapping[str, Fields], *, common: Fields, description: str
) -> OpenApiResponse:
    """kinds: the fields of each type of event, beside the `common` ones."""
    events = [
        type(
            f"{name}{kind.title().replace('_', '')}Serializer",
            (serializers.Serializer,),
            {"type": FixedTextField(kind), **common, **fields},
        )
        for kind, fields in kinds.items()
    ]
    content = PolymorphicProxySerializer(
        component_name=name, serializers=events, resource_type_field_name=None
    )
    return OpenApiResponse(event_stream(f"{name}Message", content), description=description)


EVENTS = _stream(
    "AnswerEvent",
    {
        "started": {
            "session_id": serializers.UUIDField(),
            "workflow": TEXT,
            "user_message_id": serializers.UUIDField(help_text="The question."),
        },
        "reasoning": {"content": LINE, "step": StepSerializer()},
        "tool_call": {"content": LINE, "tool": TEXT, "step": StepSerializer()},
        "sources": {"sources": SOURCES},
        "chunk": {"content": serializers.CharField(help_text="The next piece of the answer.")},
        "withdrawn": {},
        "clarify": {"question": TEXT, "options": TEXTS},
        "done": {
            **LAST,
            "answer": TEXT,
            "sources": SOURCES,
            "decision": serializers.CharField(allow_null=True),
            "message": AnswerSerializer(),
        },
        "error": {
            **LAST,
            "code": TEXT,
            "content": serializers.CharField(help_text="What went wrong and what to do."),
        },
    },
    common=NUMBERED,
    description="Server-Sent Events: `started`, `reasoning`, `tool_call`, `sources`, `chunk`, `clarify`, and at the "
    "end one `done` or `error`. `withdrawn`: the chunks so far were a model's thoughts, and the "
    "answer starts again. `id:` is the event's number; comments are sent while there is nothing to say.",
)
RAG_EVENTS = _stream(
    "RagEvent",
    {
        "reasoning": {},
        "tool_call": {},
        "chunk": {},
        "done": {**LAST, "answer": TEXT, "sources": TEXTS},
        "error": LAST,
    },
    common={"content": TEXT},
    description="Server-Sent Events: `reasoning`, `tool_call` and `chunk`, and at the end one `done` or `error`.",
)
