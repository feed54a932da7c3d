"""Reads of the knowledge side. Visibility is decided here, inside the query, and nowhere else.

A collection is visible to its owner, to the people and the members of the groups that it is shared with, and to
everybody when it is public. Staff see the site's own collections too, but not other people's private ones. A public
collection that the site has not approved is searched only where a question names it, and so is one that somebody else
shares, until whom it is shared with has accepted it. What is attached to a conversation is its owner's alone:
`attached_collections` has it, and nothing else here but the documents themselves.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.models import User as Account
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Lower
from django.utils import timezone

from ragsite.accounts.auth import bound_to
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.messages import worded
from retrieval.engine.errors import CollectionNotFoundError
from retrieval.knowledge.collection_addresses import read_address
from retrieval.models import (
    Chunk,
    Collection,
    CollectionPerson,
    Document,
    SamplePreference,
    ShareReply,
)

User = Account | AnonymousUser | None
VERSIONS = ("current", "earlier")
REVIEWS = ("overdue",)
SORTS: dict[str, tuple[Any, ...]] = {
    "-created_at": ("-created_at",),
    "created_at": ("created_at",),
    "title": (Lower("title"),),
    "-title": (Lower("title").desc(),),
    "size": ("size_bytes",),
    "-size": ("-size_bytes",),
    "year": (F("policy_year").asc(nulls_last=True), Lower("title")),
    "-year": (F("policy_year").desc(nulls_last=True), Lower("title")),
}
OWN_DOCUMENTS = 3  # from which on the samples step back by themselves
MOST_SAMPLES = 200
MAX_CHOICES = 5  # addresses that an error offers for an ambiguous name


def visible_collections(user: User) -> QuerySet[Collection]:
    """Every collection that `user` may read; None and anonymous: the public ones."""
    rule = Q(visibility=Collection.Visibility.PUBLIC)
    if user is not None and user.is_authenticated:
        rule |= Q(owner=user) | Q(visibility=Collection.Visibility.SHARED) & _shared_with(user)
        if user.is_staff:
            rule |= Q(owner=None)
    return Collection.objects.filter(rule, _bound(user), conversation_id=None)


def readable_collections(
    *, user: User, ids: Sequence[str], with_own: bool = False
) -> QuerySet[Collection]:
    """Those of these that `user` may read. with_own: and all of the user's own."""
    wanted = Q(pk__in=ids)
    if with_own:
        wanted |= Q(owner=user)
    return visible_collections(user).filter(wanted)


def attached_collections(user: User) -> QuerySet[Collection]:
    """Those that hold the files of the user's conversations."""
    if user is None or not user.is_authenticated:
        return Collection.objects.none()
    return Collection.objects.filter(_bound(user), owner=user, conversation_id__isnull=False)


def _bound(user: User) -> Q:
    """An API key that is bound to collections sees these alone."""
    ids = bound_to(user)
    return Q() if ids is None else Q(pk__in=ids)


def _shared_with(user: Account) -> Q:
    """By name, or through a group. In subqueries: joins would repeat a collection for each common group."""
    people = CollectionPerson.objects.filter(user=user).values("collection")
    return _shared_with_groups(user) | Q(pk__in=people)


def _shared_with_groups(user: Account) -> Q:
    return Q(pk__in=Collection.objects.filter(groups__user=user).values("pk"))


def default_collections(user: User) -> QuerySet[Collection]:
    """Those that a question searches which names none: one's own, those that others share and one has accepted, and
    public ones that the site has approved; for staff all of the site's too. Without the samples, where they step back.
    """
    rule = Q(owner=None) | Q(approved=True)
    if user is not None and user.is_authenticated:
        accepted = ShareReply.objects.filter(user=user, accepted=True).values("collection")
        rule |= Q(owner=user) | Q(pk__in=accepted)
        rule &= ~(Q(is_sample=True) & _samples_are_left_out(user))
    return visible_collections(user).filter(rule)


def _samples_are_left_out(user: Account) -> Q:
    """By the user's choice, else from so many own documents on."""
    chosen = SamplePreference.objects.filter(user=user)
    has_enough = Exists(own_documents(user)[OWN_DOCUMENTS - 1 : OWN_DOCUMENTS])
    return Q(Exists(chosen.filter(left_out=True))) | Q(has_enough) & ~Q(Exists(chosen))


def own_documents(user: Account) -> QuerySet[Document]:
    """Those in the user's own collections that can be searched, without files of conversations."""
    own = Document.objects.filter(collection__owner=user, collection__conversation_id=None)
    return own.filter(status=Document.Status.READY, superseded_at=None)


def sample_documents(user: Account) -> int:
    """How many samples are searched for a user who has no documents yet; 0 for others."""
    if own_documents(user).exists():
        return 0
    return default_documents(user).filter(collection__is_sample=True).count()


def sample_document_ids(user: Account) -> list[str]:
    """Of the samples that the user sees, for a badge on what cites them; at most MOST_SAMPLES."""
    samples = Document.objects.filter(
        collection__in=visible_collections(user).filter(is_sample=True).values("pk")
    )
    return [str(pk) for pk in samples.order_by("pk").values_list("pk", flat=True)[:MOST_SAMPLES]]


