"""What agents may do at `/mcp`: tools and resources of the Model Context Protocol.

A tool names the scope that its caller's key needs; who calls is in the request's scope (`chat.mcp.door`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import translation
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from chat.api.question_serializers import AskSerializer
from chat.api.streaming import message_of_end
from chat.labels import EFFORTS
from chat.mcp.outputs import (
    AnswerOutput,
    CollectionsOutput,
    DocumentOutput,
    FoundPassage,
    ListedCollection,
    ListedSource,
    SearchOutput,
)
from chat.messages.sources import evidence_address
from chat.runs.event_log import Event
from chat.services.stop import ask_or_stop, follow_or_stop
from ragsite.accounts.auth import require_scope
from ragsite.accounts.credentials import credential_of
from ragsite.core.api.error_responses import as_app_error, sentences, told
from ragsite.core.api.fields import checked
from ragsite.core.database import database_call
from ragsite.core.localized import language_of, localized
from retrieval.engine.values import StoredChunk
from retrieval.engine.values.counting import MAX_RULES
from retrieval.knowledge.api.collection_fields import MAX_NAMES
from retrieval.knowledge.api.count import (
    CountInputSerializer,
    CountResultSerializer,
    counted_for,
)
from retrieval.knowledge.api.search import SearchInputSerializer, search_answered
from retrieval.knowledge.selectors import chunk_list, collection_list, document_get
from retrieval.models import Document

CHUNKS_AT_ONCE = 200  # of a document
MOST_CHUNKS = 10_000_000  # no document has more; a database counts so far
COLLECTIONS_LISTED = 200
DOCUMENT_URI = "ragsite://documents/{document_id}"
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
COLLECTIONS = Field(
    max_length=MAX_NAMES,
    description="Addresses, as list_collections tells them. None: all that are searched unasked.",
)
COMPARED = Field(
    max_length=MAX_RULES,
    description="Comparisons of a column of tables or a field of forms, all of which hold: {column, operator: < <= = >= > "
    "between contains, value: number as 1234.5, YYYY-MM-DD, YYYY-MM, YYYY or text, upper: of between}.",
)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Call = Callable[Arguments, Awaitable[Result]]
server = MCPServer(
    "ragsite",
    title="Ragsite",
    instructions="Answers from the organisation's own documents, with their sources. `ask` writes an answer and says "
    "when the documents have none; `search` gives passages.",
    subscriptions=False,
    log_level="WARNING",
)


def for_scope(
    scope: str, refusal: type[Exception] = ToolError
) -> Callable[[Call[..., Result]], Call[..., Result]]:
    """Of each call: the scope is checked, and errors become a sentence."""

    def decorator(call: Call[..., Result]) -> Call[..., Result]:
        @wraps(call)
        async def checked_call(*args: Any, ctx: Context[Any, Any], **kwargs: Any) -> Result:
            try:
                with translation.override(language_of(_scope(ctx))):
                    require_scope(caller(ctx), scope)
                    return await call(*args, ctx=ctx, **kwargs)
            except Exception as error:  # a bug goes on to the SDK, which logs it and keeps its words from the caller
                if (known := as_app_error(error)) is None:
                    raise
                what = told(known)
                reasons = "; ".join(
                    f"{name}: {reason}" for name, reason in sentences(what["fields"])
                )
                raise refusal(f"{what['message']} {reasons}".strip()) from error

        return checked_call

    return decorator


def _scope(ctx: Context[Any, Any]) -> Mapping[str, Any]:
    scope: Mapping[str, Any] = ctx.request_context.request.scope  # type: ignore[union-attr]
    return scope


def caller(ctx: Context[Any, Any]) -> User:
    user: User = _scope(ctx)["ragsite"].user
    return user


# ------------------------------------------------------------------------------------------------ tools
@server.tool(annotations=READS)
@for_scope("read")
async def search(
    query: str,
    ctx: Context[Any, Any],
    collections: Annotated[list[str], COLLECTIONS] = [],  # noqa: B006 -- the schema's default; nobody changes it
    top_k: Annotated[int, Field(ge=1, le=50)] = 8,
) -> SearchOutput:
    """Passages of documents that match, best first, each with the resource that its document is."""
    body = checked(
        SearchInputSerializer, {"query": query, "collections": collections, "top_k": top_k}
    )
    found = await search_answered(user=caller(ctx), body=body)
    passages = [_passage(candidate.chunk) for candidate in found.candidates]
    return {"passages": passages, "degraded": localized(list(found.degraded))}


def _passage(chunk: StoredChunk) -> FoundPassage:
    return {
        "document_id": chunk.document_id,
        "title": chunk.title,
        "page": chunk.page,
        "heading": chunk.heading,
        "text": chunk.text,
        "uri": DOCUMENT_URI.format(document_id=chunk.document_id),
    }


@server.tool(annotations=READS)
@for_scope("read")
async def count(
    ctx: Context[Any, Any],
    words: Annotated[str, Field(max_length=200, description="That a document or row holds.")] = "",
    match: Literal["all", "phrase"] = "all",
    columns: Annotated[list[dict[str, str]], COMPARED] = [],  # noqa: B006
    unit: Literal["document", "row"] | None = None,
    doc_type: str | None = None,
    department: str | None = None,
    collections: Annotated[list[str], COLLECTIONS] = [],  # noqa: B006
    limit: Annotated[int, Field(ge=0, le=200)] = 50,
) -> dict[str, Any]:
    """Counts and lists over all documents of `collections`, or of those that are searched unasked, exactly: `total` is
    of all, `rows` are the first with their evidence, `said` says what is missing or was compared as it stands. For "how
    many" and "which", where `search` gives the best few passages alone. A key bound to collections counts in these."""
    body: dict[str, Any] = {
        "words": words,
        "match": match,
        "columns": columns,
        "filters": {"doc_type": doc_type, "department": department},
        "collections": collections,
        "limit": limit,
    }
    valid = checked(CountInputSerializer, body | ({"unit": unit} if unit else {}))
    result = await database_call(counted_for, user=caller(ctx), body=valid)
    return dict(CountResultSerializer(result).data)


