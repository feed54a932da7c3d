"""`POST /api/self-corrective-rag`: the `self_corrective` workflow behind seed 000's own request and response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api.event_schema import EVENTS
from chat.api.question_serializers import count_field, share_field
from chat.api.streaming import EVENT_STREAM, ChatView, event_stream, finished_message, wants_events
from chat.compat.self_corrective_serializers import SelfCorrectiveAnswerSerializer
from chat.services.ask import ask
from ragsite.core.api.fields import (
    FlagField,
    IdField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    read_body,
)
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.runtime import milvus_lite
from retrieval.engine.path_details import (
    AssessDetails,
    CondenseDetails,
    GradedDocument,
    GradeDetails,
    RetrieveDetails,
    RewriteDetails,
    details_in,
    details_of,
    from_json,
)
from retrieval.engine.workflows.self_corrective.limits import REWRITES_LIMIT
from retrieval.knowledge.api.question_fields import QuestionField
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.selectors import collection_find

WORKFLOW = "self_corrective"
# The seed's own example names these: its index, which here is the site's, and all that is searched unasked.
SEED_ADDRESS = "localhost:19530"
SEED_COLLECTION = "rag_documents"
MILVUS_PORT = 19530
ADDRESSES_SETTING = "RAG_SELF_CORRECTIVE_ALLOWED_ADDRESSES"
# Which node of the workflow's graph a step of the decision path belongs to.
NODE_OF_STEP = {
    "condense": "condense",
    "route": "condense",
    "retrieve": "retrieve",
    "boost": "retrieve",
    "dedupe": "retrieve",
    "grade": "grade",
    "assess": "grade",
    "rewrite": "rewrite",
    "web_search": "web_search",
    "order": "generate",
    "compress": "generate",
    "generate": "generate",
    "verify": "generate",
}
NODE_STATUS = {
    "skipped": "skipped",
    "failed": "error",
}  # every other status of a step means completed
OPTIONS = {
    "topK": "top_k",
    "similarityThreshold": "min_similarity",
    "maxRewriteAttempts": "max_rewrites",
    "gradePassThreshold": "pass_rate",
    "forceGenerate": "force_generate",
}
Step = Mapping[str, Any]


def _allowed_addresses() -> list[str]:
    """Names of the site's own index that requests may use."""
    named = settings.RAG.self_corrective.allowed_addresses.split(",")
    return [SEED_ADDRESS, *(address.strip() for address in named if address.strip())]


def means_this_index(address: str) -> bool:
    """Whether an address is a name of the site's own index. Nothing that a request names is connected to."""
    own = settings.RAG.milvus.uri or milvus_lite.current_uri(settings.RAG.data_dir)
    return _host_and_port(address) in map(
        _host_and_port, filter(None, [own, *_allowed_addresses()])
    )


