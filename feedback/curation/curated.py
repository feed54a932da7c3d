"""Curated answers: written or checked by a curator for a question, given to whoever asks the same.

One is in force until a person withdraws it or it expires. It is given while each passage that it cites stands in its
document word for word, and to those alone who may read all of them: nobody has checked it against anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import Count, Exists, Max, OuterRef
from django.utils import timezone

from chat.models import Message
from feedback.models import CuratedAnswer, CuratedSource
from feedback.rounds.deletions import one_at_a_time
from feedback.rounds.live import Latest
from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError, InvalidInputError, UnavailableError
from ragsite.core.messages import worded
from retrieval.engine.text.same_question import word_key, wording
from retrieval.engine.values import CuratedBy, CuratedMatch, SearchScope
from retrieval.knowledge.chunk_store import stored_chunk
from retrieval.models import Chunk

MOST = 5_000  # answers that are kept in memory, the newest
Stamp = tuple[int, datetime | None, datetime | None]


class CuratedPassage(NamedTuple):
    document_id: UUID
    title: str
    text: str


# ------------------------------------------------------------------------------------------------ by curators
@transaction.atomic
def curated_save(
    *,
    by: User,
    question: str,
    text: str,
    passages: Iterable[CuratedPassage],
    wordings: Sequence[str] = (),
    message: Message | None = None,
    expires_at: datetime | None = None,
    answer: CuratedAnswer | None = None,
    asked: str = "",
) -> CuratedAnswer:
    """passages: under the markers of the text, from 1. answer: one that is changed. asked: the words of a person whose
    question it answers, where `message` does not tell them. Raises ConflictError where another one in force answers
    the question."""
    one_at_a_time()  # another curator may be answering the same question
    answer = answer or CuratedAnswer(message=message)
    others = CuratedAnswer.in_force().exclude(pk=answer.pk).values_list("question", "wordings")
    own = {wording(line).words for line in (question, *wordings)}
    for line in (line for other, more in others for line in (other, *more)):
        if wording(line).words in own:
            raise ConflictError(
                worded(
                    "“{question}” already has another checked answer. Change or withdraw that one.",
                    question=line,
                )
            )
    answer.from_answer = _is_as_asked(answer, question, asked)
    answer.question = question
    answer.wordings = list(wordings)
    answer.text = text
    answer.created_by = by
    answer.expires_at = expires_at
    answer.save()
    answer.sources.all().delete()
    CuratedSource.objects.bulk_create(
        CuratedSource(answer=answer, marker=marker, **passage._asdict())
        for marker, passage in enumerate(passages, 1)
    )
    return answer


def _is_as_asked(answer: CuratedAnswer, question: str, asked: str) -> bool | None:
    """Whether the question is in its asker's words, or in those that the site has searched for it by. None: it is as it
    was, and nobody knows."""
    theirs = [asked]
    if answer.message is not None:
        theirs.append(answer.message.searched_for)
        theirs.append(answer.message.reply_to.text if answer.message.reply_to else "")
    words = word_key(question)
    if words in [word_key(text) for text in theirs if text]:
        return True
    is_unchanged = not answer._state.adding and words == word_key(answer.question)
    return answer.from_answer if is_unchanged else False


@transaction.atomic
def curated_end(*, answer: CuratedAnswer, by: User) -> None:
    """Raises ConflictError when it has ended already."""
    one_at_a_time()  # whoever looks at the wordings in force sees it either way
    rows = CuratedAnswer.objects.select_for_update().filter(pk=answer.pk, ended_at=None)
    row = rows.first()
    if row is None:
        raise ConflictError(worded("This answer has been withdrawn already."))
    row.ended_at = timezone.now()
    row.ended_by = by
    row.save(update_fields=["ended_at", "ended_by"])


def end_of_day(day: date) -> datetime:
    """Until when an answer holds whose last day this is. Raises InvalidInputError for a day that is over, or one so
    far off that some time zone cannot tell its end."""
    if day < timezone.localdate():
        raise InvalidInputError(worded("This time is in the past. Choose a later one."))
    if day == date.max:
        raise InvalidInputError(worded("This day is too far off. Leave it empty for no end date."))
    return timezone.make_aware(datetime.combine(day, time.max))


def curated_outdated(answers: Iterable[CuratedAnswer]) -> set[UUID]:
    """Those that are not given, since a passage is not there any more as it was."""
    stands = Chunk.objects.filter(
        document=OuterRef("document_id"), document__superseded_at=None, text=OuterRef("text")
    )
    return set(
        CuratedSource.objects.filter(~Exists(stands), answer__in=list(answers)).values_list(
            "answer_id", flat=True
        )
    )


# ------------------------------------------------------------------------------------------------ for searches
class _Known(NamedTuple):
    stamp: Stamp
    answers: dict[
        tuple[str, ...], tuple[str, str]
    ]  # by wording the answer's id and the wording itself


class LiveCuratedAnswers:
    """`retrieval.engine.ports.CuratedAnswers`: the wordings of those in force, kept in memory. A match is read again
    with its passages, inside the asker's scope."""

    def __init__(self) -> None:
        self._known = Latest(_load)

    async def find(self, question: str, scope: SearchScope) -> CuratedMatch | None:
        known = await self._known.get()
        if not known.answers or not scope.collections:
            return None
        found = known.answers.get((await asyncio.to_thread(wording, question)).words)
        if found is None:
            return None
        try:
            return await database_call(_answer, *found, scope.ids)
        except DatabaseError as error:
            raise UnavailableError(worded("the database could not be read")) from error


def curated_stamp() -> Stamp:
    """Another one after every change."""
    counted = CuratedAnswer.objects.aggregate(
        count=Count("pk"), changed=Max("updated_at"), ended=Max("ended_at")
    )
    return (counted["count"], counted["changed"], counted["ended"])


def _load(known: _Known | None) -> _Known:
    """As in the database; the same object where nothing has changed."""
    stamp = curated_stamp()
    if known is not None and known.stamp == stamp:
        return known
    rows = CuratedAnswer.in_force().values_list("pk", "question", "wordings")[:MOST]
    lines = [(str(key), line) for key, question, wordings in rows for line in (question, *wordings)]
    return _Known(stamp, {wording(line).words: (key, line) for key, line in reversed(lines)})


def _answer(key: str, question: str, collection_ids: tuple[str, ...]) -> CuratedMatch | None:
    answer = CuratedAnswer.in_force().filter(pk=key).select_related("created_by").first()
    if answer is None:
        return None
    readable = Chunk.objects.filter(
        document__collection__in=list(map(UUID, collection_ids)), document__superseded_at=None
    )
    readable = readable.select_related("document").order_by("seq")
    chunks = [
        readable.filter(document=source.document_id, text=source.text).first()
        for source in answer.sources.all()
    ]
    passages = tuple(stored_chunk(chunk) for chunk in chunks if chunk)
    if len(passages) < len(chunks):
        return None
    by = answer.created_by
    return CuratedMatch(
        checked=CuratedBy(
            id=str(answer.pk),
            by=(by.get_full_name() or by.get_username()) if by else worded("a curator"),
            on=timezone.localdate(answer.updated_at).isoformat(),
        ),
        question=question,
        text=answer.text,
        passages=passages,
    )
