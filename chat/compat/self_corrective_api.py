"""`POST /api/self-corrective-rag`: the `self_corrective` workflow behind seed 000's own request and response."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api.event_schema import EVENTS
from chat.api.streaming import EVENT_STREAM, ChatView, event_stream, finished_message, wants_events
from chat.compat.self_corrective import WORKFLOW, response_data
from chat.services.ask import Ask, ask
from ragsite.core.api.fields import IdField, NumberField, StrictSerializer, TextField, WholeNumberField
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.api.serializers import QuestionField
from retrieval.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.values import AnswerOptions
from retrieval.workflows import self_corrective


class ShareField(NumberField):
    """A JSON number from 0 to 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0.0, max_value=1.0, **kwargs)


def _allowed_addresses() -> list[str]:
    return [address.strip() for address in settings.RAG.self_corrective.allowed_addresses.split(",") if address.strip()]


class AddressField(TextField):
    """An address of Milvus; see `refuse_address`."""

    schema_rules = {"enum": ["", None, *_allowed_addresses()]}


class MilvusConfigSerializer(StrictSerializer):
    """Where to search."""

    address = AddressField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=255,
        help_text="Refused unless it is among RAG_SELF_CORRECTIVE_ALLOWED_ADDRESSES; the site's own index is searched "
        "in any case.",
    )
    collectionName = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=MAX_ADDRESS_CHARS,
        help_text="A collection that you may read: its id, `owner/name`, `site:name`, or name. By default your own, "
        "those shared with your groups, and those that the site has approved. Its documents' embedding model, and so "
        "the vectors' dimension, is the one that the query is embedded with.",
    )


class SelfCorrectiveSerializer(StrictSerializer):
    """Only `query` is required; the numbers' defaults are settings (RAG_SELF_CORRECTIVE_*)."""

    query = QuestionField()
    topK = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=settings.RAG.search.max_top_k,
        help_text="Documents to grade; 5 by default.",
    )
    similarityThreshold = ShareField(
        required=False,
        allow_null=True,
        help_text="Cosine below which a document that only the vectors found is left out; 0.3 by default.",
    )
    maxRewriteAttempts = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=self_corrective.REWRITES_LIMIT,
        help_text="3 by default.",
    )
    gradePassThreshold = ShareField(
        required=False,
        allow_null=True,
        help_text="Share of relevant documents to answer from; 0.6 by default, 0.8 is strict, 0.4 relaxed.",
    )
    milvusConfig = MilvusConfigSerializer(required=False, allow_null=True)
    sessionId = IdField(required=False, allow_null=True, help_text="Go on in this conversation; a new one by default.")

    def ask(self) -> Ask:
        """Raises InvalidInputError for an address that is not allowed, or a number beyond the site's limits."""
        data = self.validated_data
        where = data.get("milvusConfig") or {}
        refuse_address((where.get("address") or "").strip())
        rewrites = data.get("maxRewriteAttempts")
        if rewrites is not None and rewrites > self_corrective.REWRITES_LIMIT:
            raise InvalidInputError(
                fields={
                    "maxRewriteAttempts": [
                        worded("From 0 to {REWRITES_LIMIT}.", REWRITES_LIMIT=self_corrective.REWRITES_LIMIT)
                    ]
                }
            )
        if (top_k := data.get("topK")) is not None and top_k > settings.RAG.search.max_top_k:
            raise InvalidInputError(
                fields={"topK": [worded("From 1 to {max_top_k}.", max_top_k=settings.RAG.search.max_top_k)]}
            )
        name = (where.get("collectionName") or "").strip()
        return Ask(
            text=data["query"],
            session_id=data.get("sessionId"),
            workflow=WORKFLOW,
            collections=(name,) if name else (),
            options=AnswerOptions(
                top_k=data.get("topK"),
                min_similarity=data.get("similarityThreshold"),
                max_rewrites=rewrites,
                pass_rate=data.get("gradePassThreshold"),
            ),
        )


def refuse_address(address: str) -> None:
    """An allowed address is another name for the site's own index: nothing that a request names is connected to.

    Raises InvalidInputError.
    """
    if address and address not in _allowed_addresses():
        message = worded(
            "This site searches its own index only: leave the address out, or have an administrator allow it."
        )
        raise InvalidInputError(message, fields={"milvusConfig": {"address": [message]}})


# ------------------------------------------------------------------------------------------------ output
class QuerySerializer(serializers.Serializer[Any]):
    """The question, as it was asked and as it was last searched for."""

    original = serializers.CharField()
    final = serializers.CharField(help_text="What the last search was for.")
    wasRewritten = serializers.BooleanField()
    rewriteCount = serializers.IntegerField()


class RewriteSerializer(serializers.Serializer[Any]):
    """A question in other words; `attempt` from 1."""

    original = serializers.CharField()
    rewritten = serializers.CharField()
    reason = serializers.CharField()
    keywords = serializers.ListField(child=serializers.CharField())
    attempt = serializers.IntegerField()


