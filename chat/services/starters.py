"""Starters: questions that documents answer, for a new conversation. A worker makes them while nobody asks.

    a collection that has changed ─► its newest documents without starters ─► the fast model: what could be asked?
                                  ─► each is tried in the collection, as follow-ups are ─► kept, or dropped

They are tried as somebody would ask them who chooses nothing: by the site's default assistant, where it looks. Once
that asks otherwise, those that were tried before go, and new ones are made. A starter belongs to one document: it goes
with it, and is shown to people who may read it. Without a model there are none. One worker at a time makes them, and
what the model fails at holds up neither documents nor collections behind it.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from chat.models import Assistant, Message, Starter, StarterLook
from chat.runs.answering import engine_for
from chat.runs.budgets import site_budget_check
from chat.runs.measuring import count_calls
from chat.runs.spending import tokens_count
from chat.services.assistant_asked import by_default, documents_by_default
from chat.services.default_assistant import default_assistant
from ragsite.core import metrics
from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from ragsite.core.leases import LeaseLostError, NamedLease, hold
from ragsite.core.text import clean_line
from retrieval.compose import get_engine
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError, ModelUnavailableError
from retrieval.engine.steps.offer.candidates import next_questions
from retrieval.engine.steps.offer.trial import try_question
from retrieval.engine.text.languages import detect_language
from retrieval.engine.text.same_question import word_key
from retrieval.engine.trace import Trace
from retrieval.engine.values import HEADING_JOIN, Question
from retrieval.engine.workflows.base import language_of
from retrieval.knowledge.scopes import scope_of_documents
from retrieval.models import Chunk, Collection, Document, IngestJob

KIND = "starter"
PER_DOCUMENT = 2
PER_COLLECTION = 6
DOCUMENTS = 3  # of a collection that are read for it at a time
PASSAGES = 6  # of a document
DOCUMENT_S = 90.0  # for the questions of one document
TRIES = 2  # at a document that the model fails at
GIVEN = ("instructions", "workflow", "options", "filters", "model")  # by an assistant
LEASE = "starters"
LEASE_S = 60.0
logger = logging.getLogger(__name__)


class _QuestionCameError(Exception):
    """Somebody waits for an answer: the model server is theirs."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A document, and what of it questions are made of."""

    document: Document
    about: str
    chunk_ids: Sequence[str]


# ------------------------------------------------------------------------------------------------ read
def starters(*, user: User) -> QuerySet[Starter]:
    """Of the documents that the user's questions search unasked, the newest first."""
    if not settings.RAG.answer.follow_ups:
        return Starter.objects.none()
    searched = documents_by_default(user).values("pk")
    return Starter.objects.filter(document__in=searched).order_by("-created_at", "-pk")


# ------------------------------------------------------------------------------------------------ made
async def starters_make(*, within_s: float) -> int:
    """Of collections that have changed since the last look, or are asked otherwise. Returns how many are new; 0 also
    where another worker makes them.

    It ends when somebody asks, and when the model server fails: what is left is for the next time.
    """
    if not settings.RAG.answer.follow_ups:
        return 0
    lease = NamedLease(LEASE, seconds=LEASE_S)
    if not await database_call(lease.take):
        return 0
    try:
        async with hold(lease):
            return await _make(until=monotonic() + within_s)
    except LeaseLostError:
        return 0
    finally:
        await database_call(lease.release)


async def _make(*, until: float) -> int:
    made = 0
    try:
        await database_call(site_budget_check)
        await get_engine().models.chat("answer")
        while monotonic() < until:
            await _is_idle()
            collection = await database_call(_next_collection)
            if collection is None:
                break
            async for new in _process_collection(collection, until=until):
                made += new
    except _QuestionCameError:
        logger.info("starters wait: the model server has other work")
    except (ModelError, AppError) as error:
        logger.info("starters could not be looked for: %s", error)
    return made


def _next_collection() -> Collection | None:
    """The one that has waited longest. Files of conversations are nobody's to start with, samples have questions."""
    looked = StarterLook.objects.filter(collection=OuterRef("pk"))
    changed = Collection.objects.filter(conversation_id=None, is_sample=False).annotate(
        looked_version=Subquery(looked.values("version")),
        looked_at=Subquery(looked.values("looked_at")),
        was_asked_as=Subquery(looked.values("asked_as")),
        is_begun=Exists(looked.filter(tried__isnull=False)),
    )
    assistant = default_assistant()
    if assistant and assistant.collections:
        wanted = Q(pk__in=assistant.collections)
        if assistant.with_own:
            wanted |= Q(owner__isnull=False)
        changed = changed.filter(wanted)
    is_new = Q(looked_version=None) | ~Q(looked_version=F("version"))
    mark = _asked_as(assistant)
    is_asked_otherwise = ~Q(was_asked_as=mark)
    if mark is not None:
        is_asked_otherwise |= Q(was_asked_as=None)
    waiting = changed.filter(is_new | is_asked_otherwise | Q(is_begun=True))
    return waiting.order_by(F("looked_at").asc(nulls_first=True), "created_at", "pk").first()


async def _process_collection(collection: Collection, *, until: float) -> AsyncIterator[int]:
    """How many of each of its documents are new.

    Raises ModelError, AppError, _QuestionCameError: then it is resumed once the others had their turn, as where
    no time is left.
    """
    for subject in await database_call(_begun, collection):
        if monotonic() > until:
            return
        try:
            found = await _of_document(subject)
        except ModelError as error:
            await database_call(_tried, subject.document, times=1)
            if isinstance(error, ModelUnavailableError):
                raise
            logger.info("document %s has no starters yet: %s", subject.document.pk, error)
            metrics.offered_dropped.labels(KIND, "failed").inc()
            continue
        stored = await database_call(_store, subject.document, found)
        metrics.offered.labels(KIND).inc(stored)
        yield stored
    await database_call(_mark_processed, collection)


