"""What a question says of how it is to be answered."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from ragsite.core.api.fields import (
    FlagField,
    IdField,
    ListField,
    NumberField,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from ragsite.core.search_settings import POSITION_STRATEGIES
from retrieval.engine.values import TASK_NAMES
from retrieval.engine.workflows.registry import available_workflows
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.api.question_fields import (
    FiltersModeField,
    FiltersSerializer,
    QuestionField,
    search_filters,
)
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS

MOST_DOCUMENTS = 10  # that one question names
TEMPORARY = (
    "Of a new conversation: true: it is deleted after 24 hours, and nobody at the review desk reads it. "
    "None: as the site has it (RAGSITE_TEMPORARY_CHAT)."
)
OFFERED = ("follow_up", "starter")
REQUEST_FIELDS = (
    "assistant",
    "workflow",
    "collections",
    "task",
    "documents",
    "filters",
    "filters_mode",
    "options",
    "model",
)


def count_field(help_text: str | None = None) -> WholeNumberField:
    """Of passages; left out or null: as the workflow decides."""
    return WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=settings.RAG.search.max_top_k,
        help_text=help_text,
    )


def share_field(help_text: str) -> NumberField:
    """0..1; left out or null: as the workflow decides."""
    return NumberField(
        required=False, allow_null=True, min_value=0.0, max_value=1.0, help_text=help_text
    )


class OptionsSerializer(StrictSerializer):
    """What is left out or null is decided by the workflow."""

    top_k = count_field()
    rewrite = FlagField(required=False, allow_null=True)
    hyde = FlagField(required=False, allow_null=True)
    rerank = FlagField(
        required=False,
        allow_null=True,
        help_text="Order the candidates again: a cross-encoder, else a model.",
    )
    top_n = count_field("Candidates that are left after reranking.")
    min_score = share_field(
        "Candidates that reranking scores below it are left out, but for the best one."
    )
    judge = FlagField(
        required=False,
        allow_null=True,
        help_text="false: no model judges passages or the answer; true: passages are judged before the first writing.",
    )
    position_strategy = serializers.ChoiceField(
        choices=POSITION_STRATEGIES,
        required=False,
        allow_null=True,
        help_text="The order of passages in a prompt.",
    )
    web_search = FlagField(required=False, allow_null=True)
    force_generate = FlagField(
        required=False,
        allow_null=True,
        help_text="true: after the last rewrite `self_corrective` and `react` answer from the best documents, although "
        "none has passed. `react` may do so unless it is false; the answer is not confirmed then.",
    )
    route = FlagField(
        required=False,
        allow_null=True,
        help_text="false: departments, types, years and tags that the question names are not preferred.",
    )


class ContinueSerializer(StrictSerializer):
    """How to answer the call."""

    stream = FlagField(required=False, default=False, help_text="Answer with Server-Sent Events.")


class RequestSerializer(ContinueSerializer):
    """How to answer; everything has a default."""

    assistant = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=MAX_ADDRESS_CHARS,
        help_text="An id, `owner/name`, `site:name`, or a plain name. It gives what this request does not name. Empty: "
        "none. Null: the session's; of a new one the site's default.",
    )
    workflow = serializers.ChoiceField(
        choices=available_workflows(), required=False, allow_null=True
    )
    collections = ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        allow_null=True,
        max_length=MAX_NAMES,
        help_text="None: your own, those shared with your groups, and those that the site has approved.",
    )
    task = serializers.ChoiceField(
        choices=TASK_NAMES,
        required=False,
        allow_null=True,
        help_text="What is asked of whole `documents`; compare takes two, the older one first. count, and list without "
        "documents: over all that are searched. None: a question.",
    )
    documents = ListField(
        child=IdField(),
        required=False,
        allow_null=True,
        max_length=MOST_DOCUMENTS,
        help_text="Ids. Only these are read or searched, whatever `collections` says.",
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

    def request(self) -> dict[str, Any]:
        """The fields of the body, as the answer keeps them."""
        values = {name: self.validated_data.get(name) for name in REQUEST_FIELDS}
        request = {name: value for name, value in values.items() if value is not None}
        if "documents" in request:
            request["documents"] = list(dict.fromkeys(map(str, request["documents"])))
        if "filters" in request:
            request["filters"] = search_filters(request["filters"]).as_dict()
        if "options" in request:
            request["options"] = {
                name: value for name, value in request["options"].items() if value is not None
            }
        return request


class EditSerializer(RequestSerializer):
    """A question in other words; what is left out stays as it was asked."""

    message = QuestionField()

    def arguments(self) -> dict[str, Any]:
        """Arguments of `ask` and `message_edit`."""
        return {"text": self.validated_data["message"], "request": self.request()}


class AskSerializer(EditSerializer):
    """A question. Only `message` is required."""

    session_id = IdField(
        required=False,
        allow_null=True,
        help_text="None: a new session. Also of files that were attached to none yet.",
    )

    temporary = FlagField(required=False, allow_null=True, help_text=TEMPORARY)
    offered = serializers.ChoiceField(
        choices=OFFERED,
        required=False,
        allow_null=True,
        help_text="Where the site offered this question, for its statistics: below an answer, or at the start.",
    )

    def request(self) -> dict[str, Any]:
        offered = self.validated_data.get("offered")
        return super().request() | ({"offered": offered} if offered else {})

    def arguments(self) -> dict[str, Any]:
        own = {name: self.validated_data.get(name) for name in ("session_id", "temporary")}
        return {**super().arguments(), **own}
