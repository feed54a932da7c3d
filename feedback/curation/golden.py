"""Golden questions: what a revision is measured on. Made from a reviewed answer. One expects documents, or
`NO_ANSWER` or `CLARIFY`; then it has no document, and no search is measured on it.

Without the right to know a collection one sees none of its golden questions and makes none there: `golden_list` and
`golden_save` see to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from chat.models import Message
from chat.review.queue import collections_known
from feedback.models import GoldenQuestion
from feedback.rounds.deletions import one_at_a_time
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.models import Collection, Document

MAX_TEXT_CHARS = 4000
MAX_DOCUMENTS = 100
NO_DOCUMENT = worded("Tick at least one document that answers it.")
NO_COLLECTION = worded("There is no such collection; choose another one.")
Expected = GoldenQuestion.Expected


def golden_list(*, user: User) -> QuerySet[GoldenQuestion]:
    """Of the collections that `user` may know of."""
    return GoldenQuestion.objects.filter(
        collection__in=collections_known(user).order_by().values("pk")
    )


@transaction.atomic
def golden_save(
    *,
    by: User,
    text: str,
    collection: Collection,
    documents: Sequence[Document] = (),
    expects: str = Expected.ANSWER,
    message: Message | None = None,
) -> GoldenQuestion:
    """In place of the one that its collection has in the same words. message: the answer that it is made from; a
    question that was made from one stays so. Raises InvalidInputError, also where `collection` is none that `by` may
    know of."""
    if not collections_known(by).filter(pk=collection.pk).exists():
        raise InvalidInputError(NO_COLLECTION, fields={"collection": [NO_COLLECTION]})
    text = " ".join(clean_text(text).split())
    golden_check(text, collection, documents, expects)
    one_at_a_time()  # another curator may be making the same one
    values: dict[str, Any] = {"expects": expects, "message": message, "created_by": by}
    if message is not None:
        values["from_answer"] = True
    question, _ = GoldenQuestion.objects.update_or_create(
        collection=collection,
        text=text,
        defaults=values,
        create_defaults={"from_answer": message is not None} | values,
    )
    question.documents.set(documents)
    return question


def golden_check(
    text: str, collection: Collection, documents: Sequence[Document], expects: str
) -> None:
    """Raises InvalidInputError for what is no golden question."""
    fields: dict[str, list[str]] = {}
    if not text:
        fields["text"] = [worded("Write the question.")]
    elif len(text) > MAX_TEXT_CHARS:
        fields["text"] = [worded("Use at most {most} characters.", most=MAX_TEXT_CHARS)]
    if expects not in Expected.values:
        fields["expects"] = [worded("One of {names}.", names=", ".join(Expected.values))]
    elif expects != Expected.ANSWER and documents:
        fields["documents"] = [
            worded("Where NO_ANSWER or CLARIFY is expected, no document answers it: name none.")
        ]
    elif expects == Expected.ANSWER and not 1 <= len(documents) <= MAX_DOCUMENTS:
        fields["documents"] = [NO_DOCUMENT]
    elif any(document.collection_id != collection.pk for document in documents):
        fields["documents"] = [worded("Tick documents of one collection.")]
    if fields:
        raise InvalidInputError(fields=fields)
