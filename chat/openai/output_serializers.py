"""What OpenAI's clients get: models, and whole completions. A stream's chunks are `chat.openai.completions`' own."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chat.messages.answer_serializers import (
    ClarificationSerializer,
    SourceSerializer,
    StepSerializer,
    UsageSerializer,
)
from ragsite.core.api.schema import FixedTextField

Output = serializers.Serializer[Any]


class OpenAIModelSerializer(Output):
    id = serializers.CharField(help_text="The `model` of a completion.")
    object = FixedTextField("model")
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class OpenAIModelListSerializer(Output):
    object = FixedTextField("list")
    data: Any = OpenAIModelSerializer(many=True)


class UrlCitationSerializer(Output):
    """start_index, end_index: of its marker in the content."""

    start_index = serializers.IntegerField()
    end_index = serializers.IntegerField()
    title = serializers.CharField()
    url = serializers.CharField()


class AnnotationSerializer(Output):
    type = FixedTextField("url_citation")
    url_citation = UrlCitationSerializer()


class CompletionMessageSerializer(Output):
    role = FixedTextField("assistant")
    content = serializers.CharField()
    refusal = serializers.CharField(allow_null=True)
    annotations = AnnotationSerializer(many=True)


class CompletionChoiceSerializer(Output):
    index = serializers.IntegerField()
    message = CompletionMessageSerializer()
    logprobs = serializers.DictField(allow_null=True)
    finish_reason = serializers.ChoiceField(("stop", "length"))


class CompletionUsageSerializer(Output):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class NumberedSourceSerializer(SourceSerializer):
    number = serializers.IntegerField(
        allow_null=True, help_text="[1] in the content; null: it is not cited."
    )


class CompletionDetailSerializer(Output):
    """What OpenAI has no place for, as `POST /api/chat` sends it."""

    decision = serializers.CharField(allow_null=True)
    support = serializers.CharField(allow_null=True)
    clarification = ClarificationSerializer(allow_null=True)
    status = serializers.CharField()
    sources = NumberedSourceSerializer(many=True)
    decision_path = StepSerializer(many=True)
    degraded = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    usage = UsageSerializer()
    message_id = serializers.UUIDField()
    ignored = serializers.ListField(
        child=serializers.CharField(),
        help_text="Parameters of the request that changed nothing.",
    )


class CompletionSerializer(Output):
    id = serializers.CharField()
    object = FixedTextField("chat.completion")
    created = serializers.IntegerField(help_text="Seconds since 1970.")
    model = serializers.CharField()
    choices = CompletionChoiceSerializer(many=True, help_text="One.")
    usage = CompletionUsageSerializer()
    ragsite = CompletionDetailSerializer()
