"""A question waits until the files that came with it are read, and says so where it could not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.contrib.auth.models import User

from ragsite.core.database import database_call
from ragsite.core.messages import joined, worded
from retrieval.engine.path_details import RetrieveDetails
from retrieval.engine.reasons import Reason
from retrieval.engine.trace import Trace
from retrieval.engine.values import Question, SearchScope
from retrieval.knowledge.scopes import scope_attached
from retrieval.models import Document

READ_WAIT_S = 60.0  # for all files of a question; what is not read by then is not searched
LOOK_EVERY_S = 0.4
FINISHED = (Document.Status.READY, Document.Status.FAILED)


async def attachments_await(
    question: Question, *, unread: Sequence[UUID], trace: Trace
) -> Question:
    """The question, with the attached files that are read by now in its scope.

    `unread`: those that were not when it was asked. The decision path tells what was waited for; files that could not
    be read, or not in time, stand in its `unread`.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + READ_WAIT_S
    async with trace.step("retrieve") as step:
        documents = await database_call(_documents, unread)
        await trace.announce("attachments", worded("Reading {names}", names=_names(documents)))
        while loop.time() < until and any(
            document.status not in FINISHED for document in documents
        ):
            await asyncio.sleep(LOOK_EVERY_S)
            documents = await database_call(_documents, unread)
        read = [document for document in documents if document.status == Document.Status.READY]
        left = [document for document in documents if document not in read]
        if read:
            step.note("attachments_read", names=_names(read))
        if left:
            step.add(RetrieveDetails(unread=tuple(document.file_name for document in left)))
            failed = all(document.status == Document.Status.FAILED for document in left)
            code = "attachments_unreadable" if failed else "attachments_not_ready"
            step.degrade(Reason(code, {"names": _names(left)}))
        scope = await database_call(_scope, question)
    return replace(question, scope=scope)


def _names(documents: Sequence[Document]) -> str:
    return joined(", ", [worded("“{name}”", name=document.file_name) for document in documents])


def _documents(ids: Sequence[UUID]) -> list[Document]:
    return list(
        Document.objects.filter(pk__in=ids).only("file_name", "status").order_by("created_at", "pk")
    )


def _scope(question: Question) -> SearchScope:
    """The collection of the files has an embedding space, and another version, once they are read."""
    user = User.objects.filter(pk=question.user_id).first()
    if user is None:
        return question.scope
    fresh = scope_attached(user=user, conversation_id=UUID(question.conversation_id))
    return question.scope.beside(fresh)
