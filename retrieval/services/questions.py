"""Questions to begin a conversation with: of the reader's own documents, and of the samples.

Those of a document are made of its headings, by a worker and without a model, and kept only where a search for them
finds the answer in this very document.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from retrieval.answerability import LIST_LENGTH, estimate_answerability
from retrieval.engine import get_engine
from retrieval.models import Chunk, Collection, Document
from retrieval.ports import SearchRequest
from retrieval.selectors import scope_for, scope_of
from retrieval.services.queueing import questions_queue
from retrieval.services.samples import SuggestedQuestion, sample_collections, sample_questions
from retrieval.text.topics import topics
from retrieval.values import Query, SearchScope

PER_DOCUMENT = 2
TRIED = 8  # headings of one document
CHUNKS_READ = 40
PER_COLLECTION = 50  # documents of a collection that get questions without being asked for
LOOKED_AT = 12  # the newest documents of a reader
FORMS = {
    "en": "What does “{title}” say about “{topic}”?",
    "zh-hans": "《{title}》对“{topic}”是怎么规定的？",
    "zh-hant": "《{title}》對「{topic}」是怎麼規定的？",
}

logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ making them
async def document_questions_make(document_id: UUID) -> int:
    """Make a ready document's questions anew. How many; one that has gone or is not ready has none.

    Raises IndexUnavailableError, EmbeddingUnavailableError.
    """
    read = await sync_to_async(_read)(document_id)
    if read is None:
        return 0
    document, found, scope = read
    form = FORMS.get(document.language, FORMS["en"])
    answered: list[str] = []
    for topic in _spread(found, TRIED):
        question = form.format(title=document.title, topic=topic)
        if await _is_answered(question, document, scope):
            answered.append(question)
        if len(answered) == PER_DOCUMENT:
            break
    await Document.objects.filter(pk=document_id).aupdate(questions=answered)
    return len(answered)


def document_questions_wanted(document: Document) -> bool:
    """Whether a document that has become ready gets questions now; others get theirs when a reader has few."""
    if Collection.objects.filter(pk=document.collection_id, conversation_id__isnull=False).exists():
        return False
    made = Document.objects.filter(collection=document.collection_id, questions__isnull=False)
    return len(made.values_list("pk")[:PER_COLLECTION]) < PER_COLLECTION


def _read(document_id: UUID) -> tuple[Document, list[str], SearchScope] | None:
    document = (
        Document.objects.select_related("collection").filter(pk=document_id, status=Document.Status.READY).first()
    )
    if document is None:
        return None
    chunks = Chunk.objects.filter(document=document).order_by("seq").values_list("heading", "text")[:CHUNKS_READ]
    return document, topics(document.title, chunks), scope_of(document.collection)


def _spread(found: Sequence[str], most: int) -> list[str]:
    """So many of them, from all over the document."""
    step = max(1, -(-len(found) // most))
    return list(found[::step])


async def _is_answered(question: str, document: Document, scope: SearchScope) -> bool:
    engine = get_engine()
    result = await engine.searcher.search(SearchRequest(queries=(Query(question),), scope=scope, top_k=LIST_LENGTH))
    passages = result.candidates[:LIST_LENGTH]
    if not passages or passages[0].chunk.document_id != str(document.pk):
        return False
    probability = await asyncio.to_thread(estimate_answerability, question, passages, semantic=scope.semantic)
    return probability >= engine.settings.corrective.good_score


# ------------------------------------------------------------------------------------------------ offering them
def suggested_questions(
    user: User | AnonymousUser | None, *, language: str = "", limit: int = 9
) -> list[SuggestedQuestion]:
    """Questions that the documents answer: of the newest ones of the user's own and shared collections, one of each,
    then of the samples and of the site's other documents. Never more than the user may read.

    A worker is asked for those that have not been made yet.
    """
    searched = Collection.objects.filter(pk__in=scope_for(user=user).ids)
    own = searched.filter(~Q(visibility=Collection.Visibility.PUBLIC) | Q(owner=_account(user)))
    questions = _of_documents(own, limit)
    if len(questions) < limit:
        questions += sample_questions(user, language=language, limit=limit - len(questions))
    if len(questions) < limit:
        rest = searched.exclude(pk__in=own.values("pk")).exclude(pk__in=sample_collections())
        questions += _of_documents(rest, limit - len(questions))
    return questions


def _account(user: User | AnonymousUser | None) -> User | None:
    return user if isinstance(user, User) else None


def _of_documents(collections: QuerySet[Collection], limit: int) -> list[SuggestedQuestion]:
    """One question of each of the newest documents, then a second one."""
    ready = Document.objects.filter(status=Document.Status.READY, superseded_at=None)
    newest = ready.filter(collection__in=collections.values("pk"))
    rows = list(newest.order_by("-created_at", "pk").only("questions", "language")[:LOOKED_AT])
    made = [(document.questions or [], document.language) for document in rows]
    in_turn = [
        SuggestedQuestion(questions[n], language, "ANSWER")
        for n in range(PER_DOCUMENT)
        for questions, language in made
        if len(questions) > n
    ]
    if len(in_turn) < limit:
        for document in rows:
            if document.questions is None:
                questions_queue(document_id=document.pk)
    return in_turn[:limit]
