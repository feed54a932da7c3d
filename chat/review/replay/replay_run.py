"""Answer one stored question again, otherwise, and keep both answers beside each other.

The question is asked in the name of its asker, who decides what may be seen, after what stands before it. The
engine has no memory for it: today's would hold what the original answer left there. Nothing of the conversation, the
quotas, the ratings or their evidence is touched; what the models are known for is not learned from it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from chat import selectors
from chat.feedback import get_feedback
from chat.messages.data import answer_as_stored
from chat.models import Message, Replay
from chat.review.replay.differences import is_supported
from chat.runs.run import TIMED_OUT, failure_of
from chat.services.ask import question_of
from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError, NotFoundError
from ragsite.core.leases import Lease, LeaseLostError, hold
from ragsite.core.text import clean_json
from ragsite.core.wording import Wordings, worded, wordings_of
from ragsite.runtime import live_settings
from retrieval.api.serializers import search_filters
from retrieval.engine import get_engine
from retrieval.ports import BoostSource, Models
from retrieval.providers.registry import ChosenModel
from retrieval.selectors import documents_named, scope_attached, scope_of_documents, scope_of_earlier
from retrieval.steps.step import Deps
from retrieval.trace import Trace
from retrieval.values import Question
from retrieval.workflows import get_workflow

LEASE_S = 6.0  # renewed three times as often
NO_REVISION = "none"  # as a change's revision: without what ratings make of a search
OPEN = (Replay.Status.QUEUED, Replay.Status.RUNNING)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a question is answered. `model`: "" the site's. `revision`: "" the live one."""

    question: Question
    workflow: str
    model: str = ""
    revision: str = ""


class OriginalGoneError(ConflictError):
    message = worded("The answer's question is gone, so it can't be replayed.")


def replay_lease(replay_id: UUID) -> Lease:
    """The right to answer it."""
    return Lease(Replay.objects.filter(status__in=OPEN), replay_id, seconds=LEASE_S)


async def replay_run(lease: Lease) -> None:
    """Answer a replay whose lease was taken, and store what it answers.

    Ends its row whatever happens, unless somebody else has taken it.
    """
    try:
        async with hold(lease):
            ended = await _answered(lease.pk)
            await database_call(partial(lease.release, finished_at=timezone.now(), **ended))
    except LeaseLostError:
        logger.info("replay %s ended: another process has taken it over, or it was deleted", lease.pk)
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(lease.release)(status=Replay.Status.QUEUED))
        raise


async def _answered(replay_id: UUID) -> dict[str, Any]:
    """The columns that it ends with."""
    try:
        asked, decision = await database_call(_prepare, replay_id)
        replayed, wordings = await _answer(asked)
    except TimeoutError:
        return _failed(TIMED_OUT.code, TIMED_OUT.message)
    except Exception as error:  # noqa: BLE001 (logged there)
        failure = failure_of(error, f"replay {replay_id}")
        return _failed(failure.code, failure.message)
    return {
        "status": Replay.Status.COMPLETE,
        "result": replayed,
        "wordings": wordings,
        "summary": {"decision": [decision, replayed["decision"] or ""], "supported": is_supported(replayed)},
    }


def _failed(code: str, message: str) -> dict[str, Any]:
    return {
        "status": Replay.Status.FAILED,
        "error": {"code": code, "content": message},
        "wordings": wordings_of(message),
    }


async def _answer(setup: Setup) -> tuple[dict[str, Any], Wordings]:
    """Raises AppError, ModelError, TimeoutError."""
    engine, trace = get_engine(), Trace()
    models: Models = ChosenModel(engine.models, setup.model) if setup.model else engine.models
    boosts = engine.boosts
    if setup.revision:
        boosts = await database_call(_boosts, setup.revision, engine.models)
    # What the engine makes of the question is asked for: neither what is remembered nor what somebody has written.
    deps: Deps = replace(engine, models=models, boosts=boosts, memory=None, curated=None)
    began = timezone.now()
    async with asyncio.timeout(engine.settings.limits.answer_timeout_s):
        answer = await get_workflow(setup.workflow).answer(setup.question, engine=deps, trace=trace)

    def stored() -> tuple[dict[str, Any], Wordings]:  # reads where in their documents the cited sentences stand
        data, wordings = answer_as_stored(answer, trace, workflow=setup.workflow, created_at=began)
        return clean_json(data), wordings

    return await database_call(stored)


def _boosts(revision: str, models: Models) -> BoostSource:
    wanted = None if revision == NO_REVISION else UUID(revision)
    return get_feedback().boosts_of(wanted, models=models)


# ------------------------------------------------------------------------------------------------ what was asked
def _prepare(replay_id: UUID) -> tuple[Setup, str]:
    """What is asked, and the decision then. Raises OriginalGoneError, NotFoundError, CollectionNotFoundError."""
    live_settings.refresh()
    replay = Replay.objects.filter(pk=replay_id).first()
    if replay is None:
        raise NotFoundError
    message = selectors.message_find(replay.message_id)
    if message is None or message.role != Message.Role.ASSISTANT or message.reply_to is None:
        raise OriginalGoneError
    return _changed(as_asked(message), replay.change), message.decision


def as_asked(message: Message) -> Setup:
    """An answer's question as it was put: the asker's scope, decided anew, with the files of the conversation, and
    what stands before it there. It remembers nothing, and nothing is remembered of it."""
    request, user, documents = message.request, message.session.user, message.request.get("documents", ())
    scope = scope_of_earlier(
        user=user,
        names=request.get("collections", []),
        ids=request.get("collection_ids", []),
        asked_at=message.created_at,
    )
    if documents:
        scope = scope_of_documents(documents_named(user=user, ids=documents))
    scope = scope.beside(scope_attached(user=user, conversation_id=message.session_id))
    question = question_of(message, user=user, scope=scope)
    return Setup(
        question=replace(question, model="", user_id="", conversation_id="", answer_id=""),
        workflow=message.workflow or settings.RAG.answer.workflow,
    )


def _changed(setup: Setup, change: Mapping[str, Any]) -> Setup:
    question = setup.question
    if "filters" in change:
        question = replace(question, filters=search_filters(change["filters"]).in_mode("strict"))
    if "options" in change:
        question = replace(question, options=replace(question.options, **change["options"]))
    return Setup(
        question=question,
        workflow=change.get("workflow") or setup.workflow,
        model=change.get("model") or setup.model,
        revision=change.get("revision") or "",
    )
