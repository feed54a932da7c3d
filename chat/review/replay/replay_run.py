"""Answer one stored question again, otherwise, and keep both answers beside each other.

The question is asked in the name of its asker, who decides what may be seen, after what stands before it. The
engine has no memory for it: today's would hold what the original answer left there. Nothing of the conversation, the
quotas, the ratings or their evidence is touched; what the models are known for is not learned from it. Its tokens are
the site's, not the asker's.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from chat.feedback import get_feedback
from chat.messages.data import answer_as_stored
from chat.models import Replay
from chat.review.replay.differences import is_supported
from chat.runs.budgets import site_budget_check
from chat.runs.endings import TIMED_OUT, failure_of
from chat.runs.spending import tokens_count
from chat.services.asked_request import question_of
from ragsite.core.database import database_call
from ragsite.core.leases import Lease, LeaseLostError, hold
from ragsite.core.messages import Wordings, wordings_of
from ragsite.core.text import clean_json
from ragsite.runtime import live_settings
from retrieval.compose import get_engine
from retrieval.engine.deps import Deps
from retrieval.engine.ports import Models
from retrieval.engine.providers.registry import ChosenModel
from retrieval.engine.trace import Trace
from retrieval.engine.values import Question
from retrieval.engine.workflows.registry import get_workflow
from retrieval.knowledge.api.question_fields import search_filters
from retrieval.knowledge.scopes import scope_attached, scope_of_documents, scope_of_earlier
from retrieval.knowledge.selectors import documents_named

LEASE_S = 6.0  # renewed three times as often
NO_REVISION = "none"  # as a change's revision: without what ratings make of a search
OPEN = (Replay.Status.QUEUED, Replay.Status.RUNNING)

logger = logging.getLogger(__name__)


def replay_lease(replay_id: UUID) -> Lease:
    """The right to answer it."""
    return Lease(Replay.objects.filter(status__in=OPEN), replay_id, seconds=LEASE_S)


async def replay_run(lease: Lease) -> None:
    """Answer a replay whose lease was taken, and store what it answers.

    Ends its row whatever happens, unless somebody else has taken it.
    """
    try:
        async with hold(lease):
            columns = await _columns(lease.pk)
            await database_call(partial(lease.release, finished_at=timezone.now(), **columns))
    except LeaseLostError:
        logger.info(
            "replay %s ended: another process has taken it over, or it was deleted", lease.pk
        )
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(lease.release)(status=Replay.Status.QUEUED))
        raise


async def _columns(replay_id: UUID) -> dict[str, Any]:
    """What the row ends with."""
    try:
        replay, question = await database_call(_prepare, replay_id)
        answer, wordings = await _answer(replay, question)
    except TimeoutError:
        return _failed(TIMED_OUT.code, TIMED_OUT.message)
    except Exception as error:  # noqa: BLE001 (the row ends whatever it was; `failure_of` logs it)
        failure = failure_of(error, f"replay {replay_id}")
        return _failed(failure.code, failure.message)
    decisions = [replay.message.decision, answer["decision"] or ""]
    summary = {"decision": decisions, "supported": is_supported(answer)}
    return {
        "status": Replay.Status.COMPLETE,
        "result": answer,
        "wordings": wordings,
        "summary": summary,
    }


def _failed(code: str, message: str) -> dict[str, Any]:
    error = {"code": code, "content": message}
    return {"status": Replay.Status.FAILED, "error": error, "wordings": wordings_of(message)}


def _prepare(replay_id: UUID) -> tuple[Replay, Question]:
    """The question as it was put, with what is changed of it: in its asker's scope, decided again, with the files of
    the conversation, and after what stands before it there. It remembers nothing, and nothing is remembered of it."""
    live_settings.refresh()
    site_budget_check()
    replay = Replay.objects.select_related("message__reply_to", "message__session__user").get(
        pk=replay_id
    )
    message = replay.message
    change = replay.change
    request = message.request
    user = message.session.user
    if documents := request.get("documents"):
        scope = scope_of_documents(documents_named(user=user, ids=documents))
    else:
        scope = scope_of_earlier(
            user=user,
            names=request.get("collections", []),
            ids=request.get("collection_ids", []),
            asked_at=message.created_at,
        )
    scope = scope.beside(scope_attached(user=user, conversation_id=message.session_id))
    question = question_of(message, user=user, scope=scope)
    if "filters" in change:
        question = replace(question, filters=search_filters(change["filters"]).in_mode("strict"))
    options = replace(question.options, **change.get("options", {}))
    return replay, replace(
        question,
        options=options,
        model="",
        user_id="",
        asker_id="",
        conversation_id="",
        answer_id="",
    )


async def _answer(replay: Replay, question: Question) -> tuple[dict[str, Any], Wordings]:
    """Raises AppError, ModelError, TimeoutError."""
    change = replay.change
    engine = get_engine()
    trace = Trace()
    models: Models = (
        ChosenModel(engine.models, change["model"]) if change.get("model") else engine.models
    )
    boosts = engine.boosts
    if revision := change.get("revision"):
        revision_id = None if revision == NO_REVISION else UUID(revision)
        boosts = await database_call(get_feedback().boosts_of, revision_id, models=engine.models)
    # What the engine makes of the question is asked for: neither what is remembered nor what somebody has written.
    deps: Deps = replace(engine, models=models, boosts=boosts, memory=None, curated=None)
    workflow = change.get("workflow") or replay.message.workflow or settings.RAG.answer.workflow
    began = timezone.now()
    try:
        async with asyncio.timeout(engine.settings.limits.answer_timeout_s):
            answer = await get_workflow(workflow).answer(question, engine=deps, trace=trace)
    finally:
        await database_call(tokens_count, trace.calls, user_id=None)

    def stored() -> tuple[
        dict[str, Any], Wordings
    ]:  # reads where in their documents the cited sentences stand
        data, wordings = answer_as_stored(answer, trace, workflow=workflow, created_at=began)
        return clean_json(data), wordings

    return await database_call(stored)
