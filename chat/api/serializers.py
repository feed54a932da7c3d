"""Input of the chat calls, for HTTP and WebSocket alike, and the schema of what they answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers

from chat.services.ask import Ask
from ragsite.core.api.fields import FlagField, IdField, StrictSerializer, TextField, WholeNumberField
from retrieval.api.serializers import (
    ADDRESS,
    MAX_NAMES,
    FiltersModeField,
    FiltersSerializer,
    QuestionField,
    search_filters,
)
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.values import AnswerOptions
from retrieval.workflows import DEFAULT_WORKFLOW, available_workflows


# ------------------------------------------------------------------------------------------------ input
class OptionsSerializer(StrictSerializer):
    """What is left out or null is decided by the workflow."""

    top_k = WholeNumberField(required=False, allow_null=True, min_value=1, max_value=settings.RAG.search.max_top_k)
    rewrite = FlagField(required=False, allow_null=True)
    hyde = FlagField(required=False, allow_null=True)
    rerank = FlagField(required=False, allow_null=True)
    web_search = FlagField(required=False, allow_null=True)


class RequestSerializer(StrictSerializer):
    """How to answer; everything has a default."""

    workflow = serializers.ChoiceField(choices=available_workflows(), required=False, allow_null=True)
    collections = serializers.ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        allow_null=True,
        max_length=MAX_NAMES,
        help_text="None: your own, those shared with your groups, and those that the site has approved.",
    )
    filters = FiltersSerializer(required=False, allow_null=True)
    filters_mode = FiltersModeField(allow_null=True)
    options = OptionsSerializer(required=False, allow_null=True)
    model = TextField(
        required=False,
        allow_null=True,
        max_length=200,
        help_text="Writes the answer: one of `chat_models` of `/api/status`. None: the site's own.",
    )
    stream = FlagField(required=False, default=False, help_text="Answer with Server-Sent Events.")

    def changes(self) -> dict[str, Any]:
        """The fields of `Ask` that were given."""
        given = {key: value for key, value in self.validated_data.items() if value is not None}
        changes: dict[str, Any] = {}
        if "workflow" in given:
            changes["workflow"] = given["workflow"]
        if "collections" in given:
            changes["collections"] = tuple(given["collections"])
        if "filters" in given:
            changes |= {"filters": search_filters(given["filters"]), "filters_mode": "strict"}
        if "filters_mode" in given:
            changes["filters_mode"] = given["filters_mode"]
        if "options" in given:
            changes["options"] = AnswerOptions(**given["options"])
        if "model" in given:
            changes["model"] = given["model"]
        return changes


class AskSerializer(RequestSerializer):
    """A question. Only `message` is required."""

    message = QuestionField()
    session_id = IdField(
        required=False, allow_null=True, help_text="None: a new session. Also of files that were attached to none yet."
    )

    def ask(self, *, session_id: UUID | None = None) -> Ask:
        """The question; in `session_id` unless it names a session itself."""
        data = self.validated_data
        return Ask(
            **{"workflow": DEFAULT_WORKFLOW, **self.changes()},
            text=data["message"],
            session_id=data.get("session_id") or session_id,
        )


class SessionUpdateSerializer(StrictSerializer):
    """A new title, 1 to 200 characters."""

    title = TextField(max_length=200)


# ------------------------------------------------------------------------------------------------ output
class ClarificationSerializer(serializers.Serializer[Any]):
    """What the answer asks back, with answers to choose from."""

    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField())


class ScoresSerializer(serializers.Serializer[Any]):
    """Only those that were given."""

    dense = serializers.FloatField(required=False, help_text="Cosine, -1 to 1.")
    bm25 = serializers.FloatField(required=False)
    fused = serializers.FloatField(required=False)
    rerank = serializers.FloatField(required=False, help_text="0 to 1.")
    boost = serializers.FloatField(required=False, help_text="Multiplier from ratings.")
    final = serializers.FloatField(required=False)
    shown = serializers.FloatField(
        required=False, help_text="The probability of its place after fusion, where that was drawn."
    )


class OwnRatingSerializer(serializers.Serializer[Any]):
    """The caller's own rating."""

    score = serializers.IntegerField(min_value=1, max_value=5)
    thumb = serializers.CharField(allow_null=True, help_text="up, down, or null between them.")
    tags = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()


