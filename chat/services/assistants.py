"""What can happen to an assistant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from chat.assistant_selectors import PUBLIC, SHARED, readable_addresses
from chat.models import Assistant
from chat.services.default_assistant import forget
from ragsite.core.errors import ConflictError, InvalidInputError, PermissionDeniedError
from ragsite.core.messages import worded
from retrieval.engine.workflows.registry import require_offered
from retrieval.knowledge.selectors import collections_find
from retrieval.knowledge.services.collections import may_publish
from retrieval.knowledge.services.sharing import groups_nameable, name_unknown
from retrieval.models import Collection

MOST = 200  # of one owner
TAKEN = worded("You already have an assistant of this name.")
TEXTS = ("name", "description", "instructions", "workflow", "model", "visibility")
LISTS = ("options", "filters", "starters")
SHAPES = {
    "name",
    "instructions",
    "collections",
    "with_own",
    "workflow",
    "options",
    "filters",
    "model",
}
MAY_NOT_PUBLISH = worded(
    "You may not share an assistant with everybody; share it with people or a group, or ask an administrator."
)
NOTHING_READABLE = worded(
    "You may not read any of the collections that this assistant looks into, so a copy would look everywhere."
)
ONLY_SITES = worded("Only an assistant of the site that everybody may use can be its default.")


@transaction.atomic
def assistant_create(*, by: User, of_site: bool = False, **values: Any) -> Assistant:
    """A new one of `by`, or of the site, which staff may make. values: as the changes of `assistant_update`, and
    raises."""
    if of_site and not by.is_staff:
        raise PermissionDeniedError
    return _change(_new(owner=None if of_site else by), values, by=by)


def _new(*, owner: User | None, **values: Any) -> Assistant:
    """Not stored yet. Raises ConflictError."""
    if Assistant.objects.filter(owner=owner).count() >= MOST:
        raise ConflictError(
            worded("There are {most} assistants already: delete one first.", most=MOST)
        )
    return Assistant(owner=owner, **values)


@transaction.atomic
def assistant_update(*, assistant: Assistant, changes: Mapping[str, Any], by: User) -> Assistant:
    """Change any of name, description, instructions, collections (addresses), with_own, workflow, options, filters,
    model, starters, visibility, groups and people (names).

    Its collections that `by` may not read stay, but for those whose ids are in `forgotten`. Raises InvalidInputError,
    ConflictError, PermissionDeniedError where `by` may not share it with everybody.
    """
    locked = Assistant.objects.select_for_update().select_related(None).get(pk=assistant.pk)
    return _change(locked, changes, by=by)


def _change(assistant: Assistant, changes: Mapping[str, Any], *, by: User) -> Assistant:
    is_new = assistant._state.adding
    before = {name: getattr(assistant, name) for name in SHAPES}
    was_public = not is_new and assistant.visibility == PUBLIC
    for field in TEXTS:
        if field in changes:
            setattr(assistant, field, str(changes[field]).strip())
    for field in LISTS:
        if field in changes:
            setattr(assistant, field, changes[field])
    if bool(assistant.with_own) != changes.get("with_own", bool(assistant.with_own)):
        assistant.with_own = changes["with_own"]
    hidden = _hidden(assistant, by) if {"collections", "forgotten"} & changes.keys() else []
    kept = [key for key in hidden if key not in changes.get("forgotten", ())]
    if "collections" in changes:
        assistant.collections = _collection_ids(changes["collections"], by) + kept
    elif hidden:
        gone = set(hidden) - set(kept)
        assistant.collections = [key for key in assistant.collections if key not in gone]
    if assistant.workflow and assistant.workflow != before["workflow"]:
        require_offered(assistant.workflow, settings.RAG)
    try:
        assistant.full_clean(validate_constraints=False, validate_unique=False)
    except ValidationError as error:
        raise InvalidInputError(fields=error.message_dict) from error
    if assistant.visibility == PUBLIC and not was_public and not may_publish(by):
        raise PermissionDeniedError(MAY_NOT_PUBLISH, fields={"visibility": [MAY_NOT_PUBLISH]})
    assistant.is_default &= assistant.visibility == PUBLIC
    if not is_new and any(getattr(assistant, name) != held for name, held in before.items()):
        assistant.version += 1
    try:
        with transaction.atomic():
            assistant.save()
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error
    _share(assistant, changes, by)
    return assistant


def _collection_ids(addresses: Sequence[str], by: User) -> list[str]:
    """Raises InvalidInputError for what `by` may not read: an address is not to be tried on an assistant to learn
    whether it is there."""
    found = collections_find(user=by, names=addresses)
    missing = [
        worded("You may read no collection “{name}”.", name=name[:100])
        for name, collection in found.items()
        if collection is None
    ]
    if missing:
        raise InvalidInputError(fields={"collections": missing})
    ids = [str(collection.pk) for collection in found.values() if collection is not None]
    return list(dict.fromkeys(ids))


def _hidden(assistant: Assistant, by: User) -> list[str]:
    """Its collections that `by` may not read."""
    readable = readable_addresses(assistant, by)
    return [key for key in assistant.collections if key not in readable]


def _share(assistant: Assistant, changes: Mapping[str, Any], by: User) -> None:
    """Whom it is shared with already may stay so. Raises InvalidInputError."""
    if "groups" in changes:
        allowed = Group.objects.filter(name__in=changes["groups"])
        if not by.is_staff:
            allowed = allowed.filter(Q(user=by) | Q(assistants=assistant)).distinct()
        groups = {group.name: group for group in allowed}
        missing = sorted(set(changes["groups"]) - groups.keys())
        _refuse(
            "groups", [worded("You are in no group named “{name}”.", name=name) for name in missing]
        )
        assistant.groups.set(groups.values())
    if "people" in changes:
        users = User.objects.filter(Q(is_active=True) | Q(shared_assistants=assistant)).distinct()
        people = {user.username: user for user in users.filter(username__in=changes["people"])}
        missing = sorted(set(changes["people"]) - people.keys())
        problems = [
            worded("There is no user “{name}”; enter the whole user name.", name=name)
            for name in missing
        ]
        _refuse("people", problems)
        assistant.people.set(user for user in people.values() if user != by)
    is_shared = assistant.groups.exists() or assistant.people.exists()
    if assistant.visibility == SHARED and not is_shared:
        _refuse("groups", [worded("Name at least one group or person to share with.")])


def _refuse(field: str, reasons: Sequence[str]) -> None:
    """Raises InvalidInputError where there are any."""
    if reasons:
        raise InvalidInputError(fields={field: reasons})


def assistant_share(*, assistant: Assistant, by: User, name: str, remove: bool = False) -> None:
    """With a person, or else a group, of this whole name; or with these no longer. Raises InvalidInputError."""
    is_private = assistant.visibility == Collection.Visibility.PRIVATE
    people = [] if is_private else list(assistant.people.values_list("username", flat=True))
    groups = [] if is_private else list(assistant.groups.values_list("name", flat=True))
    if remove:
        people = [one for one in people if one != name]
        groups = [one for one in groups if one != name]
    elif User.objects.filter(username=name, is_active=True).exists():
        people.append(name)
    elif name in groups or groups_nameable(by).filter(name=name).exists():
        groups.append(name)
    else:
        raise name_unknown(name)
    _publish(assistant, by, people, groups, public=assistant.visibility == PUBLIC)


def assistant_publish(*, assistant: Assistant, by: User, public: bool) -> None:
    """For everybody, or for those alone whom it is shared with. Raises PermissionDeniedError."""
    people = list(assistant.people.values_list("username", flat=True))
    groups = list(assistant.groups.values_list("name", flat=True))
    _publish(assistant, by, people, groups, public=public)


def _publish(
    assistant: Assistant, by: User, people: list[str], groups: list[str], *, public: bool
) -> None:
    with_some = SHARED if people or groups else Collection.Visibility.PRIVATE
    changes = {
        "people": people,
        "groups": groups,
        "visibility": PUBLIC if public else with_some,
    }
    assistant_update(assistant=assistant, changes=changes, by=by)


@transaction.atomic
def assistant_duplicate(*, assistant: Assistant, by: User) -> Assistant:
    """A private one of `by` alike, with those of its collections that `by` may read. Raises ConflictError, also where
    none is left: it would look everywhere."""
    taken = set(Assistant.objects.filter(owner=by).values_list("name", flat=True))
    stem = assistant.name[:90].rstrip()
    numbered = (f"{stem} {number}" for number in range(2, len(taken) + 3))
    name = next(one for one in (assistant.name, *numbered) if one not in taken)
    copied = ("description", *SHAPES - {"name"}, "starters")
    values = {field: getattr(assistant, field) for field in copied}
    readable = readable_addresses(assistant, by)
    values["collections"] = [key for key in assistant.collections if key in readable]
    if assistant.collections and not readable:
        raise ConflictError(NOTHING_READABLE)
    return _change(_new(owner=by, **values), {"name": name}, by=by)


@transaction.atomic
def assistant_make_default(*, assistant: Assistant, by: User, default: bool) -> None:
    """New conversations where nobody chooses have it, or none. Raises PermissionDeniedError, ConflictError."""
    if not by.is_superuser:
        raise PermissionDeniedError
    of_site = Assistant.objects.select_for_update().filter(owner=None).order_by("pk")
    rows = {row.pk: row for row in of_site}  # locked: another superuser may be choosing, too
    chosen = rows.get(assistant.pk)
    if default and (chosen is None or chosen.visibility != PUBLIC):
        raise ConflictError(ONLY_SITES)
    # Row by row, the former one first: the log of what staff change hears of each.
    for row in rows.values():
        if row.is_default and row != chosen:
            row.is_default = False
            row.save(update_fields=["is_default"])
    if chosen is not None:
        chosen.is_default = default
        chosen.save(update_fields=["is_default"])
    forget()
