"""Whom a collection, or one document, is shared with: as its owner says on the page of its sharing."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from retrieval.knowledge.services.collections import collection_create, collection_update
from retrieval.knowledge.services.documents import document_move
from retrieval.models import Collection, CollectionPerson, Document

LOOK_UP = "retrieval.look_up_people"
LETTERS = 3  # from which on names are offered
OFFERED = 8
NAME_CHARS = 90
_NOT_OF_A_NAME = re.compile(r"[^\w .\-]+")


def may_look_up(user: User) -> bool:
    """Whether names are offered to `user`: to staff, and to whom an administrator gave the permission."""
    return user.is_staff or user.has_perm(LOOK_UP)


def names_offered(*, user: User, begun: str) -> list[str]:
    """Of active people and of groups, whose first letters these are."""
    if not may_look_up(user) or len(begun) < LETTERS:
        return []
    people = User.objects.filter(is_active=True, username__istartswith=begun).exclude(pk=user.pk)
    groups = groups_nameable(user).filter(name__istartswith=begun)
    people_names = people.order_by("username").values_list("username", flat=True)[:OFFERED]
    return [*people_names, *groups.order_by("name").values_list("name", flat=True)[:OFFERED]]


def groups_nameable(user: User) -> QuerySet[Group]:
    """Those that `user` may share with. No answer says whether any other exists."""
    return Group.objects.all() if user.is_staff else Group.objects.filter(user=user)


def name_unknown(name: str) -> InvalidInputError:
    """Of nobody, and of a group that is not theirs to name, in the same words."""
    reason = worded(
        "There is no person or group “{name}” that you can share with; enter the whole name.",
        name=name[:150],
    )
    return InvalidInputError(fields={"name": [reason]})


def collection_share(*, collection: Collection, by: User, name: str, role: str = "") -> Collection:
    """With a person, or else a group, of this whole name, in this role alone; without a role: no longer.

    Raises InvalidInputError.
    """
    changes = _shared_with(collection)
    is_known = name in changes["groups"] or groups_nameable(by).filter(name=name).exists()
    changes["people"] = [person for person in changes["people"] if person["username"] != name]
    for kind in ("groups", "editor_groups"):
        changes[kind] = [group for group in changes[kind] if group != name]
    if role and User.objects.filter(username=name, is_active=True).exists():
        changes["people"].append({"username": name, "role": role})
    elif role and is_known:
        changes["groups"].append(name)
        changes["editor_groups"] += [name] if role == CollectionPerson.Role.EDITOR else []
    elif role:
        raise name_unknown(name)
    is_public = collection.visibility == Collection.Visibility.PUBLIC
    return collection_publish(collection=collection, by=by, public=is_public, changes=changes)


def collection_publish(
    *, collection: Collection, by: User, public: bool, changes: dict[str, Any] | None = None
) -> Collection:
    """For everybody, or for those alone whom it is shared with; private where that is nobody. changes: of these.

    Raises PermissionDeniedError.
    """
    changes = changes or _shared_with(collection)
    kinds = Collection.Visibility
    is_shared = bool(changes["people"] or changes["groups"])
    changes["visibility"] = kinds.PUBLIC if public else kinds.SHARED if is_shared else kinds.PRIVATE
    return collection_update(collection=collection, changes=changes, by=by)


def is_alone(document: Document) -> bool:
    """Whether its collection holds no other, but for earlier versions."""
    return (
        not document.collection.documents.exclude(pk=document.pk)
        .filter(superseded_at=None)
        .exists()
    )


@transaction.atomic
def document_share_alone(*, document: Document, by: User) -> Collection:
    """The collection that holds this document alone, for sharing: its own already, or a new one into which it moves.

    Its present readers stay its readers. Raises ConflictError, QuotaExceededError.
    """
    former = document.collection
    if is_alone(document):
        return former
    stem = (
        " ".join(_NOT_OF_A_NAME.sub(" ", document.title).split())[:NAME_CHARS].strip(" .-")
        or "document"
    )
    taken = set(
        Collection.objects.filter(owner=former.owner, name__startswith=stem).values_list(
            "name", flat=True
        )
    )
    name = next(
        one
        for one in (stem, *(f"{stem} {number}" for number in range(2, len(taken) + 3)))
        if one not in taken
    )
    alone = collection_create(owner=former.owner, name=name)
    collection_update(
        collection=alone, changes={**_shared_with(former), "visibility": former.visibility}, by=by
    )
    for reply in former.share_replies.all():
        alone.share_replies.create(user=reply.user, accepted=reply.accepted)
    document_move(document=document, collection=alone)
    return alone


def _shared_with(collection: Collection) -> dict[str, Any]:
    """As `collection_update` takes it; what is left from before it was made private does not come back."""
    if collection.visibility == Collection.Visibility.PRIVATE:
        return {"people": [], "groups": [], "editor_groups": []}
    return {
        "people": [
            {"username": one.user.username, "role": one.role}
            for one in collection.people.select_related("user")
        ],
        "groups": list(collection.groups.values_list("name", flat=True)),
        "editor_groups": list(collection.editor_groups.values_list("name", flat=True)),
    }
