"""An answer that a person wrote, as a version of the one that the site gave."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from django.db import transaction
from django.utils import timezone

from chat import selectors
from chat.models import Message, Session
from chat.runs.answer_details import sources_store
from retrieval.engine.values import AnswerSource


@transaction.atomic
def person_answer_add(
    *, asked: Message, by: str, on: date, text: str, sources: Sequence[AnswerSource] = ()
) -> Message:
    """From now on the conversation shows it in place of `asked`, which stays as another version.

    sources: under the markers of the text, and only those that the conversation's owner may read. by: the person's
    name, on: the day, as they are shown.
    """
    Session.objects.select_for_update().get(pk=asked.session_id)
    now = timezone.now()
    answer: Message = Message.objects.create(
        session_id=asked.session_id,
        role=Message.Role.ASSISTANT,
        reply_to_id=asked.reply_to_id,
        text=text,
        decision=Message.Decision.ANSWER,
        searched_for=asked.searched_for,
        request=asked.request,
        written_by={"by": by, "on": on.isoformat()},
        finished_at=now,
    )
    sources_store(answer, sources)
    # Where the question itself is an earlier version, the conversation stays on its branch.
    selectors.versions_beside(answer).update(superseded=True)
    Session.objects.filter(pk=asked.session_id).update(updated_at=now)
    return answer