def _begun(collection: Collection) -> list[_Subject]:
    """A look begins, or goes on: the documents that are left for it. One that was asked otherwise begins again."""
    asked_as = _asked_as(default_assistant())
    begun = {"version": 0, "asked_as": asked_as}
    look, _ = StarterLook.objects.get_or_create(collection=collection, defaults=begun)
    if look.asked_as != asked_as:
        Starter.objects.filter(document__collection=collection).delete()
        look.asked_as = asked_as
        look.tried = None
    look.tried = look.tried or {}
    look.save()  # the others come before this one again
    return _subjects(collection, look.tried)


def _asked_as(assistant: Assistant | None) -> uuid.UUID | None:
    """A mark of what an assistant gives to a question, but for where it looks; None where there is none."""
    if assistant is None:
        return None
    given = {name: getattr(assistant, name) for name in GIVEN}
    return uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(given, sort_keys=True))


def _subjects(collection: Collection, tried: Mapping[str, int]) -> list[_Subject]:
    """The newest documents that have none yet; first those that the model did not fail at."""
    done = [key for key, times in tried.items() if times >= TRIES]
    ready = Document.objects.filter(
        collection=collection, status=Document.Status.READY, superseded_at=None
    )
    without = ready.exclude(pk__in=Starter.objects.values("document")).exclude(pk__in=done)
    newest = without.select_related("collection").order_by("-created_at", "pk")
    left = max(0, DOCUMENTS - len(done))
    subjects = []
    for document in sorted(newest[:left], key=lambda row: tried.get(str(row.pk), 0)):
        longest = Chunk.objects.filter(document=document).order_by("-token_count", "seq")
        rows = list(longest.values_list("pk", "heading")[:PASSAGES])
        if rows:
            part = rows[0][1].split(HEADING_JOIN)[-1].strip()
            about = " – ".join(filter(None, dict.fromkeys((document.title, part))))
            subjects.append(_Subject(document, about, [str(pk) for pk, _ in rows]))
    return subjects


async def _of_document(subject: _Subject) -> list[Starter]:
    """Raises ModelError, AppError, _QuestionCameError."""
    await _is_idle()
    scope = await database_call(scope_of_documents, [subject.document])
    found = await get_engine().store.fetch(subject.chunk_ids, scope=scope)
    passages = [found[key] for key in subject.chunk_ids if key in found]
    if not passages:
        return []
    asked = await database_call(by_default, Question(text=subject.about, scope=scope))
    trace = Trace()
    deps = (await engine_for(asked)).for_answer(
        trace,
        timeout_s=DOCUMENT_S,
        language=language_of(Question(text=passages[0].text, scope=scope)),
        instructions=asked.instructions,
    )
    try:
        async with trace.step("generate"):
            texts = await next_questions(deps, passages, about=asked.text)
        kept: list[Starter] = []
        for text in texts:
            question = replace(asked, text=text)
            if len(kept) < PER_DOCUMENT and await _is_answered(deps, question, subject.document):
                kept.append(_starter(subject.document, text))
        return kept
    finally:
        count_calls(trace)
        await database_call(tokens_count, trace.calls, user_id=None)


async def _is_answered(deps: Deps, question: Question, document: Document) -> bool:
    """From this document among others. Raises AppError, _QuestionCameError."""
    await _is_idle()
    trial = await try_question(deps, question)
    outcome = trial.outcome
    if outcome == "answered":
        cited = {source.chunk.document_id for source in trial.sources}
        if str(document.pk) in cited:
            return True
        outcome = "unsupported"
    metrics.offered_dropped.labels(KIND, outcome).inc()
    return False


def _starter(document: Document, text: str) -> Starter:
    return Starter(document=document, text=clean_line(text), language=detect_language(text))


@transaction.atomic
def _store(document: Document, made: Sequence[Starter]) -> int:
    """With the newest of the collection, where the document is there still. Returns how many are new: what the
    collection is asked in nearly the same words already is not offered twice."""
    if not Document.objects.select_for_update().filter(pk=document.pk).order_by().exists():
        return 0
    _tried(document, times=TRIES)
    own = Starter.objects.filter(document__collection=document.collection_id)
    own.exclude(document__status=Document.Status.READY, document__superseded_at=None).delete()
    known = set(map(word_key, own.values_list("text", flat=True)))
    new = [starter for starter in made if word_key(starter.text) not in known]
    Starter.objects.bulk_create(new)
    newest = list(own.order_by("-created_at", "-pk").values_list("pk", flat=True))
    Starter.objects.filter(pk__in=newest[PER_COLLECTION:]).delete()
    return len(new)


def _tried(document: Document, *, times: int) -> None:
    look = StarterLook.objects.filter(collection=document.collection_id).first()
    if look is not None:
        tried = look.tried or {}
        look.tried = tried | {str(document.pk): tried.get(str(document.pk), 0) + times}
        look.save()


def _mark_processed(collection: Collection) -> None:
    """At the state from before: what has changed since is looked at again. A document that the model failed at once is
    left for another turn."""
    look = StarterLook.objects.filter(collection=collection.pk).first()
    if look is None or _subjects(collection, look.tried or {}):
        return
    look.version = collection.version
    look.tried = None
    look.save()


async def _is_idle() -> None:
    """For an answer, nor for a document to be read. Raises _QuestionCameError."""
    if await database_call(_is_busy):
        raise _QuestionCameError


def _is_busy() -> bool:
    written = Message.objects.filter(status=Message.Status.STREAMING)
    return written.exists() or IngestJob.objects.filter(state="waiting").exists()
