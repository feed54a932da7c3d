"""What can happen to a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from ragsite.accounts.auth import bound_to
from ragsite.core.errors import ConflictError, InvalidInputError, PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.engine.errors import CollectionNotFoundError
from retrieval.knowledge.collection_addresses import read_address
from retrieval.knowledge.review_dates import review_dates_refresh
from retrieval.knowledge.selectors import (
    collection_find,
    collection_get,
    owned_collections,
    writable_collections,
)
from retrieval.models import Collection, CollectionPerson, Document, ShareReply

TAKEN = worded("You already have a collection of this name.")
PUBLISH = "retrieval.publish_collection"
MAY_NOT_PUBLISH = worded(
    "You may not make a collection public; share it with a group, or ask an administrator to publish it."
)


def may_publish(user: User | AnonymousUser) -> bool:
    """Whether `user` may make collections public: staff, and whoever an administrator gave the permission."""
    return user.is_staff or user.has_perm(PUBLISH)


def collection_create(*, owner: User | None, name: str, **values: Any) -> Collection:
    """A new collection, private unless said otherwise; without an owner it is the site's. values: as the changes of
    `collection_update`, and raises."""
    _refuse_bound(owner)
    return _change(Collection(owner=owner), {"name": name, **values}, by=owner)


def _refuse_bound(user: User | None, collection: Collection | None = None) -> None:
    """Raises PermissionDeniedError for an API key that is bound to other collections."""
    ids = bound_to(user)
    if ids is not None and (collection is None or str(collection.pk) not in ids):
        raise PermissionDeniedError(
            worded("This API key is bound to other collections; name one of them.")
        )


def collection_update(
    *, collection: Collection, changes: Mapping[str, Any], by: User
) -> Collection:
    """Change any of name, description, visibility, review_months (None: never), groups and editor_groups (names),
    people ({username, role} each).

    Groups that are no longer among `groups` are no editors either.

    Raises InvalidInputError, ConflictError, PermissionDeniedError where `by` may not make it public.
    """
    return _change(collection, changes, by=by)


@transaction.atomic
def _change(collection: Collection, changes: Mapping[str, Any], *, by: User | None) -> Collection:
    """by: None for the site."""
    is_new = collection._state.adding
    was_public = not is_new and collection.visibility == Collection.Visibility.PUBLIC
    for field in ("name", "description", "visibility"):
        if field in changes:
            setattr(collection, field, str(changes[field]).strip())
    had_months = collection.review_months
    collection.review_months = changes.get("review_months", had_months)
    try:
        collection.full_clean(validate_constraints=False)
    except ValidationError as error:
        raise InvalidInputError(fields=error.message_dict) from error
    is_public = collection.visibility == Collection.Visibility.PUBLIC
    if is_public and not was_public:
        if by is not None and not may_publish(by):
            raise PermissionDeniedError(MAY_NOT_PUBLISH, fields={"visibility": [MAY_NOT_PUBLISH]})
        collection.approved = True  # by the person who makes it public and may do so
    elif not is_public:
        collection.approved = False
    try:
        with transaction.atomic():
            collection.save(
                update_fields=None
                if is_new
                else [
                    "name",
                    "description",
                    "visibility",
                    "approved",
                    "review_months",
                    "updated_at",
                ]
            )
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    if not is_new and collection.review_months != had_months:
        review_dates_refresh(collection)
        collection_touch(collection_id=collection.pk)
    _share(collection, changes, by)
    return collection


def _share(collection: Collection, changes: Mapping[str, Any], by: User | None) -> None:
    """Whom it is shared with already may stay so, whoever that is. Raises InvalidInputError."""
    people = CollectionPerson.objects.filter(
        collection=collection
    )  # as they are, whatever was read beforehand
    if "groups" in changes:
        allowed = Group.objects.filter(name__in=changes["groups"])
        if by is not None and not by.is_staff:
            allowed = allowed.filter(Q(user=by) | Q(collections=collection)).distinct()
        groups = {group.name: group for group in allowed}
        missing = sorted(set(changes["groups"]) - groups.keys())
        _refuse(
            "groups", [worded("You are in no group named “{name}”.", name=name) for name in missing]
        )
        collection.groups.set(groups.values())
        collection.editor_groups.remove(*collection.editor_groups.exclude(name__in=groups))
    if "editor_groups" in changes:
        groups = {group.name: group for group in Group.objects.filter(collections=collection)}
        missing = sorted(set(changes["editor_groups"]) - groups.keys())
        _refuse(
            "editor_groups",
            [worded("Share it with the group “{name}” first.", name=name) for name in missing],
        )
        collection.editor_groups.set(groups[name] for name in changes["editor_groups"])
    if "people" in changes:
        roles = {person["username"]: person["role"] for person in changes["people"]}
        users = User.objects.filter(
            Q(is_active=True) | Q(shared_collections__collection=collection)
        )
        ids = dict(users.filter(username__in=roles).values_list("username", "pk"))
        missing = sorted(roles.keys() - ids.keys())
        problems = [
            worded("There is no user “{name}”; enter the whole user name.", name=name)
            for name in missing
        ]
        _refuse("people", problems)
        if by is not None:
            ids.pop(by.username, None)
        people.exclude(user__in=ids.values()).delete()
        for name, user_id in ids.items():
            CollectionPerson.objects.update_or_create(
                collection=collection, user_id=user_id, defaults={"role": roles[name]}
            )
    is_shared = people.exists() or Group.objects.filter(collections=collection).exists()
    if collection.visibility == Collection.Visibility.SHARED and not is_shared:
        _refuse("groups", [worded("Name at least one group or person to share with.")])


def share_answer(*, user: User, collection_id: UUID, accepted: bool) -> Collection:
    """Whether questions of `user` that name no collection search one that is shared with them; changed by the next
    answer. Raises CollectionNotFoundError."""
    collection = collection_get(user=user, name=str(collection_id))
    ShareReply.objects.update_or_create(
        user=user, collection=collection, defaults={"accepted": accepted}
    )
    return collection


def _refuse(field: str, reasons: Sequence[str]) -> None:
    """Raises InvalidInputError where there are any."""
    if reasons:
        raise InvalidInputError(fields={field: reasons})


def collection_approve(*, collection: Collection, approved: bool) -> bool:
    """Take a public collection into everybody's searches, or out of them; whether it could be done.

    The site's own public collections are always in them, and others never are while they are not public.
    """
    if collection.owner_id is None or collection.visibility != Collection.Visibility.PUBLIC:
        return False
    Collection.objects.filter(pk=collection.pk).update(approved=approved, updated_at=timezone.now())
    return True


ATTACHED_NAME = "conversation "  # and the conversation's id; nobody sees it


def collection_of_conversation(*, owner: User, conversation_id: UUID) -> Collection:
    """The private collection of a conversation's files, made with its first one. The caller knows whose it is."""
    _refuse_bound(owner)
    name = f"{ATTACHED_NAME}{conversation_id}"
    collection, _ = Collection.objects.get_or_create(
        conversation_id=conversation_id, owner=owner, defaults={"name": name}
    )
    return collection


