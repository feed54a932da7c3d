"""`retrieval.ports.CuratedAnswers`: the wordings of those in force, kept in memory, and their passages as they are now.

The table's stamp says whether there are others. What fits by words is read anew with its
passages inside the asker's scope: if one of them is missing there, or says something else by now, it is not given.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Count, Max
from django.utils import timezone

from feedback.models import CuratedAnswer
from feedback.ranking.same_question import wording
from feedback.rounds.live import Latest
from ragsite.core.database import database_call
from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.models import Chunk
from retrieval.selectors import stored_chunk
from retrieval.values import CuratedAnswer as Given
from retrieval.values import CuratedBy, SearchScope

MOST = 5_000  # answers that are kept in memory, the newest
Stamp = tuple[int, datetime | None, datetime | None]


class _Known(NamedTuple):
    stamp: Stamp
    answers: dict[tuple[str, ...], tuple[str, str]]  # by wording the answer's id and the wording itself


class LiveCuratedAnswers:
    def __init__(self) -> None:
        self._known = Latest(_load)

    async def find(self, question: str, scope: SearchScope) -> Given | None:
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


def _load(known: _Known | None) -> _Known:
    """As in the database; the same object where nothing has changed."""
    counted = CuratedAnswer.objects.aggregate(count=Count("pk"), made=Max("created_at"), ended=Max("ended_at"))
    stamp = (counted["count"], counted["made"], counted["ended"])
    if known is not None and known.stamp == stamp:
        return known
    rows = CuratedAnswer.in_force().values_list("pk", "question", "wordings")[:MOST]
    lines = [(str(key), line) for key, question, wordings in rows for line in (question, *wordings)]
    return _Known(stamp, {wording(line).words: (key, line) for key, line in reversed(lines)})


def _answer(key: str, question: str, collection_ids: tuple[str, ...]) -> Given | None:
    answer = CuratedAnswer.in_force().filter(pk=key).select_related("created_by").first()
    if answer is None:
        return None
    sources = list(answer.sources.all())
    chunks = Chunk.objects.filter(
        pk__in=[source.chunk_id for source in sources],
        document__collection__in=[UUID(key) for key in collection_ids],
        document__superseded_at=None,
    ).select_related("document")
    by_id = {chunk.pk: chunk for chunk in chunks}
    if any(source.chunk_id not in by_id or by_id[source.chunk_id].text != source.text for source in sources):
        return None
    by = answer.created_by
    return Given(
        checked=CuratedBy(
            id=str(answer.pk),
            by=(by.get_full_name() or by.get_username()) if by else worded("a curator"),
            on=timezone.localdate(answer.created_at).isoformat(),
        ),
        question=question,
        text=answer.text,
        passages=tuple(stored_chunk(by_id[source.chunk_id]) for source in sources),
    )