def _host_and_port(address: str) -> str:
    """Without scheme and path, which Milvus does without; Milvus listens on port 19530 where none is named."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        port = parts.port or MILVUS_PORT
    except ValueError:  # no address at all
        return address
    if not parts.hostname or "@" in address:
        return address
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
    return f"{host}:{port}"


class AddressField(TextField):
    schema_rules = {"enum": ["", None, *_allowed_addresses()]}

    def to_internal_value(self, data: Any) -> str:
        address = super().to_internal_value(data)
        if address and not means_this_index(address):
            message = worded(
                "This site searches its own index only: leave the address out, or have an administrator add it to "
                "{setting}.",
                setting=ADDRESSES_SETTING,
            )
            raise InvalidInputError(message, fields={"milvusConfig": {"address": [message]}})
        return address


class MilvusConfigSerializer(StrictSerializer):
    """Where to search."""

    address = AddressField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=255,
        help_text="The site's own Milvus, `localhost:19530`, or one of RAG_SELF_CORRECTIVE_ALLOWED_ADDRESSES; all of "
        "them mean this site's index, and any other is refused.",
    )
    collectionName = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=MAX_ADDRESS_CHARS,
        help_text="A collection that you may read: its id, `owner/name`, `site:name`, or name. By default, and for "
        "`rag_documents` where no collection is called so, your own, those shared with your groups, and those that the "
        "site has approved.",
    )


class SelfCorrectiveSerializer(StrictSerializer):
    """Only `query` is required; the numbers' defaults are settings (RAG_SELF_CORRECTIVE_*)."""

    query = QuestionField()
    topK = count_field("Documents to grade; 5 by default.")
    similarityThreshold = share_field(
        "Cosine below which a document is left out; by default 0.3, for those that only the vectors found."
    )
    maxRewriteAttempts = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=REWRITES_LIMIT,
        help_text="3 by default.",
    )
    gradePassThreshold = share_field(
        "Share of relevant documents to answer from; 0.6 by default, 0.8 is strict, 0.4 relaxed."
    )
    forceGenerate = FlagField(
        required=False,
        allow_null=True,
        help_text="At the last rewrite, answer from the best documents although none has passed; false by default.",
    )
    milvusConfig = MilvusConfigSerializer(required=False, allow_null=True)
    sessionId = IdField(
        required=False,
        allow_null=True,
        help_text="Go on in this conversation; a new one by default.",
    )

    def arguments(self) -> dict[str, Any]:
        """Arguments of `ask`."""
        data = self.validated_data
        options = {
            ours: data[theirs] for theirs, ours in OPTIONS.items() if data.get(theirs) is not None
        }
        request: dict[str, Any] = {"workflow": WORKFLOW, "options": options, "assistant": ""}
        if name := ((data.get("milvusConfig") or {}).get("collectionName") or "").strip():
            request["collections"] = [name]
        return {"text": data["query"], "session_id": data.get("sessionId"), "request": request}


class SelfCorrectiveApi(ChatView):
    @extend_schema(
        operation_id="self_corrective_rag",
        request=SelfCorrectiveSerializer,
        responses={
            (200, "application/json"): SelfCorrectiveAnswerSerializer,
            (200, EVENT_STREAM): EVENTS,
            **errors(409, 429),
        },
        tags=["chat"],
    )
    async def post(self, request: Request) -> Response | StreamingHttpResponse:
        """Ask with every document graded by itself. With `Accept: text/event-stream` the events of `/api/chat`."""
        serializer = await read_body(SelfCorrectiveSerializer, request)
        user = asking_user(request)
        arguments = serializer.arguments()
        if arguments["request"].get("collections") == [SEED_COLLECTION]:
            named = await sync_to_async(collection_find)(user=user, name=SEED_COLLECTION)
            if named is None:
                del arguments["request"]["collections"]
        run = await ask(user=user, **arguments)
        if wants_events(request):
            return event_stream(request, run.message.pk)
        message = await finished_message(request, run.message.pk)
        shown = response_data(message, query=serializer.validated_data["query"])
        return Response(rendered(SelfCorrectiveAnswerSerializer, shown))


