"""A checked answer that a curator writes for a gap: what becomes of its questions, and of the people who wait."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from chat.review.roles import DeskAccess
from feedback.curation.gap_selectors import may_read_answer, replies_to_check
from feedback.curation.gaps import questions_answered, searched_words
from feedback.models import CuratedAnswer, GapQuestion, GapRequest, KnowledgeGap
from feedback.requests.addressees import requests_to
from feedback.requests.replying import gap_close, request_answer_checked
from feedback.rounds.questions import signature
from retrieval.models import Chunk

State = GapRequest.State


def gap_wordings(gap: KnowledgeGap) -> list[str]:
    """Its questions, each as it stands alone: the newest first, then those that only people were asked."""
    found: dict[str, str] = {}
    questions = gap.questions.select_related("message__reply_to").order_by("-message__created_at")
    for question in questions:
        found.setdefault(question.key, searched_words(question.message))
    for request in gap.requests.exclude(state=State.WITHDRAWN):
        if signature(request.question) == request.key:
            found.setdefault(request.key, request.question)
    return [" ".join(text.split()) for text in found.values()]


@transaction.atomic
def gap_answered(
    *, access: DeskAccess, gap: KnowledgeGap, curated: CuratedAnswer, chunks: Sequence[Chunk]
) -> int:
    """Its questions in the words of `curated` are answered for those who may read all that it cites; who waits for this
    person's reply gets it as one. The gap is closed where nothing is left. Returns how many questions are.

    chunks: what the answer cites, under its markers.
    """
    access.require("curate")
    keys = {signature(line) for line in (curated.question, *curated.wordings)}
    cited = {chunk.document_id for chunk in chunks}
    mine = requests_to(access.user).filter(gap=gap, key__in=keys, state=State.OPEN)
    for request_id in list(mine.values_list("pk", flat=True)):
        request_answer_checked(
            user=access.user, request_id=request_id, curated=curated, chunks=chunks
        )
    questions = GapQuestion.objects.filter(gap=gap, key__in=keys)
    askers = User.objects.filter(pk__in=questions.values("message__session__user"))
    readers = [one.pk for one in askers if may_read_answer(one, gap_id=gap.pk, cited=cited)]
    questions.filter(message__session__user__in=readers).update(answered=True)
    questions_answered.send(
        KnowledgeGap, gap_id=gap.pk, keys=sorted(keys), by=access.user.pk, cited=cited
    )
    left = gap.questions.exclude(answered=True).count()
    waiting = gap.requests.filter(state=State.OPEN)
    if not left and not waiting.exists() and not replies_to_check().filter(gap=gap).exists():
        gap_close(gap, by=access.user, at=timezone.now())
    return left