@server.tool(annotations=ToolAnnotations(read_only_hint=False, open_world_hint=False))
@for_scope("ask")
async def ask(
    question: str,
    ctx: Context[Any, Any],
    collections: Annotated[list[str], COLLECTIONS] = [],  # noqa: B006
    effort: Literal["quick", "careful", "thorough"] | None = None,
    assistant: Annotated[
        str | None, Field(description="Its address: it decides what is not named here.")
    ] = None,
    conversation: Annotated[
        str | None, Field(description="To go on with one: what an earlier answer told.")
    ] = None,
) -> AnswerOutput:
    """An answer in Markdown with [1] markers, and its sources. `decision` is ANSWER, CLARIFY (it asks back: ask again
    in the same conversation) or NO_ANSWER (the documents do not hold it). `support` is what a second look says of
    it: full, partly, none (don't rely on it) or null (not looked at)."""
    body = {
        "message": question,
        **({"collections": collections} if collections else {}),
        "assistant": assistant,
        "session_id": conversation,
        **EFFORTS.get(effort or "", {}),
    }
    serializer = AskSerializer(data=body)
    serializer.is_valid(raise_exception=True)
    run = await ask_or_stop(user=caller(ctx), **serializer.arguments())
    credential = credential_of(user=caller(ctx), auth=_scope(ctx)["ragsite"], session=None)
    last: Event = {}
    async for event in follow_or_stop(run.message.pk, credential):
        if event and event["type"] in ("reasoning", "tool_call"):
            await ctx.report_progress(event["seq"], message=event["content"])
        last = event or last
    message = await message_of_end(run.message.pk, last)
    site = str(ctx.request_context.request.base_url)  # type: ignore[union-attr]
    return {
        "answer": message["answer"],
        "decision": message["decision"],
        "support": message["support"],
        "clarification": message["clarification"],
        "sources": [_source(source, site=site) for source in message["sources"]],
        "conversation": message["session_id"],
    }


def _source(source: Mapping[str, Any], *, site: str) -> ListedSource:
    return {
        "marker": source["marker"],
        "title": source["title"],
        "page": source["page"],
        "heading": source["heading"],
        "text": source["text"],
        "cited": source["cited"],
        "url": evidence_address(source, site=site),
    }


@server.tool(annotations=READS)
@for_scope("read")
async def get_document(
    document_id: UUID,
    ctx: Context[Any, Any],
    first: Annotated[
        int, Field(ge=0, le=MOST_CHUNKS, description="To go on: `next` of the call before.")
    ] = 0,
) -> DocumentOutput:
    """A document's text, in the pieces that it is searched by, and what is known of it."""
    return await database_call(_document_data, caller(ctx), document_id, first)


def _document_data(user: User, document_id: UUID, first: int) -> DocumentOutput:
    document = document_get(user=user, document_id=document_id)
    chunks = list(chunk_list(user=user, document_id=document_id)[first : first + CHUNKS_AT_ONCE])
    after = first + len(chunks)
    return {
        "title": document.title,
        "collection": document.collection.address,
        "status": document.status,
        "department": document.department,
        "doc_type": document.doc_type,
        "policy_year": document.policy_year,
        "tags": document.tags,
        "summary": document.summary,
        "passages": [
            {"page": chunk.page, "heading": chunk.heading, "text": chunk.text} for chunk in chunks
        ],
        "next": after if after < document.chunk_count else None,
    }


@server.tool(annotations=READS)
@for_scope("read")
async def list_collections(ctx: Context[Any, Any]) -> CollectionsOutput:
    """The collections of documents that you see, by the addresses that search and ask take."""

    def listed() -> list[ListedCollection]:
        rows: list[Any] = list(collection_list(user=caller(ctx))[:COLLECTIONS_LISTED])
        return [
            {
                "address": row.address,
                "description": row.description,
                "documents": row.document_count,
            }
            for row in rows
        ]

    return {"collections": await database_call(listed)}


# ------------------------------------------------------------------------------------------------ resources
@server.resource(DOCUMENT_URI, name="document", title="Document", mime_type="text/markdown")
@for_scope("read", ResourceNotFoundError)
async def document(document_id: UUID, ctx: Context[Any, Any]) -> str:
    """A document's text."""

    def read() -> tuple[Document, list[str]]:
        texts = chunk_list(user=caller(ctx), document_id=document_id).values_list("text", flat=True)
        return document_get(user=caller(ctx), document_id=document_id), list(texts)

    row, texts = await database_call(read)
    return "\n\n".join([f"# {row.title}", *texts])