# ------------------------------------------------------------------------------------------------ the seed's response
def response_data(message: Mapping[str, Any], *, query: str) -> dict[str, Any]:
    """`message`: what `chat.messages.data` makes of the finished answer. `query`: as it was sent."""
    # The entry that names the decision in the end belongs to no node of the seed's.
    steps = [
        step
        for step in message["decision_path"]
        if step["name"] != "assess" or "decision" not in step["detail"]
    ]
    rewrites = [rewrite for rewrite in details_in(steps, RewriteDetails) if rewrite.rewritten]
    condensed = [details.standalone_question for details in details_in(steps, CondenseDetails)]
    searched = [*filter(None, condensed), *(rewrite.rewritten for rewrite in rewrites)]
    documents = _graded_documents(steps)
    return {
        "success": message["status"] == "complete",
        "answer": message["answer"],
        "decision": message["decision"],
        "query": {
            "original": query,
            "final": searched[-1] if searched else query,
            "wasRewritten": bool(rewrites),
            "rewriteCount": len(rewrites),
        },
        "rewriteHistory": [
            {
                "original": rewrite.original,
                "rewritten": rewrite.rewritten,
                "reason": rewrite.rewrite_reason,
                "keywords": list(rewrite.keywords or ()),
                "attempt": rewrite.attempt,
            }
            for rewrite in rewrites
        ],
        "retrieval": {
            "totalDocuments": len(documents),
            "filteredDocuments": sum(
                document["gradeResult"]["isRelevant"] for document in documents
            ),
            "documents": documents,
        },
        "graderResult": _grader_result(steps),
        "workflow": {
            "nodeExecutions": [
                _execution(step) for step in steps if NODE_OF_STEP.get(step["name"]) == step["name"]
            ],
            "decisionPath": [
                f"{step['name'].upper()}: {step['summary'] or step['status']}" for step in steps
            ],
            "totalDuration": (message["usage"] or {}).get("total_ms", 0),
        },
        "sessionId": message["session_id"],
        "messageId": message["message_id"],
    }


def _graded_documents(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Every document that was graded, once, as in the last search that found it; the best that passed first."""
    graded: dict[str, GradedDocument] = {}
    for details in details_in(steps, GradeDetails):
        graded |= {document.chunk_id: document for document in details.documents or ()}

    def place(document: GradedDocument) -> float:
        return -document.scores.get("rerank", 0.0) if document.relevant else 0.0

    return [
        {
            "id": document.chunk_id,
            "content": document.text,
            "score": document.scores.get("dense", document.scores.get("fused", 0.0)),
            "gradeResult": _grade(document),
            "metadata": {
                "documentId": document.document_id,
                "title": document.title,
                "fileName": document.file_name,
                "page": document.page,
                "heading": document.heading,
                "scores": dict(document.scores),
            },
        }
        for document in sorted(graded.values(), key=place)
    ]


def _grade(document: GradedDocument) -> dict[str, Any]:
    """`byModel`: false where no model gave a verdict, so that the document stays."""
    return {
        "isRelevant": document.relevant,
        "confidence": document.confidence,
        "reasoning": document.reason,
        "byModel": document.by_model,
    }


def _grader_result(steps: Sequence[Step]) -> dict[str, Any] | None:
    """Of the last search; None where nothing was searched for (no documents)."""
    graded = _named(steps, "grade")
    assessed = _named(steps, "assess")
    if not assessed:
        return None
    assessment = from_json(AssessDetails, assessed[-1]["detail"])
    documents = from_json(GradeDetails, graded[-1]["detail"]).documents or ()
    return {
        "passRate": assessment.pass_rate or 0.0,
        "passCount": assessment.pass_count or 0,
        "totalCount": assessment.total_count or 0,
        "shouldRewrite": assessment.verdict == "rewrite",
        "reasoning": assessed[-1]["summary"],
        "documentGrades": [
            {"docId": document.chunk_id, **_grade(document)} for document in documents
        ],
    }


def _execution(step: Step) -> dict[str, Any]:
    """One run of a node. Times in ms since the answer was begun."""
    query = ""
    match details_of(step):
        case RetrieveDetails(queries=queries):
            query = " | ".join(searched.text for searched in queries or ())
        case RewriteDetails(original=original):
            query = original or ""
    execution = {
        "node": step["name"],
        "status": NODE_STATUS.get(step["status"], "completed"),
        "startTime": step["started_ms"],
        "endTime": step["started_ms"] + step["duration_ms"],
        "duration": step["duration_ms"],
        "input": {"query": query},
        "output": {"summary": step["summary"]},
    }
    if step["status"] in ("degraded", "failed"):
        execution["error"] = step["detail"].get("reason", "")
    return execution


def _named(steps: Sequence[Step], name: str) -> list[Step]:
    return [step for step in steps if step["name"] == name]
