"""Sending a question to a person, and taking it back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone

from chat.messages.offers import has_no_documents, is_unsure
from chat.models import Message
from chat.selectors import message_get
from chat.services.limits import lock_asking
from feedback.curation.gaps import gap_of_answer, searched_words
from feedback.models import GapRequest, KnowledgeGap
from feedback.requests.addressees import (
    Addressee,
    addressees_for,
    people_not_notified,
    requests_from,
)
from feedback.rounds.questions import signature
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError, RateLimitedError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text

MAX_REMARK_CHARS = 1_000
A_DAY = 20  # questions that one person sends within 24 hours
MOST_OPEN = 50  # of one person, at once
MOST_TIMES = 3  # that the same one is sent
DAY = timedelta(days=1)
State = GapRequest.State
# Both are sent inside the transaction, with `request`.
request_sent = Signal()
request_withdrawn = Signal()


class NotSendableError(ConflictError):
    code = "answered"
    message = worded("This question has an answer. Only questions without a good one are sent.")


class NoDocumentsToAskAboutError(ConflictError):
    code = "no_documents"
    message = worded(
        "There were no documents to look in, so there is nobody to ask about them. Add a document first."
    )


class RequestNotFoundError(NotFoundError):
    message = worded("There is no such question, or it was not sent to you.")


def request_of(*, user: User, message_id: UUID) -> tuple[GapRequest | None, list[Addressee]]:
    """What became of an answer's question, and to whom it could go: to nobody where it was sent or is not to be.

    Raises MessageNotFoundError, NobodyToAskError, NoDocumentsToAskAboutError, ConflictError in a conversation that is
    not stored.
    """
    answer = message_get(user=user, message_id=message_id)
    sent = _sent(answer)
    is_over = sent is not None and sent.state != State.WITHDRAWN
    if is_over or not is_unsure(answer):
        return sent, []
    _check_place(answer)
    return sent, addressees_for(asker=user, answer=answer)


def request_send(
    *, user: User, message_id: UUID, remark: str = "", to: str = ""
) -> tuple[GapRequest, bool]:
    """Send an answer's question to a person, once: again it is the same request, and one that was withdrawn is open
    again. to: of `GapRequest.To`; empty: the nearest. Returns the request, and whether it was sent now.

    Raises MessageNotFoundError, NotSendableError, NobodyToAskError, NoDocumentsToAskAboutError, InvalidInputError,
    RateLimitedError.
    """
    answer = message_get(user=user, message_id=message_id)
    sent = _sent(answer)
    if sent is not None and sent.state != State.WITHDRAWN:
        return sent, False
    if not is_unsure(answer) or answer.reply_to is None:
        raise NotSendableError
    _check_place(answer)
    addressee = _chosen(addressees_for(asker=user, answer=answer), to)
    _check_limits(user, sent)
    gap = gap_of_answer(answer)  # may ask the embedding model: no row is locked yet
    with transaction.atomic():
        lock_asking(user)
        sent = _sent(answer)  # nobody else sends one of this person's meanwhile
        if sent is not None and sent.state != State.WITHDRAWN:
            return sent, False
        _check_limits(user, sent)
        if not KnowledgeGap.objects.filter(pk=gap.pk).exists():  # tidied away since
            gap = gap_of_answer(answer)
        request = sent or GapRequest(message=answer, asker=user, times=0)
        request.gap = gap
        request.question = answer.reply_to.text
        request.key = signature(searched_words(answer))
        request.remark = clean_text(remark).strip()[:MAX_REMARK_CHARS]
        request.sent_to = addressee.sent_to
        request.collection = addressee.collection
        request.not_notified = people_not_notified(request)
        request.state = State.OPEN
        request.times += 1
        request.sent_at = timezone.now()
        request.ended_at = None
        request.save()
        request_sent.send(GapRequest, request=request)
    return request, True


def requests_forward(ids: Sequence[UUID]) -> None:
    """Tell the curators of open requests whose collection is gone."""
    for request in GapRequest.objects.filter(pk__in=ids, state=State.OPEN, collection=None):
        request.not_notified = people_not_notified(request)
        request.save(update_fields=["not_notified"])
        request_sent.send(GapRequest, request=request)


def request_withdraw(*, user: User, request_id: UUID) -> GapRequest:
    """Take it back: nobody reads it any more. No error where it was withdrawn already.

    Raises RequestNotFoundError for another's, ConflictError where it has ended.
    """
    with transaction.atomic():
        rows = requests_from(user).select_for_update(of=("self",)).filter(pk=request_id)
        request: GapRequest | None = rows.order_by().first()
        if request is None:
            raise RequestNotFoundError
        if request.state == State.WITHDRAWN:
            return request
        if request.state != State.OPEN:
            raise ConflictError(worded("This question has been answered or declined already."))
        request.state = State.WITHDRAWN
        request.ended_at = timezone.now()
        request.save(update_fields=["state", "ended_at"])
        request_withdrawn.send(GapRequest, request=request)
    return request


def _sent(answer: Message) -> GapRequest | None:
    """Of this answer, or one that waits of another version of it."""
    rows = GapRequest.objects.select_related("collection__owner", "ended_by")
    waits = Q(message__reply_to=answer.reply_to_id, state=State.OPEN)
    found = rows.filter(Q(message=answer) | waits if answer.reply_to_id else Q(message=answer))
    return found.order_by("-sent_at").first()


def _check_place(answer: Message) -> None:
    """Raises ConflictError, NoDocumentsToAskAboutError."""
    if has_no_documents(answer):
        raise NoDocumentsToAskAboutError
    if not answer.session.kept:
        raise ConflictError(
            worded("This conversation is not stored, so nothing of it can be sent.")
        )


def _chosen(offered: list[Addressee], to: str) -> Addressee:
    if not to:
        return offered[0]
    for addressee in offered:
        if addressee.sent_to == to:
            return addressee
    raise InvalidInputError(fields={"to": [worded("This question cannot go there.")]})


def _check_limits(user: User, again: GapRequest | None) -> None:
    """again: one that was withdrawn."""
    now = timezone.now()
    own = GapRequest.objects.filter(asker=user)
    lately = own.filter(sent_at__gt=now - DAY).order_by("sent_at")
    times = list(lately.values_list("sent_at", flat=True)[:A_DAY])
    if len(times) >= A_DAY:
        wait_s = max(1, round((times[0] + DAY - now).total_seconds()))
        raise RateLimitedError(
            worded("You can send {limit} questions a day; go on tomorrow.", limit=A_DAY),
            code="too_many_requests",
            retry_after_s=wait_s,
        )
    if own.filter(state=State.OPEN).count() >= MOST_OPEN:
        raise ConflictError(
            worded(
                "{limit} of your questions are waiting already; withdraw one first.",
                limit=MOST_OPEN,
            ),
            code="too_many_open",
        )
    if again is not None and again.times >= MOST_TIMES:
        raise ConflictError(
            worded(
                "This question was sent {limit} times; ask it again in a conversation.",
                limit=MOST_TIMES,
            ),
            code="sent_too_often",
        )
