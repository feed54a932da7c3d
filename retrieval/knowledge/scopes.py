"""What a question searches: the collections that its user may read, as the engine takes them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Count, Q

from retrieval.engine.errors import CollectionNotFoundError
from retrieval.engine.values import CollectionRef, EmbeddingSpace, SearchScope
from retrieval.knowledge.selectors import (
    User,
    attached_collections,
    collection_named,
    collections_find,
    default_collections,
    readable_collections,
)
from retrieval.models import Collection, Document


def scope_for(*, user: User, names: Sequence[str] = ()) -> SearchScope:
    """What `user` may search: the collections named, or `default_collections`.

    Raises CollectionNotFoundError for an address that means nothing that is visible.
    """
    if not names:
        return _scope(default_collections(user).order_by("name", "created_at"), user=user)
    return _scope_of(collections_find(user=user, names=names), user=user)


def scope_readable(
    *, user: User, ids: Sequence[str], with_own: bool = False
) -> tuple[SearchScope, list[str]]:
    """`readable_collections` and their addresses; both may be empty."""
    readable = readable_collections(user=user, ids=ids, with_own=with_own)
    found = list(readable.select_related("owner").order_by("name", "created_at"))
    return _scope(found, user=user), [collection.address for collection in found]


def scope_of_earlier(
    *, user: User, names: Sequence[str], ids: Sequence[str], asked_at: datetime
) -> SearchScope:
    """The scope of an earlier question, of which `names` and, where they were kept, `ids` are stored.

    A collection that was made since never takes another's place; visibility is decided again. Raises
    CollectionNotFoundError.
    """
    if ids or not names:
        return scope_for(user=user, names=ids)
    return _scope_of(collections_find(user=user, names=names, made_before=asked_at), user=user)


def scope_for_all(*, names: Sequence[str] = ()) -> SearchScope:
    """For commands, whose caller owns the machine: all collections, or those named, whosever they are.

    Raises CollectionNotFoundError, InvalidInputError where a name is ambiguous.
    """
    if names:
        return _scope_of({name: collection_named(name) for name in names})
    return _scope(Collection.objects.filter(conversation_id=None).order_by("name", "created_at"))


def scope_attached(*, user: User, conversation_id: uuid.UUID) -> SearchScope:
    """The files of one of the user's conversations; empty where it has none."""
    return _scope(attached_collections(user).filter(conversation_id=conversation_id), user=user)


def _scope_of(collections: Mapping[str, Collection | None], *, user: User = None) -> SearchScope:
    if missing := sorted(name for name, collection in collections.items() if collection is None):
        raise CollectionNotFoundError(fields={"collections": missing})
    named = {
        collection.pk: collection for collection in collections.values() if collection is not None
    }
    return _scope(named.values(), user=user)


def collection_ref(
    collection: Collection, *, documents: int = 0, being_read: int = 0, user: User = None
) -> CollectionRef:
    """The engine's value of a collection. documents: that a search looks into; being_read: those that it will; user:
    who asks."""
    return CollectionRef(
        id=str(collection.pk),
        name=collection.name,
        space=collection_space(collection),
        version=collection.version,
        documents=documents,
        being_read=being_read,
        attached=collection.conversation_id is not None,
        own=collection.owner_id is not None and user is not None and collection.owner_id == user.pk,
        changed_at=collection.updated_at,
    )


def collection_space(collection: Collection) -> EmbeddingSpace | None:
    """The space its chunks are embedded in; None before the first document was embedded."""
    if not collection.embedding_model or collection.embedding_dim is None:
        return None
    return EmbeddingSpace(collection.embedding_model, collection.embedding_dim)


def scope_of_documents(documents: Iterable[Document]) -> SearchScope:
    """The collections that hold them."""
    return _scope({document.collection_id: document.collection for document in documents}.values())


def _scope(collections: Iterable[Collection], *, user: User = None) -> SearchScope:
    found = list(collections)
    searched = Q(status=Document.Status.READY, superseded_at=None)
    documents = Document.objects.filter(collection__in=found).order_by().values_list("collection")
    ready = dict(documents.filter(searched).annotate(count=Count("*")))
    unread = dict(documents.filter(status__in=Document.BEING_READ).annotate(count=Count("*")))
    return SearchScope(
        tuple(
            collection_ref(
                one, documents=ready.get(one.pk, 0), being_read=unread.get(one.pk, 0), user=user
            )
            for one in found
        )
    )


def collection_ids(scope: SearchScope) -> list[uuid.UUID]:
    return [uuid.UUID(ref.id) for ref in scope.collections]