def sample_choice(user: Account) -> dict[str, Any]:
    """there: samples that the user sees; left_out: of questions that name no collection; chosen: by the user."""
    samples = visible_collections(user).filter(is_sample=True, documents__isnull=False)
    chosen = SamplePreference.objects.filter(user=user).exists()
    left_out = Collection.objects.filter(
        _samples_are_left_out(user), pk__in=samples.values("pk")
    ).exists()
    return {
        "there": samples.exists(),
        "left_out": left_out,
        "chosen": chosen,
        "own_documents": own_documents(user).count(),
    }


def shares_unanswered(user: Account) -> QuerySet[Collection]:
    """What others share with the user, who has neither accepted nor refused it."""
    answered = ShareReply.objects.filter(user=user).values("collection")
    shared = (
        visible_collections(user)
        .filter(visibility=Collection.Visibility.SHARED)
        .exclude(owner=user)
    )
    return (
        shared.exclude(owner=None)
        .exclude(pk__in=answered)
        .select_related("owner")
        .order_by("-updated_at", "pk")
    )


def owned_collections(user: User) -> QuerySet[Collection]:
    """Those that `user` may rename, share and delete: their own, and for staff the site's."""
    if user is None or not user.is_authenticated:
        return Collection.objects.none()
    rule = Q(owner=user)
    if user.is_staff:
        rule |= Q(owner=None)
    return Collection.objects.filter(rule, _bound(user), conversation_id=None)


def writable_collections(user: User) -> QuerySet[Collection]:
    """Those whose documents `user` may change: their own with their conversations', for staff the site's, and where
    they are an editor."""
    if user is None or not user.is_authenticated:
        return Collection.objects.none()
    people = CollectionPerson.objects.filter(user=user, role=CollectionPerson.Role.EDITOR).values(
        "collection"
    )
    edited = Collection.objects.filter(editor_groups__user=user).values("pk")
    shared = Q(visibility=Collection.Visibility.SHARED) & (Q(pk__in=edited) | Q(pk__in=people))
    own = Q(pk__in=owned_collections(user).values("pk")) | Q(
        pk__in=attached_collections(user).values("pk")
    )
    return Collection.objects.filter(own | shared, _bound(user))


def collection_list(*, user: User) -> QuerySet[Collection]:
    """Visible collections by name, each with `document_count`."""
    return (
        with_document_count(visible_collections(user))
        .select_related("owner")
        .prefetch_related("groups", "editor_groups", "people__user")
        .order_by("name", "created_at", "pk")
    )


def with_document_count(collections: QuerySet[Collection]) -> QuerySet[Collection]:
    """Each with `document_count`; counted of those rows alone that are read, not of all before they are sorted."""
    held = Document.objects.filter(collection=OuterRef("pk")).order_by().values("collection")
    return collections.annotate(
        document_count=Coalesce(Subquery(held.annotate(count=Count("*")).values("count")), 0)
    )


def collection_get(*, user: User, name: str) -> Collection:
    """The visible collection of this address, as `collection_list` gives it. Raises CollectionNotFoundError."""
    named = collection_find(user=user, name=name)
    collection = collection_list(user=user).filter(pk=named.pk).first() if named else None
    if collection is None:
        raise CollectionNotFoundError(fields={"collection": [name]})
    return collection


def collection_find(*, user: User, name: str) -> Collection | None:
    """The visible collection that an address means (`retrieval.knowledge.collection_addresses`), or None."""
    return collections_find(user=user, names=[name])[name]


def collections_find(
    *, user: User, names: Iterable[str], made_before: datetime | None = None
) -> dict[str, Collection | None]:
    """What each address means to `user`, None where there is nothing to see. `made_before`: among those alone."""
    collections = visible_collections(user).select_related("owner")
    if made_before is not None:
        collections = collections.filter(created_at__lte=made_before)
    nearness = [When(owner=None, then=1), When(approved=True, then=3)]
    if user is not None and user.is_authenticated:
        by_group = Q(visibility=Collection.Visibility.SHARED) & _shared_with_groups(user)
        nearness = [When(owner=user, then=0), nearness[0], When(by_group, then=2), nearness[1]]
    nearest = collections.order_by(Case(*nearness, default=4), "created_at", "pk")
    return {name: nearest.filter(read_address(name).rows()).first() for name in names}


def collection_named(name: str, *, among: QuerySet[Collection] | None = None) -> Collection:
    """For staff and commands: by address; a plain name means the site's, or the only one. among: those that may be
    named; None: anybody's.

    Raises CollectionNotFoundError, InvalidInputError where a name is ambiguous.
    """
    address = read_address(name)
    ordinary = (Collection.objects.all() if among is None else among).filter(
        address.rows(), conversation_id=None
    )
    named = list(ordinary.select_related("owner").order_by("created_at", "pk"))
    named = [collection for collection in named if collection.owner_id is None] or named
    if not named:
        raise CollectionNotFoundError(
            worded("There is no collection {name}.", name=name[:100]), fields={"collection": [name]}
        )
    if len(named) > 1:
        choices = ", ".join(collection.address for collection in named[:MAX_CHOICES])
        raise InvalidInputError(
            worded(
                "Several collections are called {name}. Choose one of {choices}.",
                name=name[:100],
                choices=choices,
            )
        )
    return named[0]


