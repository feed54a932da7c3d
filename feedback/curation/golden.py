"""Golden questions: what a revision and the site's answers are measured on. Entered one by one, or made from a reviewed
answer. One expects documents, or `NO_ANSWER` or `CLARIFY`; then it has no document, and no search is measured on it.

Who may not know of a collection knows none of its golden questions and makes none there: `golden_list` and
`golden_save` see to it, for pages, files and administration alike.

Audited, because a revision may pass when a question is deleted or switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from chat.models import Message
from chat.review.queue import collections_known
from feedback.models import GoldenQuestion, GoldenRelevance, RevisionEvent
from feedback.rounds.deletions import one_at_a_time
from ragsite.core.errors import AppError, InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.models import Chunk, Collection, Document
from retrieval.selectors import collection_named

MAX_TEXT_CHARS = 4000
MAX_RELEVANT = 100
MAX_SET_CHARS = 100
GRADES = GoldenRelevance.Grade.values
LOGGED_CHARS = 300
NO_COLLECTION = worded("There is no such collection; choose another one.")
NOTHING_RELEVANT = worded("Where NO_ANSWER or CLARIFY is expected, no document answers it: name none.")
Action = RevisionEvent.Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevant:
    """What answers a question: a document, or with chunk_id one chunk of it. grade: 1 partly … 3 fully."""

    document_id: UUID
    chunk_id: UUID | None = None
    grade: int = 1


def golden_list(*, user: User) -> QuerySet[GoldenQuestion]:
    """Of the collections that `user` may know of."""
    return GoldenQuestion.objects.filter(collection__in=collections_known(user).order_by().values("pk"))


@transaction.atomic
def golden_save(
    *,
    by: User,
    text: str,
    collection: Collection,
    relevant: Sequence[Relevant],
    expects: str = GoldenQuestion.Expected.ANSWER,
    enabled: bool = True,
    set_name: str = "",
    source: str = GoldenQuestion.Origin.MANUAL,
    message: Message | None = None,
    question: GoldenQuestion | None = None,
) -> GoldenQuestion:
    """Make a golden question, or write `question` anew. Raises InvalidInputError, also where its collection has one in
    the same words already, or is none that `by` may know of."""
    if not collections_known(by).filter(pk=collection.pk).exists():
        raise InvalidInputError(NO_COLLECTION, fields={"collection": [NO_COLLECTION]})
    one_at_a_time()  # another curator may be making the same one
    action = Action.GOLDEN_CHANGED if question else Action.GOLDEN_ADDED
    text, set_name = (" ".join(clean_text(one).split()) for one in (text, set_name))
    golden_check(text, collection, relevant, expects=expects)
    is_as_before = question is not None and (question.text, question.collection_id) == (text, collection.pk)
    if not is_as_before and GoldenQuestion.objects.filter(collection=collection, text=text).exists():
        raise InvalidInputError(
            fields={"text": [worded("{collection} has this golden question already.", collection=collection.name)]}
        )
    if len(set_name) > MAX_SET_CHARS:
        raise InvalidInputError(
            fields={"set": [worded("At most {max_set_chars} characters.", max_set_chars=MAX_SET_CHARS)]}
        )
    if question is None:
        question = GoldenQuestion(source=source, message=message, created_by=by)
    question.text, question.collection, question.enabled, question.set_name = text, collection, enabled, set_name
    question.expects = expects
    question.save()
    question.relevant.all().delete()
    GoldenRelevance.objects.bulk_create(
        GoldenRelevance(question=question, document_id=item.document_id, chunk_id=item.chunk_id, grade=item.grade)
        for item in relevant
    )
    golden_log(action, question, by=by)
    return question


@transaction.atomic
def golden_delete(*, question: GoldenQuestion, by: User) -> None:
    golden_log(Action.GOLDEN_DELETED, question, by=by)
    question.delete()


def golden_log(action: str, question: GoldenQuestion, *, by: User) -> None:
    """As the question is now."""
    RevisionEvent.log(
        action,
        by=by,
        detail={
            "golden_question": str(question.pk),
            "question": question.text[:LOGGED_CHARS],
            "collection": question.collection.name,
            "enabled": question.enabled,
            "set": question.set_name,
            "expects": question.expects,
            "relevant": question.relevant.count(),
        },
    )


def golden_check(
    text: str, collection: Collection, relevant: Sequence[Relevant], *, expects: str = GoldenQuestion.Expected.ANSWER
) -> None:
    """Raises InvalidInputError."""
    fields: dict[str, list[str]] = {}
    if not text:
        fields["text"] = [worded("Write the question.")]
    elif len(text) > MAX_TEXT_CHARS:
        fields["text"] = [worded("Use at most {most} characters.", most=MAX_TEXT_CHARS)]
    if expects not in GoldenQuestion.Expected.values:
        fields["expects"] = [worded("One of {names}.", names=", ".join(GoldenQuestion.Expected.values))]
    if expects != GoldenQuestion.Expected.ANSWER:
        wrong = NOTHING_RELEVANT if relevant else ""
    else:
        wrong = _wrong_with(collection, relevant)
    if wrong:
        fields["relevant"] = [wrong]
    if fields:
        raise InvalidInputError(fields=fields)


def _wrong_with(collection: Collection, relevant: Sequence[Relevant]) -> str:
    if not relevant:
        return worded("Name at least one document or chunk that answers it.")
    if len(relevant) > MAX_RELEVANT:
        return worded("Name at most {most}.", most=MAX_RELEVANT)
    if any(item.grade not in GRADES for item in relevant):
        return worded("A grade is 1, 2 or 3.")
    if len({item.chunk_id or item.document_id for item in relevant}) < len(relevant):
        return worded("The same document or chunk is named twice.")
    wanted = {item.document_id for item in relevant}
    there = set(Document.objects.filter(pk__in=wanted, collection=collection).values_list("pk", flat=True))
    if missing := wanted - there:
        return worded(
            "The collection {name} has no document {document}.", name=collection.name, document=str(min(missing))
        )
    chunks = {item.chunk_id: item.document_id for item in relevant if item.chunk_id}
    known = dict(Chunk.objects.filter(pk__in=list(chunks)).values_list("pk", "document_id"))
    for chunk, document in chunks.items():
        if chunk is not None and known.get(chunk) != document:
            return worded("The document {document} has no chunk {chunk}.", document=str(document), chunk=str(chunk))
    return ""


def collection_find(name: str, *, user: User) -> Collection:
    """By id, `owner/name` or name, the site's own first. Raises InvalidInputError, also where it is ambiguous."""
    try:
        return collection_named(name, among=collections_known(user))
    except AppError as error:
        raise InvalidInputError(fields={"collection": [error.message]}) from error
