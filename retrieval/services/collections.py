"""What can happen to a collection."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from ragsite.core.errors import ConflictError, InvalidInputError, PermissionDeniedError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.collection_addresses import best_match, read_address
from retrieval.errors import CollectionNotFoundError
from retrieval.models import Collection, CollectionPerson, Document
from retrieval.selectors import attached_collections, collection_find, owned_collections, writable_collections

TAKEN = worded("You already have a collection of this name.")
PUBLISH = "retrieval.publish_collection"
MAY_NOT_PUBLISH = worded(
    "You may not make a collection public; share it with a group, or ask an administrator to publish it."
)


def may_publish(user: User | AnonymousUser) -> bool:
    """Whether `user` may make collections public: staff, and whoever an administrator gave the permission."""
    return user.is_staff or user.has_perm(PUBLISH)


@transaction.atomic
def collection_create(
    *,
    owner: User | None,
    name: str,
    visibility: str = Collection.Visibility.PRIVATE,
    description: str = "",
    groups: Sequence[str] = (),
    editor_groups: Sequence[str] = (),
    people: Sequence[Mapping[str, str]] = (),
) -> Collection:
    """A new collection; without an owner it is the site's. people: `username` and `role` of each.

    Raises InvalidInputError, ConflictError, PermissionDeniedError where the owner may not make it public.
    """
    collection = Collection(owner=owner, name=name.strip(), visibility=visibility, description=description.strip())
    readers = _readers({"groups": groups, "editor_groups": editor_groups, "people": people}, by=owner)
    _check(collection, readers)
    _publish(collection, was_public=False, by=owner)
    try:
        with transaction.atomic():
            collection.save()
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    readers.put(collection)
    return collection


@transaction.atomic
def collection_update(*, collection: Collection, changes: dict[str, Any], by: User) -> Collection:
    """Change any of name, description, visibility, groups and editor_groups (names), people ({username, role} each).

    Groups that are no longer among `groups` are no editors either.

    Raises InvalidInputError, ConflictError, PermissionDeniedError where `by` may not make it public.
    """
    was_public = collection.visibility == Collection.Visibility.PUBLIC
    for field in ("name", "description", "visibility"):
        if field in changes:
            setattr(collection, field, str(changes[field]).strip())
    sharing = _sharing(collection)
    if "groups" in changes and "editor_groups" not in changes:
        changes = {**changes, "editor_groups": [name for name in sharing["editor_groups"] if name in changes["groups"]]}
    readers = _readers({**sharing, **changes}, by=by, former=sharing)
    _check(collection, readers)
    _publish(collection, was_public=was_public, by=by)
    try:
        with transaction.atomic():
            collection.save(update_fields=["name", "description", "visibility", "approved", "updated_at"])
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    readers.put(collection)
    return collection


def collection_approve(*, collection: Collection, approved: bool) -> bool:
    """Take a public collection into everybody's searches, or out of them; whether it could be done.

    The site's own public collections are always in them, and others never are while they are not public.
    """
    if collection.owner_id is None or collection.visibility != Collection.Visibility.PUBLIC:
        return False
    Collection.objects.filter(pk=collection.pk).update(approved=approved, updated_at=timezone.now())
    return True


@transaction.atomic
def collection_delete(*, collection: Collection) -> None:
    """With all its documents; files and index rows follow once the deletion is committed (`services.deletion`)."""
    collection.delete()


ATTACHED_NAME = "conversation "  # and the conversation's id; nobody sees it


def collection_of_conversation(*, owner: User, conversation_id: UUID) -> Collection:
    """The private collection of a conversation's files, made with its first one. The caller knows whose it is."""
    name = f"{ATTACHED_NAME}{conversation_id}"
    collection, _ = Collection.objects.get_or_create(
        conversation_id=conversation_id, owner=owner, defaults={"name": name}
    )
    return collection


def collection_of_conversation_delete(*, conversation_id: UUID) -> None:
    """With all files that were attached to the conversation."""
    for collection in Collection.objects.filter(conversation_id=conversation_id):
        collection_delete(collection=collection)


def collection_touch(*, collection_id: Any) -> None:
    """Its searchable content has changed: results cached under the older version are no longer found."""
    Collection.objects.filter(pk=collection_id).update(version=F("version") + 1, updated_at=timezone.now())


def collection_emptied(*, collection_id: Any) -> None:
    """A document has left it: where it was the last one, the next may choose a better embedding model."""
    if not Document.objects.filter(collection=collection_id).exists():
        Collection.objects.filter(pk=collection_id).update(
            embedding_model="", embedding_dim=None, embedding_context=None
        )


def collection_for_upload(*, user: User, name: str) -> Collection:
    """The collection that an upload names.

    A plain name means one's own collection, else for staff the site's, else a new private one of their own:
    it does not matter who else has the name. Any other address names a collection that is there, or a new one of
    one's own. Raises CollectionNotFoundError, PermissionDeniedError for one that the user may only read,
    InvalidInputError for an impossible name.
    """
    address = read_address(name)
    if not address.exact:
        owned = list(owned_collections(user).filter(name=address.text))
        return best_match(address, owned, user) or _new_for_upload(user, name)
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
        raise InvalidInputError(fields={"collection": error.fields.get("name", [error.message])}) from error


