"""Curated answers: written or checked by a curator for a question, given to whoever asks nearly the same. Audited.

One is in force until a person withdraws it, it expires, or a passage that it cites is no longer there as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chat.messages.rendering import cited_markers
from chat.models import Message
from feedback.models import CuratedAnswer, CuratedSource, RevisionEvent
from feedback.ranking.same_question import wording
from feedback.rounds.deletions import one_at_a_time
from ragsite.core.errors import ConflictError, InvalidInputError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.models import Chunk
from retrieval.selectors import visible_collections

MAX_QUESTION_CHARS = 600
MAX_TEXT_CHARS = 20_000
MAX_WORDINGS = 20
MAX_SOURCES = 20
LOGGED_CHARS = 300
End = CuratedAnswer.End


@transaction.atomic
def curated_save(
    *,
    by: User,
    question: str,
    text: str,
    chunk_ids: Sequence[UUID],
    wordings: Sequence[str] = (),
    message: Message | None = None,
    expires_at: datetime | None = None,
    replaces: CuratedAnswer | None = None,
) -> CuratedAnswer:
    """chunk_ids: of the passages under the markers of the text, from 1; each one that the curator may read, or that the
    reviewed answer was given. Raises InvalidInputError; ConflictError where another one in force answers the question.
    """
    one_at_a_time()  # another curator may be answering the same question
    question, wordings = _line(question), [line for line in dict.fromkeys(map(_line, wordings)) if line]
    text = clean_text(text).strip()
    chunks = {chunk.pk: chunk for chunk in _readable(chunk_ids, by, message)}
    _check(question, wordings, text, chunk_ids, chunks, expires_at)
    others = CuratedAnswer.in_force().exclude(pk=replaces.pk) if replaces else CuratedAnswer.in_force()
    if other := _nearly_the_same([question, *wordings], others):
        raise ConflictError(
            worded("“{question}” is answered by another curated answer: change or withdraw that one.", question=other)
        )
    if replaces is not None:
        curated_end(answer=replaces, end=End.REPLACED, by=by)
    answer = CuratedAnswer.objects.create(
        question=question, wordings=wordings, text=text, message=message, created_by=by, expires_at=expires_at
    )
    CuratedSource.objects.bulk_create(
        CuratedSource(
            answer=answer,
            marker=marker,
            document_id=chunks[key].document_id,
            chunk_id=key,
            title=chunks[key].document.title[:300],
            text=chunks[key].text,
        )
        for marker, key in enumerate(chunk_ids, start=1)
    )
    _log(RevisionEvent.Action.CURATED_SET, answer, by=by)
    return answer


@transaction.atomic
def curated_end(*, answer: CuratedAnswer, end: str = End.BY_PERSON, by: User | None = None, why: str = "") -> None:
    """Raises ConflictError when it has ended already."""
    rows = CuratedAnswer.objects.filter(pk=answer.pk, ended_at=None)
    if not rows.update(ended_at=timezone.now(), ended_by=by, end=end):
        raise ConflictError(worded("This answer has been withdrawn already."))
    answer.refresh_from_db()
    _log(RevisionEvent.Action.CURATED_ENDED, answer, by=by, why=why)


def curated_check(document_id: UUID) -> None:
    """At the end of a document's ingest, when its chunks have other ids, or when a newer version takes its place. An
    answer whose passage is not in force word for word is withdrawn: nobody has checked it against what holds today."""
    cited = CuratedSource.objects.filter(document_id=document_id, answer__ended_at=None).select_related("answer")
    for source in cited:
        current = Chunk.objects.filter(document=document_id, document__superseded_at=None, text=source.text)
        same = current.values_list("pk", flat=True).first()
        if same is None:
            _withdraw(source.answer, End.SOURCE_CHANGED)
        elif same != source.chunk_id:
            CuratedSource.objects.filter(pk=source.pk).update(chunk_id=same)


def curated_forget(document_id: UUID) -> None:
    """In the transaction that deletes the document."""
    for answer in CuratedAnswer.objects.filter(ended_at=None, sources__document_id=document_id).distinct():
        _withdraw(answer, End.SOURCE_GONE)


def _withdraw(answer: CuratedAnswer, end: str) -> None:
    try:
        curated_end(answer=answer, end=end)
    except ConflictError:  # by another of its sources, or by a person meanwhile
        return


def _readable(chunk_ids: Sequence[UUID], by: User, message: Message | None) -> QuerySet[Chunk]:
    given = set(message.sources.values_list("chunk_id", flat=True)) if message else set()
    seen = Q(document__collection__in=visible_collections(by)) | Q(
        pk__in=[key for key in chunk_ids if str(key) in given]
    )
    return Chunk.objects.filter(seen, pk__in=chunk_ids, document__status="ready").select_related("document")


def _check(
    question: str,
    wordings: Sequence[str],
    text: str,
    chunk_ids: Sequence[UUID],
    chunks: dict[UUID, Chunk],
    expires_at: datetime | None,
) -> None:
    fields: dict[str, list[str]] = {}
    if not 3 <= len(question) <= MAX_QUESTION_CHARS:
        fields["question"] = [worded("From 3 to {most} characters.", most=MAX_QUESTION_CHARS)]
    if len(wordings) > MAX_WORDINGS or any(len(line) > MAX_QUESTION_CHARS for line in wordings):
        fields["wordings"] = [
            worded("At most {lines} lines of {most} characters.", lines=MAX_WORDINGS, most=MAX_QUESTION_CHARS)
        ]
    if not 1 <= len(text) <= MAX_TEXT_CHARS:
        fields["text"] = [worded("From 1 to {most} characters.", most=MAX_TEXT_CHARS)]
    if not 1 <= len(chunk_ids) <= MAX_SOURCES or len(set(chunk_ids)) < len(chunk_ids):
        fields["sources"] = [worded("From 1 to {most} passages, each once.", most=MAX_SOURCES)]
    elif missing := [str(key) for key in chunk_ids if key not in chunks]:
        fields["sources"] = [
            worded("Not there any more, or not for you to read: {passages}.", passages=", ".join(missing[:3]))
        ]
    elif not (markers := cited_markers(text)) or max(markers) > len(chunk_ids):
        fields.setdefault(
            "text",
            [worded("Cite the passages as [1] to [{last}]: each statement says where it stands.", last=len(chunk_ids))],
        )
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = [worded("This moment has passed.")]
    if fields:
        raise InvalidInputError(fields=fields)


def _nearly_the_same(wordings: Sequence[str], others: QuerySet[CuratedAnswer]) -> str:
    """The wording of another answer that one of these nearly is; empty where there is none."""
    known = [line for question, more in others.values_list("question", "wordings") for line in (question, *more)]
    by_words = {wording(line).words: line for line in known}
    return next((by_words[words] for words in (wording(line).words for line in wordings) if words in by_words), "")


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())


def _log(action: str, answer: CuratedAnswer, *, by: User | None, why: str = "") -> None:
    detail = {"curated_answer": str(answer.pk), "question": answer.question[:LOGGED_CHARS], "end": answer.end}
    RevisionEvent.log(action, by=by, why=why, detail=detail)