class SourceSerializer(serializers.Serializer[Any]):
    """A passage that was given to the model."""

    marker = serializers.IntegerField(help_text="[1] in the answer.")
    kind = serializers.CharField(help_text="document, or web: a result of a web search.")
    document_id = serializers.UUIDField(allow_null=True, help_text="Null for a web page.")
    chunk_id = serializers.CharField()
    title = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField()
    file_name = serializers.CharField()
    url = serializers.CharField(help_text="Of a web page; empty for a document.")
    published = serializers.CharField(help_text="Of a web page: YYYY-MM-DD, or empty.")
    text = serializers.CharField()
    scores = ScoresSerializer()
    cited = serializers.BooleanField()
    rating = OwnRatingSerializer(required=False, allow_null=True, help_text="Not in events.")


class StepSerializer(serializers.Serializer[Any]):
    """An entry of the decision path. Times in ms since the run began."""

    seq = serializers.IntegerField()
    name = serializers.CharField()
    status = serializers.CharField(help_text="ok, skipped, degraded (a fallback served) or failed.")
    summary = serializers.CharField()
    started_ms = serializers.IntegerField()
    duration_ms = serializers.IntegerField()
    detail = serializers.DictField()


class UsageSerializer(serializers.Serializer[Any]):
    """Calls, tokens and times of one answer."""

    llm_calls = serializers.IntegerField()
    llm_rounds = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    first_token_ms = serializers.IntegerField(allow_null=True)
    total_ms = serializers.IntegerField()


class DegradedSerializer(serializers.Serializer[Any]):
    """A step that fell back, and why."""

    step = serializers.CharField()
    reason = serializers.CharField()


class SentenceEvidenceSerializer(serializers.Serializer[Any]):
    """Where in a source a sentence of the answer is borne out."""

    marker = serializers.IntegerField()
    start = serializers.IntegerField(help_text="The first character in the source's `text`, from 0.")
    end = serializers.IntegerField()


class GroundedSentenceSerializer(serializers.Serializer[Any]):
    """A sentence of the answer, checked against its sources."""

    sentence = serializers.CharField(help_text="As it stands in the answer.")
    start = serializers.IntegerField(help_text="Its first character in the answer, from 0.")
    end = serializers.IntegerField()
    markers = serializers.ListField(
        child=serializers.IntegerField(), help_text="Sources that it was checked against; none: all."
    )
    score = serializers.FloatField(allow_null=True, help_text="0 to 1; null: it could not be checked.")
    supported = serializers.BooleanField(allow_null=True, help_text="Null: it could not be checked.")
    reason = serializers.CharField(help_text="Why it is weak or unchecked.")
    evidence = SentenceEvidenceSerializer(
        many=True, required=False, help_text="The nearest place in each cited source. Answers from before lack it."
    )


class AnswerSerializer(serializers.Serializer[Any]):
    """An answer. A user's message has `text` instead, and none of the fields after `created_at`."""

    session_id = serializers.UUIDField()
    message_id = serializers.UUIDField()
    role = serializers.CharField(help_text="user or assistant.")
    status = serializers.CharField(help_text="streaming, complete, stopped, interrupted or failed.")
    created_at = serializers.DateTimeField()
    text = serializers.CharField(required=False, help_text="Of a user's message.")
    reply_to = serializers.UUIDField(required=False, allow_null=True, help_text="The question's message.")
    decision = serializers.CharField(required=False, allow_null=True, help_text="ANSWER, CLARIFY or NO_ANSWER.")
    reason = serializers.CharField(required=False)
    workflow = serializers.CharField(required=False)
    model = serializers.CharField(required=False)
    answer = serializers.CharField(required=False, help_text="Markdown with [1] markers.")
    html = serializers.CharField(
        required=False, help_text="The answer, rendered and sanitised; weak sentences in <mark>."
    )
    grounding = GroundedSentenceSerializer(many=True, required=False, help_text="Its sentences, checked.")
    clarification = ClarificationSerializer(required=False, allow_null=True)
    sources = SourceSerializer(many=True, required=False)
    decision_path = StepSerializer(many=True, required=False)
    usage = UsageSerializer(required=False)
    degraded = DegradedSerializer(many=True, required=False)
    error = serializers.DictField(required=False, allow_null=True)
    rating = OwnRatingSerializer(required=False, allow_null=True)
    superseded = serializers.BooleanField(required=False)


class SessionSerializer(serializers.Serializer[Any]):
    """A conversation without its messages."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    workflow = serializers.CharField(help_text="Last asked with.")
    collections = serializers.ListField(child=serializers.CharField(), help_text="Last asked in; none: none was named.")
    message_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
