"""Which people are notified of what: the site listens to rows that are saved, and to the signals of feedback; those who
save and send them know nothing of notifications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Iterable, Set
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db.models import F, Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from feedback.curation.gap_selectors import may_read_answer
from feedback.curation.gaps import questions_answered
from feedback.models import Boost, Evidence, GapQuestion, GapRequest, Revision
from feedback.requests.addressees import people_to_notify
from feedback.requests.asking import request_sent, request_withdrawn
from feedback.requests.replying import request_ended
from ragsite.core.database import after_commit
from ragsite.models import Notification
from ragsite.operations.notifications.services import (
    notification_settle,
    notification_settle_for_all,
    notify,
)
from retrieval.models import Collection, CollectionPerson, Document, ShareReply

Kind = Notification.Kind
ROWS_AT_ONCE = 2000


def connect() -> None:
    """Once, when the site starts."""
    post_save.connect(_person, sender=CollectionPerson, dispatch_uid="notifications.person")
    m2m_changed.connect(
        _groups, sender=Collection.groups.through, dispatch_uid="notifications.groups"
    )
    post_save.connect(_reply, sender=ShareReply, dispatch_uid="notifications.reply")
    post_save.connect(_document, sender=Document, dispatch_uid="notifications.document")
    post_save.connect(_revision, sender=Revision, dispatch_uid="notifications.revision")
    questions_answered.connect(_questions, dispatch_uid="notifications.questions")
    request_sent.connect(_request, dispatch_uid="notifications.request")
    post_delete.connect(
        _request_deleted, sender=GapRequest, dispatch_uid="notifications.request_deleted"
    )
    request_withdrawn.connect(_request_over, dispatch_uid="notifications.request_withdrawn")
    request_ended.connect(_request_ended, dispatch_uid="notifications.request_ended")


# ------------------------------------------------------------------------------------------------ shares
def _person(
    sender: type[Model], instance: CollectionPerson, created: bool, raw: bool = False, **_: Any
) -> None:
    if created and not raw:
        after_commit(_tell_of_share, instance.collection_id, [instance.user_id])


def _groups(
    sender: type[Model], instance: Model, action: str, pk_set: set[Any] | None, **_: Any
) -> None:
    """Their members, when a collection gets groups, from whichever side."""
    if action != "post_add" or not pk_set:
        return
    pairs = [(instance.pk, group) for group in pk_set]
    if isinstance(instance, Group):
        pairs = [(collection, instance.pk) for collection in pk_set]
    for collection_id, group_id in pairs:
        after_commit(_tell_group_of_share, collection_id, group_id)


def _tell_group_of_share(collection_id: UUID, group_id: int) -> None:
    members = User.objects.filter(groups=group_id).values_list("pk", flat=True)
    _tell_of_share(collection_id, members)


def _tell_of_share(collection_id: UUID, people: Iterable[int]) -> None:
    """Neither its owner nor who has answered."""
    collection = Collection.objects.filter(
        pk=collection_id, visibility=Collection.Visibility.SHARED
    ).first()
    if collection is None or collection.owner_id is None:
        return
    answered = ShareReply.objects.filter(collection=collection).values_list("user", flat=True)
    notify(Kind.SHARE, collection_id, set(people) - set(answered) - {collection.owner_id})


def _reply(sender: type[Model], instance: ShareReply, raw: bool = False, **_: Any) -> None:
    if not raw:
        notification_settle(
            user_id=instance.user_id, kind=Kind.SHARE, subject=instance.collection_id
        )


# ------------------------------------------------------------------------------------------------ documents
def _document(
    sender: type[Model],
    instance: Document,
    raw: bool = False,
    update_fields: Names[str] | None = None,
    **_: Any,
) -> None:
    """Files of conversations are reported in them."""
    changed = update_fields or ()
    if raw or instance.collection.conversation_id is not None:
        return
    if "status" in changed and instance.status == Document.Status.FAILED:
        after_commit(notify, Kind.DOCUMENT_FAILED, instance.pk, _keepers(instance))
    if "superseded_at" in changed and instance.superseded_at is not None:
        after_commit(_tell_of_replacement, instance)


def _keepers(document: Document) -> set[int]:
    """Whose it is: who uploaded it, else the owner of its collection."""
    keeper = document.uploaded_by_id or document.collection.owner_id
    return {keeper} if keeper else set()


def _tell_of_replacement(document: Document) -> None:
    """Not who replaced it."""
    newer = document.newer_version
    by = {newer.uploaded_by_id} if newer else set()
    notify(Kind.DOCUMENT_REPLACED, document.pk, _keepers(document) - by)


# ------------------------------------------------------------------------------------------------ ratings
def _revision(
    sender: type[Model],
    instance: Revision,
    raw: bool = False,
    update_fields: Names[str] | None = None,
    **_: Any,
) -> None:
    if not raw and "live_at" in (update_fields or ()) and instance.status == Revision.Status.LIVE:
        after_commit(_tell_of_ratings, instance.pk)


def _tell_of_ratings(revision_id: UUID) -> None:
    """Whose ratings a ranking change moved sources for. Nobody where it is an earlier one that is live again."""
    revision = Revision.objects.filter(pk=revision_id).first()
    if revision is None or Revision.objects.filter(number__gt=revision.number).exists():
        return
    moved = _multipliers(revision_id).items() - _multipliers(revision.parent_id).items()
    pairs = {pair for pair, _ in moved}
    evidence = Evidence.objects.filter(
        passage__boosts__revision=revision,
        passage__boosts__question=F("question"),
        rating__message__isnull=False,
    )
    columns = ("voter", "question", "passage", "rating__message")
    counts: Counter[int] = Counter()
    answer_of: dict[int, UUID] = {}
    for voter, question, passage, message in (
        evidence.order_by("pk").values_list(*columns).iterator(ROWS_AT_ONCE)
    ):
        if (question, passage) in pairs:
            counts[voter] += 1
            answer_of[voter] = message  # of the newest rating
    people_of: dict[UUID, list[int]] = {}
    for voter, message in answer_of.items():
        people_of.setdefault(message, []).append(voter)
    for message, people in people_of.items():
        notify(Kind.RATINGS_APPLIED, message, people, counts)


def _multipliers(revision_id: UUID | None) -> dict[tuple[int, int], float]:
    """Of a passage for a question."""
    boosts = Boost.objects.filter(revision=revision_id, passage__isnull=False)
    rows = boosts.values_list("question", "passage", "multiplier")
    return {
        (question, passage): multiplier
        for question, passage, multiplier in rows.iterator(ROWS_AT_ONCE)
    }


# ------------------------------------------------------------------------------------------------ unanswered questions
def _questions(
    sender: Any,
    gap_id: int,
    keys: Names[str],
    by: int | None = None,
    cited: Set[UUID] = frozenset(),
    **_: Any,
) -> None:
    after_commit(_tell_who_asked, gap_id, list(keys), by, frozenset(cited))


def _tell_who_asked(gap_id: int, keys: Names[str], by: int | None, cited: Set[UUID]) -> None:
    """Each about their newest wording, as far as they may read what answers it; not who did it, nor who had sent the
    question to a person, which is one notification of its own."""
    questions = GapQuestion.objects.filter(gap=gap_id, key__in=keys, message__session__kept=True)
    newest: dict[int, UUID] = {}
    columns = ("message__session__user", "message")
    for user_id, message_id in questions.order_by("message__created_at").values_list(*columns):
        newest[user_id] = message_id
    sent = GapRequest.objects.filter(gap=gap_id, key__in=keys, state=GapRequest.State.ANSWERED)
    told = set(sent.values_list("asker", flat=True))
    for user in User.objects.filter(pk__in=newest.keys() - {by} - told):
        if may_read_answer(user, gap_id=gap_id, cited=cited):
            notify(Kind.QUESTION_ANSWERED, newest[user.pk], [user.pk])


# ------------------------------------------------------------------------------------------------ questions to people
def _request(sender: Any, request: GapRequest, **_: Any) -> None:
    after_commit(_tell_of_request, request)


def _tell_of_request(request: GapRequest) -> None:
    notify(Kind.REQUEST_RECEIVED, request.pk, people_to_notify(request))


def _request_over(sender: Any, request: GapRequest, **_: Any) -> None:
    after_commit(notification_settle_for_all, kind=Kind.REQUEST_RECEIVED, subject=request.pk)


def _request_deleted(sender: type[Model], instance: GapRequest, **_: Any) -> None:
    """With its conversation."""
    _request_over(sender, instance)


def _request_ended(sender: Any, request: GapRequest, **_: Any) -> None:
    """Its asker alone, whoever ended it; for those to whom it was sent there is nothing left to do."""
    after_commit(notification_settle_for_all, kind=Kind.REQUEST_RECEIVED, subject=request.pk)
    if request.asker_id is not None and request.asker_id != request.ended_by_id:
        after_commit(notify, Kind.REQUEST_ENDED, request.pk, [request.asker_id])