def collection_addresses(ids: Iterable[str]) -> dict[str, str]:
    """Id → address, of those that exist, whosever they are."""
    collections = Collection.objects.filter(pk__in=list(ids)).select_related("owner")
    return {str(collection.pk): collection.address for collection in collections}


def is_approved(collection: Collection) -> bool:
    """Whether everybody's searches look into it where they name no collection."""
    return collection.visibility == Collection.Visibility.PUBLIC and (
        collection.owner_id is None or collection.approved
    )


def visible_documents(user: User) -> QuerySet[Document]:
    """Those of the collections that `user` may read, and those attached to their conversations."""
    readable = Q(collection__in=visible_collections(user).values("pk"))
    attached = Q(collection__in=attached_collections(user).values("pk"))
    return Document.objects.filter(readable | attached).select_related("collection")


def default_documents(user: User) -> QuerySet[Document]:
    """Those that a question searches which names no collection."""
    return documents_searched(default_collections(user))


def documents_searched(collections: QuerySet[Collection]) -> QuerySet[Document]:
    """Those of these collections that a search looks into."""
    held = Document.objects.filter(collection__in=collections.values("pk"))
    return held.filter(status=Document.Status.READY, superseded_at=None)


def passages_changed(earlier: Document, document: Document) -> dict[str, int]:
    """How many passages of a document are changed, new and gone against its earlier version."""
    texts = (
        Chunk.objects.filter(document=one).values_list("text", flat=True)
        for one in (earlier, document)
    )
    before, after = (
        Counter(map(hash, rows.iterator(chunk_size=2000))) for rows in texts
    )  # not 100 MB of texts
    gone = (before - after).total()
    new = (after - before).total()
    changed = min(gone, new)
    return {"changed": changed, "new": new - changed, "gone": gone - changed}


def document_list(
    *,
    user: User,
    collection: str = "",
    status: str = "",
    search: str = "",
    versions: str = "",
    review: str = "",
    sort: str = "",
) -> QuerySet[Document]:
    """Visible documents, newest first, without those of conversations; overdue ones by when they were due.
    `collection`: a name; an unknown one gives an empty list.

    versions, review, sort: of VERSIONS, REVIEWS and SORTS.
    """
    readable = visible_collections(user).values("pk")
    documents = Document.objects.filter(collection__in=readable).select_related("collection")
    documents = documents.prefetch_related("newer_versions")
    if collection:
        named = collection_find(user=user, name=collection)
        documents = documents.filter(collection=named) if named else documents.none()
    if status:
        documents = documents.filter(status=status)
    if search:
        documents = documents.filter(
            Q(title__icontains_han=search) | Q(file_name__icontains_han=search)
        )
    if versions:
        documents = documents.filter(superseded_at__isnull=versions == "current")
    if review:
        documents = documents.filter(is_overdue())
    order = ("review_due",) if review and not sort else SORTS[sort or "-created_at"]
    return documents.order_by(*order, "pk")


def is_overdue() -> Q:
    """Of documents: as `Document.overdue`."""
    return Q(review_due__lt=timezone.localdate(), superseded_at=None)


def attached_documents(*, user: User, conversation_id: uuid.UUID) -> QuerySet[Document]:
    """The files of one of the user's conversations, in the order in which they came."""
    attached = attached_collections(user).filter(conversation_id=conversation_id)
    documents = Document.objects.filter(collection__in=attached.values("pk")).select_related(
        "collection"
    )
    return documents.order_by("created_at", "pk")


def document_get(*, user: User, document_id: uuid.UUID | str) -> Document:
    """Raises NotFoundError where there is none that the user may see."""
    document = visible_documents(user).filter(pk=document_id).first()
    if document is None:
        raise NotFoundError(worded("There is no such document, or you may not see it."))
    return document


def documents_named(*, user: User, ids: Sequence[str]) -> list[Document]:
    """In the order of the ids. Raises NotFoundError where one of them is none that the user may see."""
    found = {str(document.pk): document for document in visible_documents(user).filter(pk__in=ids)}
    if missing := [key for key in ids if key not in found]:
        raise NotFoundError(
            worded("There is no such document, or you may not see it."),
            fields={"documents": missing},
        )
    return [found[key] for key in ids]


def chunk_list(*, user: User, document_id: uuid.UUID | str) -> QuerySet[Chunk]:
    """A document's chunks in order. Raises NotFoundError."""
    return document_get(user=user, document_id=document_id).chunks.order_by("seq")


def as_uuid(text: str) -> uuid.UUID | None:
    """None: it is none, and names no row."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
