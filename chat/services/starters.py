"""Starters: questions that documents answer, for a new conversation. A worker makes them while nobody asks.

    a collection that has changed ─► its newest documents without starters ─► the fast model: what could be asked?
                                  ─► each is tried in the collection, as follow-ups are ─► kept, or dropped

A starter belongs to one document: it goes with it, and is shown to who may read it. Without a model there are none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from chat.models import Message, Starter, StarterLook
from chat.runs.budgets import site_budget_check
from chat.runs.measuring import count_calls
from chat.runs.spending import tokens_count
from ragsite.core import metrics
from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from ragsite.core.text import clean_line
from retrieval.compose import get_engine
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError, ModelOutputError, ModelTimeoutError
from retrieval.engine.steps.offer.candidates import next_questions
from retrieval.engine.steps.offer.trial import try_question
from retrieval.engine.text.languages import detect_language
from retrieval.engine.trace import Trace
from retrieval.engine.values import HEADING_JOIN, Question, SearchScope
from retrieval.engine.workflows.base import language_of
from retrieval.knowledge.scopes import scope_of_documents
from retrieval.knowledge.selectors import default_documents
from retrieval.models import Chunk, Collection, Document, IngestJob

KIND = "starter"
PER_DOCUMENT = 2
PER_COLLECTION = 6
DOCUMENTS = 3  # of a collection that are read for it at a time
PASSAGES = 6  # of a document
DOCUMENT_S = 90.0  # for the questions of one document
logger = logging.getLogger(__name__)


class _AskedMeanwhileError(Exception):
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
    searched = default_documents(user).values("pk")
    return Starter.objects.filter(document__in=searched).order_by("-created_at", "-pk")


# ------------------------------------------------------------------------------------------------ made
async def starters_make(*, within_s: float) -> int:
    """Of collections that have changed since the last look. Returns how many are new.

    It ends when somebody asks, and when the model fails: what is left is for the next time.
    """
    if not settings.RAG.answer.follow_ups:
        return 0
    until = monotonic() + within_s
    made = 0
    try:
        await database_call(site_budget_check)
        await get_engine().models.chat("answer")
        while monotonic() < until:
            await _nobody_waits()
            collection = await database_call(_next_collection)
            if collection is None:
                break
            made += await _look_at(collection, until=until)
    except _AskedMeanwhileError:
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
    )
    waiting = changed.filter(Q(looked_version=None) | ~Q(looked_version=F("version")))
    return waiting.order_by(F("looked_at").asc(nulls_first=True), "created_at", "pk").first()


async def _look_at(collection: Collection, *, until: float) -> int:
    """Raises ModelError, AppError, _AskedMeanwhileError: then it is gone on with the next time, as where no time is
    left."""
    made = 0
    for subject in await database_call(_subjects, collection):
        if monotonic() > until:
            return made
        found = await _of_document(subject)
        await database_call(_store, collection, found)
        made += len(found)
        metrics.offered.labels(KIND).inc(len(found))
    await database_call(_looked, collection)
    return made


def _subjects(collection: Collection) -> list[_Subject]:
    """The newest documents that have none yet."""
    ready = Document.objects.filter(
        collection=collection, status=Document.Status.READY, superseded_at=None
    )
    newest = ready.exclude(pk__in=Starter.objects.values("document")).select_related("collection")
    subjects = []
    for document in newest.order_by("-created_at", "pk")[:DOCUMENTS]:
        longest = Chunk.objects.filter(document=document).order_by("-token_count", "seq")
        rows = list(longest.values_list("pk", "heading")[:PASSAGES])
        if rows:
            part = rows[0][1].split(HEADING_JOIN)[-1].strip()
            about = " – ".join(filter(None, dict.fromkeys((document.title, part))))
            subjects.append(_Subject(document, about, [str(pk) for pk, _ in rows]))
    return subjects


async def _of_document(subject: _Subject) -> list[Starter]:
    """None where the model makes nothing of it: the others are not to wait for it for ever.

    Raises ModelError, AppError, _AskedMeanwhileError.
    """
    await _nobody_waits()
    scope = await database_call(scope_of_documents, [subject.document])
    engine = get_engine()
    found = await engine.store.fetch(subject.chunk_ids, scope=scope)
    passages = [found[key] for key in subject.chunk_ids if key in found]
    if not passages:
        return []
    trace = Trace()
    asked = Question(text=subject.about, scope=scope)
    deps = engine.for_answer(
        trace,
        timeout_s=DOCUMENT_S,
        language=language_of(Question(text=passages[0].text, scope=scope)),
    )
    try:
        async with trace.step("generate"):
            texts = await next_questions(deps, passages, about=asked.text)
        kept: list[Starter] = []
        for text in texts:
            if len(kept) < PER_DOCUMENT and await _is_answered(deps, text, scope, subject.document):
                kept.append(_starter(subject.document, text))
        return kept
    except (ModelOutputError, ModelTimeoutError) as error:
        logger.info("document %s has no starters: %s", subject.document.pk, error)
        metrics.offered_dropped.labels(KIND, "failed").inc()
        return []
    finally:
        count_calls(trace)
        await database_call(tokens_count, trace.calls, user_id=None)


async def _is_answered(deps: Deps, text: str, scope: SearchScope, document: Document) -> bool:
    """From this document among others. Raises AppError, _AskedMeanwhileError."""
    await _nobody_waits()
    trial = await try_question(deps, Question(text=text, scope=scope))
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
def _store(collection: Collection, made: Sequence[Starter]) -> None:
    """With the newest of the collection, whose documents are there still."""
    there = set(
        Document.objects.filter(pk__in={starter.document_id for starter in made})
        .order_by()
        .values_list("pk", flat=True)
    )
    Starter.objects.bulk_create(starter for starter in made if starter.document_id in there)
    own = Starter.objects.filter(document__collection=collection)
    own.exclude(document__status=Document.Status.READY, document__superseded_at=None).delete()
    newest = list(own.order_by("-created_at", "-pk").values_list("pk", flat=True))
    Starter.objects.filter(pk__in=newest[PER_COLLECTION:]).delete()


@transaction.atomic
def _looked(collection: Collection) -> None:
    """At the state from before: what has changed since is looked at again."""
    if Collection.objects.filter(pk=collection.pk).exists():
        StarterLook.objects.update_or_create(
            collection_id=collection.pk, defaults={"version": collection.version}
        )


async def _nobody_waits() -> None:
    """For an answer, nor for a document to be read. Raises _AskedMeanwhileError."""
    if await database_call(_is_busy):
        raise _AskedMeanwhileError


def _is_busy() -> bool:
    written = Message.objects.filter(status=Message.Status.STREAMING)
    return written.exists() or IngestJob.objects.filter(state="waiting").exists()
