"""How a question is asked: the request that is stored with its answer, the scope that it searches, and what of both
the engine is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from chat import selectors
from chat.models import Message
from chat.runs.attachments import FINISHED
from chat.services.assistant_asked import asked_by, filters_of, without_assistant_values
from ragsite.accounts.auth import bound_to
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from retrieval.compose import get_engine
from retrieval.engine.providers.server import canonical
from retrieval.engine.text import quoting
from retrieval.engine.values import (
    AnswerOptions,
    DocumentTask,
    HistoryMessage,
    Question,
    SearchScope,
)
from retrieval.knowledge.scopes import scope_attached, scope_for, scope_of_documents
from retrieval.knowledge.selectors import attached_documents, collection_addresses, documents_named
from retrieval.models import Document

SHOWN_MODELS = 20
COMPARED = 2


def question_of(answer: Message, *, user: User, scope: SearchScope) -> Question:
    """What the engine is given for an answer that is to be written."""
    question = answer.reply_to
    request = answer.request
    assert question is not None
    documents = tuple(request.get("documents", ()))
    is_first = question.follows_id is None
    if "history" in request:  # of a client that sends all of a conversation each time
        history = tuple(HistoryMessage(**message) for message in request["history"])
    else:
        history = (
            () if is_first else selectors.history_before(question, limit=quoting.HISTORY_MESSAGES)
        )
    remembers = (
        answer.session.kept and bound_to(user) is None
    )  # what is remembered comes from any collection
    return Question(
        text=question.text,
        scope=scope,
        history=history,
        task=DocumentTask(request["task"], documents) if request.get("task") else None,
        filters=replace(filters_of(request), documents=documents),
        options=AnswerOptions(**request.get("options", {})),
        model=request.get("model", ""),
        assistant=asked_by(request),
        open_clarification=None if is_first else selectors.open_clarification_before(question),
        user_id=str(user.pk) if remembers else "",
        asker_id=str(user.pk),
        conversation_id=str(answer.session_id),
        answer_id=str(answer.pk),
        language=request.get("language", ""),
    )


def request_scope(*, user: User, request: Mapping[str, Any]) -> SearchScope:
    """What is searched: the collections of the documents that are named, else those that are named, else what is
    searched unasked. Raises CollectionNotFoundError, NotFoundError, InvalidInputError where a document is not read yet.
    """
    ids = request.get("documents", ())
    if not ids:
        return scope_for(
            user=user, names=request.get("collection_ids") or request.get("collections", ())
        )
    documents = documents_named(user=user, ids=ids)
    for document in documents:
        # For files of its conversation a question waits.
        if document.collection.conversation_id is None and document.status != Document.Status.READY:
            raise InvalidInputError(
                worded(
                    "“{title}” has not been read yet; ask again when it is ready.",
                    title=document.title,
                ),
                fields={"documents": [str(document.pk)]},
            )
    return scope_of_documents(documents)


def with_attachments(
    scope: SearchScope, *, user: User, conversation_id: UUID
) -> tuple[SearchScope, list[UUID]]:
    """The scope beside the files of the conversation, and which of them are still to be read."""
    attached = dict(
        attached_documents(user=user, conversation_id=conversation_id).values_list("pk", "status")
    )
    if not attached:
        return scope, []
    unread = [key for key, status in attached.items() if status not in FINISHED]
    return scope.beside(scope_attached(user=user, conversation_id=conversation_id)), unread


def merged_request(answer: Message, request: Mapping[str, Any]) -> dict[str, Any]:
    """How an answer was asked for, but for what `request` holds."""
    before = without_assistant_values({"workflow": answer.workflow, **answer.request})
    before.pop("offered", None)
    if "assistant" in request:  # another one brings its own way
        before.pop("workflow", None)
        before.pop("options", None)
    if "collections" in request:
        before.pop("collection_ids", None)
    if "filters" in request:
        before.pop("filters_mode", None)
    merged = {**before, **request}
    if "options" in request:  # those that it does not name stay as they were
        merged["options"] = {**before.get("options", {}), **request["options"]}
    return merged


def keep_addresses(request: dict[str, Any], scope: SearchScope) -> None:
    """Ids tell a reader nothing: addresses are kept in their place. A name may mean another collection one day, so that
    the ids are kept, too."""
    if names := request.get("collections"):
        addresses = collection_addresses(scope.ids)
        request["collections"] = [addresses.get(name.lower(), name) for name in names]
        request["collection_ids"] = list(scope.ids)


def require_documents(request: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where a task lacks its documents."""
    ids = request.get("documents", ())
    task = request.get("task")
    if task in ("summarise", "compare") and not ids:
        raise InvalidInputError(
            worded("Name the document that this is about."),
            fields={"documents": [worded("At least one.")]},
        )
    if task == "compare" and len(ids) != COMPARED:
        raise InvalidInputError(
            worded("Name the two documents to compare."),
            fields={"documents": [worded("Exactly two.")]},
        )


async def model_chosen(model: str) -> str:
    """Its whole name. Raises InvalidInputError for one that can't be chosen here and now."""
    status = await get_engine().models.status()
    if whole := next(
        (name for name in status.chat_models if canonical(name) == canonical(model)), ""
    ):
        return whole
    known = ", ".join(status.chat_models[:SHOWN_MODELS]) or "-"
    raise InvalidInputError(fields={"model": [worded("One of {known}.", known=known)]})
