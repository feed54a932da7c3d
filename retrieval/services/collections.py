"""What can happen to a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from ragsite.errors import ConflictError, InvalidInputError, PermissionDeniedError
from retrieval.models import Collection
from retrieval.selectors import collection_find, writable_collections

TAKEN = "You already have a collection of this name."


@transaction.atomic
def collection_create(
    *,
    owner: User | None,
    name: str,
    visibility: str = Collection.Visibility.PRIVATE,
    description: str = "",
    groups: Sequence[str] = (),
) -> Collection:
    """A new collection; without an owner it is the site's. Raises InvalidInputError, ConflictError."""
    collection = Collection(owner=owner, name=name.strip(), visibility=visibility, description=description.strip())
    members = _groups(groups, owner)
    _check(collection, members)
    try:
        with transaction.atomic():
            collection.save()
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    collection.groups.set(members)
    return collection


@transaction.atomic
def collection_update(*, collection: Collection, changes: dict[str, Any], by: User) -> Collection:
    """Change any of name, description, visibility, groups (names). Raises InvalidInputError, ConflictError."""
    for field in ("name", "description", "visibility"):
        if field in changes:
            setattr(collection, field, str(changes[field]).strip())
    members = _groups(changes["groups"], by) if "groups" in changes else list(collection.groups.all())
    _check(collection, members)
    try:
        with transaction.atomic():
            collection.save(update_fields=["name", "description", "visibility", "updated_at"])
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    collection.groups.set(members)
    return collection


@transaction.atomic
def collection_delete(*, collection: Collection) -> None:
    """With all its documents; files and index rows follow once the deletion is committed (`services.deletion`)."""
    collection.delete()


def collection_touch(*, collection_id: Any) -> None:
    """Its searchable content has changed: results cached under the older version are no longer found."""
    Collection.objects.filter(pk=collection_id).update(version=F("version") + 1, updated_at=timezone.now())


def collection_for_upload(*, user: User, name: str) -> Collection:
    """The collection that an upload names: one that the user may write to, or a new private one.

    Raises PermissionDeniedError for one that the user may only read, InvalidInputError for an impossible name.
    """
    found = collection_find(user=user, name=name)
    if found is not None:
        return collection_writable(collection=found, user=user)
    try:
        return collection_of_ones_own(user=user, name=name)
    except InvalidInputError as error:
        raise InvalidInputError(fields={"collection": error.fields.get("name", [error.message])}) from error


def collection_of_ones_own(*, user: User, name: str) -> Collection:
    """The user's own collection of this name, made private where there is none, whoever else has one of that name."""
    asked = name.replace("\0", "\ufffd")  # PostgreSQL refuses the character itself
    found = Collection.objects.filter(owner=user, name=asked).first()
    if found is not None:
        return found
    try:
        return collection_create(owner=user, name=name)
    except ConflictError:  # made by another upload of the same user at this very moment
        return Collection.objects.get(owner=user, name=name)


def collection_writable(*, collection: Collection, user: User | AnonymousUser) -> Collection:
    """The collection itself. Raises PermissionDeniedError when `user` may read it but not change it."""
    if not writable_collections(user).filter(pk=collection.pk).exists():
        raise PermissionDeniedError(f"You may read the collection “{collection.name}” but not change it.")
    return collection


def _check(collection: Collection, groups: Iterable[Group]) -> None:
    try:
        collection.full_clean(validate_constraints=False)
    except ValidationError as error:
        raise InvalidInputError(fields=error.message_dict) from error
    if collection.visibility == Collection.Visibility.SHARED and not list(groups):
        raise InvalidInputError(fields={"groups": ["Name at least one group to share with."]})


def _groups(names: Sequence[str], by: User | None) -> list[Group]:
    """The groups of these names: one's own, for staff any."""
    allowed = Group.objects.filter(name__in=names)
    if by is not None and not by.is_staff:
        allowed = allowed.filter(user=by)
    groups = list(allowed)
    if missing := sorted(set(names) - {group.name for group in groups}):
        raise InvalidInputError(fields={"groups": [f"You are in no group named “{name}”." for name in missing]})
    return groups