class GradeSerializer(serializers.Serializer[Any]):
    """Whether a document is relevant, and who found so."""

    isRelevant = serializers.BooleanField()
    confidence = serializers.FloatField(help_text="In this judgement, 0 to 1.")
    reasoning = serializers.CharField()
    byModel = serializers.BooleanField(help_text="False: the model gave no verdict, the estimate did.")


class GradedDocumentSerializer(serializers.Serializer[Any]):
    """A document that was graded."""

    id = serializers.CharField()
    content = serializers.CharField(help_text="Its first 2,000 characters.")
    score = serializers.FloatField(help_text="Cosine; without vectors the merged score.")
    gradeResult = GradeSerializer()
    metadata = serializers.DictField(help_text="documentId, title, fileName, page, heading, scores.")


class SearchedCollectionSerializer(serializers.Serializer[Any]):
    """A collection, with the model that the question was embedded with."""

    name = serializers.CharField()
    embeddingModel = serializers.CharField(allow_null=True, help_text="Null: nothing was ingested yet.")
    dimension = serializers.IntegerField(allow_null=True)


class RetrievalSerializer(serializers.Serializer[Any]):
    """Graded documents, relevant ones first, best first."""

    totalDocuments = serializers.IntegerField(help_text="Graded, over all searches.")
    filteredDocuments = serializers.IntegerField(help_text="Of them, those that passed.")
    documents = GradedDocumentSerializer(many=True)
    collections = SearchedCollectionSerializer(many=True, help_text="That were searched.")


class DocumentGradeSerializer(GradeSerializer):
    """A grade by the id of its document."""

    docId = serializers.CharField()


class GraderResultSerializer(serializers.Serializer[Any]):
    """What follows from the grades of one search. `passRate` 0 to 1."""

    passRate = serializers.FloatField()
    passCount = serializers.IntegerField()
    totalCount = serializers.IntegerField()
    shouldRewrite = serializers.BooleanField()
    reasoning = serializers.CharField()
    documentGrades = DocumentGradeSerializer(many=True)


class NodeExecutionSerializer(serializers.Serializer[Any]):
    """A node of the workflow's graph, as it ran once."""

    node = serializers.CharField(help_text="condense, retrieve, grade, rewrite or generate.")
    status = serializers.CharField(help_text="completed, skipped or error.")
    startTime = serializers.IntegerField(help_text="ms since the run began.")
    endTime = serializers.IntegerField()
    duration = serializers.IntegerField(help_text="ms.")
    input = serializers.DictField()
    output = serializers.DictField()
    error = serializers.CharField(required=False, help_text="Why a fallback served, or what failed.")


class WorkflowSerializer(serializers.Serializer[Any]):
    """How the answer came about."""

    nodeExecutions = NodeExecutionSerializer(many=True)
    decisionPath = serializers.ListField(child=serializers.CharField())
    totalDuration = serializers.IntegerField(help_text="ms.")


class SelfCorrectiveAnswerSerializer(serializers.Serializer[Any]):
    """Seed 000's response."""

    success = serializers.BooleanField(help_text="False: the answer was stopped, or broke off.")
    answer = serializers.CharField(help_text="Markdown with [1] markers.")
    decision = serializers.CharField(allow_null=True, help_text="ANSWER, or NO_ANSWER where no document passed.")
    query = QuerySerializer()
    rewriteHistory = RewriteSerializer(many=True)
    retrieval = RetrievalSerializer()
    graderResult = GraderResultSerializer(
        allow_null=True, help_text="Of the last search; null where nothing was searched."
    )
    workflow = WorkflowSerializer()
    sessionId = serializers.UUIDField()
    messageId = serializers.UUIDField()


class SelfCorrectiveApi(ChatView):
    """`POST /api/self-corrective-rag`."""

    @extend_schema(
        operation_id="self_corrective_rag",
        request=SelfCorrectiveSerializer,
        responses={
            (200, "application/json"): SelfCorrectiveAnswerSerializer,
            (200, EVENT_STREAM): EVENTS,
            **errors(409, 429),
        },
        examples=[
            OpenApiExample(
                "A question",
                request_only=True,
                value={
                    "query": "How many books may an undergraduate borrow?",
                    "topK": 5,
                    "similarityThreshold": 0.3,
                    "maxRewriteAttempts": 3,
                    "gradePassThreshold": 0.6,
                    "milvusConfig": {"collectionName": "handbook"},
                },
            )
        ],
        tags=["chat"],
    )
    async def post(self, request: Request) -> Response | StreamingHttpResponse:
        """Ask with every document graded by itself. With `Accept: text/event-stream` the events of `/api/chat`."""
        serializer = SelfCorrectiveSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        assignment = await ask(user=asking_user(request), question=serializer.ask())
        if wants_events(request):
            return event_stream(request, assignment.message_id)
        message = await finished_message(request, assignment.message_id)
        query, scope = serializer.validated_data["query"], assignment.question.scope
        return Response(response_data(message, query=query, scope=scope))
