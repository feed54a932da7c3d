"""Answers and questions as they are shown, with their sources, steps and usage."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chat.messages.offers import OFFERS
from ragsite.core.api.rendering import TimestampField

OWN_RATING = "The caller's own: {score, thumb, tags, comment}. Not in events."


class ClarificationSerializer(serializers.Serializer[Any]):
    """What the answer asks back, with answers to choose from."""

    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField())


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
    scores = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Those that were given: dense (cosine), bm25, fused, standing, rerank (both 0 to 1), boost, final.",
    )
    cited = serializers.BooleanField()
    spans = serializers.ListField(
        child=serializers.DictField(),
        help_text="Where the cited sentences stand: {page, boxes, start, end}, boxes as [left, top, right, bottom] in "
        "shares of the page, start and end as characters of `text`. Empty before the answer is done.",
    )
    added_at = TimestampField(
        allow_null=True,
        help_text="When its document was added. This and what follows is as it is now; null and false where the "
        "document is gone or no longer the caller's to see, and for web pages.",
    )
    version = serializers.IntegerField(
        allow_null=True, help_text="Of its document: 1, and more for each that it replaced."
    )
    replaced = serializers.BooleanField(
        help_text="A newer version is searched in its document's place."
    )
    policy_year = serializers.IntegerField(allow_null=True)
    review_due = serializers.DateField(
        allow_null=True, help_text="By when its document is to be reviewed."
    )
    overdue = serializers.BooleanField(help_text="That day has passed.")
    rating = serializers.DictField(required=False, allow_null=True, help_text=OWN_RATING)
    moved = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="up or down: what the caller's own rating did. Not in events.",
    )


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
    """Calls, tokens and times of one answer; empty until it has ended."""

    llm_calls = serializers.IntegerField(required=False)
    llm_rounds = serializers.IntegerField(required=False)
    prompt_tokens = serializers.IntegerField(required=False)
    completion_tokens = serializers.IntegerField(required=False)
    first_token_ms = serializers.IntegerField(required=False, allow_null=True)
    total_ms = serializers.IntegerField(required=False)


class AnswerSerializer(serializers.Serializer[Any]):
    """An answer. A user's message has `text` instead, and none of the fields after `created_at`."""

    session_id = serializers.UUIDField()
    message_id = serializers.UUIDField()
    role = serializers.CharField(help_text="user or assistant.")
    status = serializers.CharField(
        help_text="streaming, complete, cut, stopped, interrupted or failed."
    )
    status_reason = serializers.CharField(
        required=False, help_text="Why an answer is not complete, in a sentence; empty where it is."
    )
    created_at = TimestampField()
    text = serializers.CharField(required=False, help_text="Of a user's message.")
    reply_to = serializers.UUIDField(
        required=False, allow_null=True, help_text="The question's message."
    )
    decision = serializers.CharField(
        required=False, allow_null=True, help_text="ANSWER, CLARIFY or NO_ANSWER."
    )
    reason = serializers.CharField(required=False)
    workflow = serializers.CharField(required=False)
    model = serializers.CharField(required=False)
    answer = serializers.CharField(required=False, help_text="Markdown with [1] markers.")
    html = serializers.CharField(
        required=False, help_text="The answer, rendered and sanitised; weak sentences in <mark>."
    )
    grounding = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="Its sentences, checked: {sentence, start, end, markers, score, supported, reason, evidence}. "
        "supported is null where a sentence could not be checked.",
    )
    support = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="full, partly or none: what a second look says of the answer; null: it was not looked at.",
    )
    curated = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="{id, by, on}: people had written and checked it beforehand.",
    )
    written_by = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="{by, on}: a person wrote it, to whom the question was sent.",
    )
    sent_request = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="open, answered, declined or withdrawn: the question was sent to a person "
        "(`/api/messages/{id}/ask-owner`).",
    )
    clarification = ClarificationSerializer(required=False, allow_null=True)
    sources = SourceSerializer(many=True, required=False)
    overdue_sources = serializers.ListField(
        child=serializers.IntegerField(),
        required=False,
        help_text="Markers of the cited sources whose documents were to be reviewed by now.",
    )
    found = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="How it was found, in three lines at most.",
    )
    decision_path = StepSerializer(many=True, required=False)
    usage = UsageSerializer(required=False)
    degraded = serializers.ListField(
        child=serializers.DictField(child=serializers.CharField()),
        required=False,
        help_text="{step, reason} of each step that fell back.",
    )
    follow_ups = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Questions that come next and have an answer, three at most. They are looked for after `done`.",
    )
    offers = serializers.ListField(
        child=serializers.ChoiceField(OFFERS),
        required=False,
        help_text="What else may be done about it: have all documents counted, count with a form, send the question to a "
        "person, or add documents where there were none.",
    )
    error = serializers.DictField(required=False, allow_null=True)
    rating = serializers.DictField(required=False, allow_null=True, help_text=OWN_RATING)
    superseded = serializers.BooleanField(
        required=False, help_text="Another version of it is shown."
    )
    source_changed_at = TimestampField(
        required=False,
        allow_null=True,
        help_text="When the asker was notified that a document which it cites has changed; null: none has.",
    )
    being_read = serializers.IntegerField(
        required=False,
        help_text="Documents of the searched collections that were still being read when it was asked.",
    )
    versions = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Ids of its versions, itself included, oldest first.",
    )
