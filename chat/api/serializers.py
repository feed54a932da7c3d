"""Input of the chat calls, for HTTP and WebSocket alike, and the schema of what they answer."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from chat.models import Share
from ragsite.core.api.fields import (
    DateTimeField,
    FlagField,
    IdField,
    ListField,
    NumberField,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.rag_settings import POSITION_STRATEGIES
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
OWN_RATING = "The caller's own: {score, thumb, tags, comment}. Not in events."
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


# ------------------------------------------------------------------------------------------------ input
class OptionsSerializer(StrictSerializer):
    """What is left out or null is decided by the workflow."""

    top_k = WholeNumberField(
        required=False, allow_null=True, min_value=1, max_value=settings.RAG.search.max_top_k
    )
    rewrite = FlagField(required=False, allow_null=True)
    hyde = FlagField(required=False, allow_null=True)
    rerank = FlagField(
        required=False,
        allow_null=True,
        help_text="Order the candidates anew: a cross-encoder, else a model.",
    )
    top_n = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=settings.RAG.search.max_top_k,
        help_text="Candidates that are left after reranking.",
    )
    min_score = NumberField(
        required=False,
        allow_null=True,
        min_value=0.0,
        max_value=1.0,
        help_text="Candidates that reranking scores below it are left out, but for the best one.",
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


class SessionBeginSerializer(StrictSerializer):
    """How a conversation begins in which nothing is asked yet."""

    temporary = FlagField(required=False, allow_null=True, help_text=TEMPORARY)


class SessionUpdateSerializer(StrictSerializer):
    """What is to change of a conversation; what is left out stays."""

    schema_rules = {"minProperties": 1}

    title = TextField(max_length=200, required=False)
    pinned = FlagField(required=False)
    archived = FlagField(required=False, help_text="Out of the list, kept; no longer pinned.")
    temporary = FlagField(
        required=False, help_text="false: a temporary conversation is kept as an ordinary one."
    )
    folder = TextField(
        max_length=100,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Empty or null: out of its folder.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                localized(worded("Give title, pinned, archived, temporary or folder."))
            )
        return attrs


class ShareSerializer(StrictSerializer):
    """How to share a conversation."""

    scope = serializers.ChoiceField(
        choices=Share.Scope.choices,
        help_text="site: people with an account; link: anybody who has it.",
    )
    expires_at = DateTimeField(
        required=False, allow_null=True, help_text="In the future; null: until it is revoked."
    )


class UnshareSerializer(StrictSerializer):
    """Which of the two to revoke; without it both."""

    scope = serializers.ChoiceField(choices=Share.Scope.choices, required=False)


# ------------------------------------------------------------------------------------------------ output
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
    added_at = serializers.DateTimeField(
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
    """Calls, tokens and times of one answer."""

    llm_calls = serializers.IntegerField()
    llm_rounds = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    first_token_ms = serializers.IntegerField(allow_null=True)
    total_ms = serializers.IntegerField()


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
    created_at = serializers.DateTimeField()
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
    error = serializers.DictField(required=False, allow_null=True)
    rating = serializers.DictField(required=False, allow_null=True, help_text=OWN_RATING)
    superseded = serializers.BooleanField(
        required=False, help_text="Another version of it is shown."
    )
    source_changed_at = serializers.DateTimeField(
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


class SessionSerializer(serializers.Serializer[Any]):
    """A conversation without its messages."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    workflow = serializers.CharField(help_text="Last asked with.")
    collections = serializers.ListField(
        child=serializers.CharField(), help_text="Last asked in; none: none was named."
    )
    assistant = serializers.DictField(
        child=serializers.CharField(), help_text="{id, name} of the one last asked by; empty: none."
    )
    temporary = serializers.BooleanField(
        help_text="Not listed, not at the review desk, and deleted at `expires_at`."
    )
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: it is kept.")
    pinned = serializers.BooleanField()
    archived = serializers.BooleanField()
    folder = serializers.CharField(help_text="Empty: in none.")
    shared = serializers.ListField(
        child=serializers.CharField(), help_text="site, link: how others may read it."
    )
    found = serializers.CharField(
        required=False, help_text="In a list that is searched: the words, as they stand."
    )
    message_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class FolderSerializer(serializers.Serializer[Any]):
    """A folder of conversations; it is there as long as one is in it."""

    name = serializers.CharField()
    session_count = serializers.IntegerField(help_text="Without archived ones.")


class SharedSerializer(serializers.Serializer[Any]):
    """How a conversation is shared, and where it is read."""

    scope = serializers.CharField(help_text="site or link.")
    url = serializers.URLField()
    created_at = serializers.DateTimeField(help_text="It is shown as it was then.")
    expires_at = serializers.DateTimeField(allow_null=True)


class SharesSerializer(serializers.Serializer[Any]):
    """All shares of a conversation, and whether a secret link may be made."""

    shares = SharedSerializer(many=True)
    links_allowed = serializers.BooleanField(
        help_text="As the administrator has set it (RAGSITE_SHARE_LINKS)."
    )
