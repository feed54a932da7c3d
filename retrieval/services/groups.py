"""Groups that users keep themselves, to share collections with. Django's own otherwise; they carry no permission."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.models import KeptGroup, name_validator

MAX_GROUPS = 100  # that one user keeps
MAX_MEMBERS = 500  # of one group
MAX_NAME_CHARS = 50
MAX_FULL_NAME_CHARS = 150  # as Django's groups have it
TAKEN = worded("You already keep a group of this name.")


def groups_of(*, user: User) -> QuerySet[KeptGroup]:
    """Those that the user keeps, by name, each with its members."""
    kept = KeptGroup.objects.filter(owner=user).select_related("group", "owner")
    return kept.prefetch_related("group__user_set").order_by("group__name")


def group_get(*, user: User, group_id: int) -> KeptGroup:
    """One that the user keeps. Raises NotFoundError."""
    if (kept := groups_of(user=user).filter(pk=group_id).first()) is None:
        raise NotFoundError(worded("There is no such group, or somebody else keeps it."))
    return kept


@transaction.atomic
def group_create(*, owner: User, name: str, members: Sequence[str] = ()) -> KeptGroup:
    """Raises InvalidInputError, ConflictError."""
    if KeptGroup.objects.filter(owner=owner).count() >= MAX_GROUPS:
        raise ConflictError(worded("You keep {most} groups, which is the limit; delete one first.", most=MAX_GROUPS))
    group = Group(name=_full_name(owner, name))
    _save(group)
    group.user_set.set(_members(members))
    return KeptGroup.objects.create(group=group, owner=owner)


@transaction.atomic
def group_update(*, kept: KeptGroup, name: str | None = None, members: Sequence[str] | None = None) -> KeptGroup:
    """members: all of them, by user name. Raises InvalidInputError, ConflictError."""
    if name is not None:
        kept.group.name = _full_name(kept.owner, name)
        _save(kept.group)
    if members is not None:
        former = kept.group.user_set.values_list("username", flat=True)
        kept.group.user_set.set(_members(members, known=list(former)))
    return kept


@transaction.atomic
def group_delete(*, kept: KeptGroup) -> None:
    """What was shared with it alone is then read by its owner alone."""
    kept.group.delete()


def _full_name(owner: User, name: str) -> str:
    """`user/name`: names of two users never meet. Raises InvalidInputError."""
    name = " ".join(name.split())
    try:
        name_validator(name)
        fits = len(name) <= MAX_NAME_CHARS
    except ValidationError:
        fits = False
    if not fits:
        told = worded("Use letters, digits, spaces, dots, dashes and underscores; {most} characters at most.",
                      most=MAX_NAME_CHARS)  # fmt: skip
        raise InvalidInputError(fields={"name": [told]})
    full = f"{owner.username}/{name}"
    if len(full) > MAX_FULL_NAME_CHARS:
        raise InvalidInputError(fields={"name": [worded("The name is too long; choose a shorter one.")]})
    return full


def _save(group: Group) -> None:
    try:
        with transaction.atomic():
            group.save()
    except IntegrityError as error:
        raise ConflictError(TAKEN, fields={"name": [TAKEN]}) from error


def _members(names: Sequence[str], *, known: Sequence[str] = ()) -> list[User]:
    wanted = set(names)
    users = list(User.objects.filter(username__in=wanted))
    there = {user.username for user in users if user.is_active or user.username in known}
    if missing := sorted(wanted - there):
        told = [worded("There is no user “{name}”; enter the whole user name.", name=name) for name in missing]
        raise InvalidInputError(fields={"members": told})
    return users