def collection_of_conversation_delete(*, conversation_id: UUID) -> None:
    """With all files that were attached to the conversation."""
    Collection.objects.filter(conversation_id=conversation_id).delete()


def collection_touch(*, collection_id: Any) -> None:
    """Its searchable content has changed: results cached under the older version are no longer found."""
    Collection.objects.filter(pk=collection_id).update(
        version=F("version") + 1, updated_at=timezone.now()
    )


def collection_emptied(*, collection_id: Any) -> None:
    """A document has left it: where it was the last one, the next may choose a better embedding model."""
    if not Document.objects.filter(collection=collection_id).exists():
        Collection.objects.filter(pk=collection_id).update(embedding_model="", embedding_dim=None)


def collection_for_upload(*, user: User, name: str) -> Collection:
    """The collection that an upload names.

    A plain name means one's own collection, else for staff the site's, else a new private one of their own:
    it does not matter who else has the name. Any other address names a collection that is there, or a new one of
    one's own. Raises CollectionNotFoundError, PermissionDeniedError for one that the user may only read,
    InvalidInputError for an impossible name.
    """
    address = read_address(name)
    if address.id is None and address.owner is None:
        owned = (
            owned_collections(user)
            .filter(name=address.name)
            .order_by(F("owner").asc(nulls_last=True))
        )
        return owned.first() or _new_for_upload(user, name)
    collection = collection_find(user=user, name=name)
    if collection is not None:
        return collection_writable(collection=collection, user=user)
    if address.owner == user.username:
        return _new_for_upload(user, address.name)
    raise CollectionNotFoundError(fields={"collection": [name]})


def _new_for_upload(user: User, name: str) -> Collection:
    try:
        return collection_ensure(owner=user, name=name)
    except InvalidInputError as error:
        raise InvalidInputError(
            fields={"collection": error.fields.get("name", [error.message])}
        ) from error


def collection_ensure(*, owner: User | None, name: str, **values: Any) -> Collection:
    """The owner's collection of this name (None: the site's), whoever else has one; made where there is none.

    values: of a new one, as `collection_create` takes them, and raises.
    """
    if collection := Collection.objects.filter(
        owner=owner, name=clean_text(name, nul="\ufffd")
    ).first():
        _refuse_bound(owner, collection)
        return collection
    try:
        return collection_create(owner=owner, name=name, **values)
    except ConflictError:  # made by another upload or process at this very moment
        return Collection.objects.get(owner=owner, name=name)


def collection_writable(*, collection: Collection, user: User | AnonymousUser) -> Collection:
    """The collection itself. Raises PermissionDeniedError when `user` may read it but not change it."""
    if not writable_collections(user).filter(pk=collection.pk).exists():
        raise PermissionDeniedError(
            worded("You may read the collection “{name}” but not change it.", name=collection.name)
        )
    return collection


def collection_owned(*, collection: Collection, user: User | AnonymousUser) -> Collection:
    """The collection itself. Raises PermissionDeniedError when `user` may not rename, share and delete it."""
    if not owned_collections(user).filter(pk=collection.pk).exists():
        raise PermissionDeniedError(
            worded(
                "Only its owner may change the collection “{name}” itself.", name=collection.name
            )
        )
    return collection