def collection_ensure(*, owner: User | None, name: str, **values: Any) -> Collection:
    """The owner's collection of this name (None: the site's), whoever else has one; made where there is none.

    values: of a new one, as `collection_create` takes them, and raises.
    """
    if collection := Collection.objects.filter(owner=owner, name=clean_text(name, nul="\ufffd")).first():
        return collection
    try:
        return collection_create(owner=owner, name=name, **values)
    except ConflictError:  # made by another upload or process at this very moment
        return Collection.objects.get(owner=owner, name=name)


def collection_writable(*, collection: Collection, user: User | AnonymousUser) -> Collection:
    """The collection itself. Raises PermissionDeniedError when `user` may read it but not change it."""
    writable = writable_collections(user) | attached_collections(user)
    if not writable.filter(pk=collection.pk).exists():
        raise PermissionDeniedError(
            worded("You may read the collection “{name}” but not change it.", name=collection.name)
        )
    return collection


def collection_owned(*, collection: Collection, user: User | AnonymousUser) -> Collection:
    """The collection itself. Raises PermissionDeniedError when `user` may not rename, share and delete it."""
    if not owned_collections(user).filter(pk=collection.pk).exists():
        raise PermissionDeniedError(
            worded("Only its owner may change the collection “{name}” itself.", name=collection.name)
        )
    return collection


# ------------------------------------------------------------------------------------------------ who may read it
@dataclass(frozen=True, slots=True)
class _Readers:
    """Whom a collection is shared with. people: user id → role."""

    groups: list[Group]
    editor_groups: list[Group]
    people: dict[int, str]

    def put(self, collection: Collection) -> None:
        collection.groups.set(self.groups)
        collection.editor_groups.set(self.editor_groups)
        collection.people.exclude(user__in=self.people).delete()
        for user_id, role in self.people.items():
            CollectionPerson.objects.update_or_create(collection=collection, user_id=user_id, defaults={"role": role})

    def __bool__(self) -> bool:
        return bool(self.groups or self.people)


def _sharing(collection: Collection) -> dict[str, Any]:
    """As it is, in the form in which it is changed."""
    return {
        "groups": [group.name for group in collection.groups.all()],
        "editor_groups": [group.name for group in collection.editor_groups.all()],
        "people": [{"username": person.user.username, "role": person.role} for person in collection.people.all()],
    }


def _readers(wanted: Mapping[str, Any], *, by: User | None, former: Mapping[str, Any] | None = None) -> _Readers:
    """former: whom it is shared with already, which may stay so. Raises InvalidInputError."""
    former = former or {"groups": [], "people": []}
    groups = _groups(wanted["groups"], by, former["groups"])
    editors = set(wanted["editor_groups"])
    if foreign := sorted(editors - set(wanted["groups"])):
        told = [worded("Share it with the group “{name}” first.", name=name) for name in foreign]
        raise InvalidInputError(fields={"editor_groups": told})
    roles = {person["username"]: person["role"] for person in wanted["people"]}
    known = [person["username"] for person in former["people"]]
    users = User.objects.filter(Q(is_active=True) | Q(username__in=known), username__in=roles)
    ids = dict(users.values_list("username", "pk"))
    if missing := sorted(set(roles) - set(ids)):
        told = [worded("There is no user “{name}”; enter the whole user name.", name=name) for name in missing]
        raise InvalidInputError(fields={"people": told})
    people = {ids[name]: role for name, role in roles.items() if by is None or ids[name] != by.pk}
    return _Readers(groups, [group for group in groups if group.name in editors], people)


def _check(collection: Collection, readers: _Readers) -> None:
    try:
        collection.full_clean(validate_constraints=False)
    except ValidationError as error:
        raise InvalidInputError(fields=error.message_dict) from error
    if collection.visibility == Collection.Visibility.SHARED and not readers:
        raise InvalidInputError(fields={"groups": [worded("Name at least one group or person to share with.")]})


def _publish(collection: Collection, *, was_public: bool, by: User | None) -> None:
    """The rule for public collections; who makes one public and may do so (None: the site) approves it by that."""
    is_public = collection.visibility == Collection.Visibility.PUBLIC
    if is_public and not was_public:
        if by is not None and not may_publish(by):
            raise PermissionDeniedError(MAY_NOT_PUBLISH, fields={"visibility": [MAY_NOT_PUBLISH]})
        collection.approved = True
    elif not is_public:
        collection.approved = False


def _groups(names: Sequence[str], by: User | None, kept: Container[str]) -> list[Group]:
    """The groups of these names: those that one is in or keeps, for staff any, and what is there already."""
    allowed = Group.objects.filter(name__in=names)
    if by is not None and not by.is_staff:
        allowed = allowed.filter(Q(user=by) | Q(kept__owner=by) | Q(name__in=kept)).distinct()
    groups = list(allowed)
    if missing := sorted(set(names) - {group.name for group in groups}):
        raise InvalidInputError(
            fields={"groups": [worded("You are in no group named “{name}”.", name=name) for name in missing]}
        )
    return groups
