"""Whom a question goes to, and who may answer it.

The people of a collection are its owner and its editors, as they are when somebody looks: an editor who comes later
finds the open ones, who has left finds none. What has no collection, or one whose owner's account is closed, is the
curators'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, Q, QuerySet, When

from chat.models import Message, Source
from chat.review.roles import desk_access, people_at_the_desk
from chat.selectors import own_sessions
from feedback.models import GapRequest
from ragsite.accounts.auth import bound_to
from ragsite.core.errors import AppError, ConflictError
from ragsite.core.messages import worded
from retrieval.knowledge.selectors import as_uuid, visible_collections, writable_collections
from retrieval.models import Collection, CollectionPerson, Document

NEAREST = 3  # passages that say which collection a question is about
MOST_PEOPLE = 20  # who are notified of one question
To = GapRequest.To


class NobodyToAskError(ConflictError):
    code = "nobody_to_ask"
    message = worded("Nobody else on this site answers questions yet; ask an administrator.")


@dataclass(frozen=True, slots=True)
class Addressee:
    """owner: the user name, which is part of the collection's address; others: how many people beside the owner;
    not_notified: how many of all will not be notified, since they are more than MOST_PEOPLE."""

    sent_to: GapRequest.To
    collection: Collection | None = None
    owner: str = ""
    others: int = 0
    not_notified: int = 0


def addressees_for(*, asker: User, answer: Message) -> list[Addressee]:
    """To whom this question can go, the nearest first: the people of the collection that it is about, and the site's
    curators. Raises NobodyToAskError."""
    found = []
    collection = _collection_of_question(asker, answer)
    if collection is not None:
        people = people_of(collection).exclude(pk=asker.pk)
        count = people.count()
        nearest = people.first()
        if nearest is not None:
            owner = nearest.username if nearest.pk == collection.owner_id else ""
            others = count - bool(owner)
            left = _not_notified(count)
            found.append(Addressee(To.COLLECTION, collection, owner, others, left))
    count = curators().exclude(pk=asker.pk).count()
    if count:
        found.append(Addressee(To.CURATORS, not_notified=_not_notified(count)))
    if not found:
        raise NobodyToAskError
    return found


def _collection_of_question(asker: User, answer: Message) -> Collection | None:
    """The one that was searched, else the one of all the nearest passages; None where there are several, or where it
    is the site's own."""
    searched = {str(key) for key in answer.request.get("collection_ids") or ()}
    keys = {key for key in map(as_uuid, searched) if key}
    if len(keys) != 1:
        keys = _collections_found(answer.sources.all())
    if len(keys) != 1:
        return None
    named = visible_collections(asker).filter(pk__in=keys).exclude(owner=None)
    return named.select_related("owner").first()


def _collections_found(sources: Iterable[Source]) -> set[UUID]:
    listed = [(source.document_id, source.cited) for source in sources if source.document_id]
    cited = [document for document, is_cited in listed if is_cited]
    documents = cited or [document for document, _ in listed]
    rows = Document.objects.filter(pk__in=documents[:NEAREST]).order_by()
    return set(rows.values_list("collection", flat=True))


def people_of(collection: Collection) -> QuerySet[User]:
    """Its owner first, and those who may change its documents. Only open accounts."""
    rule = Q(pk=collection.owner_id)
    if collection.visibility == Collection.Visibility.SHARED:
        named = CollectionPerson.objects.filter(
            collection=collection, role=CollectionPerson.Role.EDITOR
        )
        members = User.groups.through.objects.filter(group__in=collection.editor_groups.all())
        rule |= Q(pk__in=named.values("user")) | Q(pk__in=members.values("user"))
    owner_first = Case(When(pk=collection.owner_id, then=0), default=1)
    return User.objects.filter(rule, is_active=True).order_by(owner_first, "username")


def curators() -> QuerySet[User]:
    """People with access to the desk who may write checked answers."""
    readers = people_at_the_desk().values("pk")
    return people_at_the_desk("curate").filter(pk__in=readers)


def people_to_notify(request: GapRequest) -> list[int]:
    """Ids of those whom a new question is for; at most MOST_PEOPLE, the others are `people_not_notified`."""
    return list(_people_for(request).values_list("pk", flat=True)[:MOST_PEOPLE])


def people_not_notified(request: GapRequest) -> int:
    """How many may answer a new question and are not notified of it."""
    return _not_notified(_people_for(request).count())


def _not_notified(people: int) -> int:
    return max(0, people - MOST_PEOPLE)


def _people_for(request: GapRequest) -> QuerySet[User]:
    collection = request.collection
    people = people_of(collection) if collection is not None else curators()
    if request.asker_id is not None:
        people = people.exclude(pk=request.asker_id)
    return people


# ------------------------------------------------------------------------------------------------ who may answer
def is_curator(user: User) -> bool:
    try:
        desk_access(user, "curate")
    except AppError:
        return False
    return True


def requests_to(user: User) -> QuerySet[GapRequest]:
    """Those that `user` may read and answer; not their own, nor what was withdrawn."""
    rule = Q(collection__in=writable_collections(user).values("pk"))
    if bound_to(user) is None and is_curator(user):
        rule |= Q(collection=None) | Q(collection__owner__is_active=False)
    given = GapRequest.objects.filter(rule).exclude(state=GapRequest.State.WITHDRAWN)
    return given.exclude(asker=user)


def requests_from(user: User) -> QuerySet[GapRequest]:
    """Those that `user` sent; by an API key that is bound to collections, those of the conversations that it began."""
    sent = GapRequest.objects.filter(asker=user)
    return sent if bound_to(user) is None else sent.filter(message__session__in=own_sessions(user))
