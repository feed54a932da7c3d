"""Roles and permissions of the review desk. Pages, API, exports and filters ask here and nowhere else.

Roles are groups with permissions on `AnswerReview`; three ship (`SHIPPED`), and a site may make others of the same
permissions. They work for staff alone. A superuser may do all. Staff without a role learn which one to ask for;
for everybody else the desk is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.db.models import QuerySet

from ragsite.core.errors import NotFoundError, PermissionDeniedError
from ragsite.core.messages import worded

Right = Literal["read", "names", "export", "curate", "administer"]
PERMISSIONS: dict[Right, str] = {
    "read": "chat.read_answers",
    "names": "chat.see_names",
    "export": "chat.export_answers",
    "curate": "chat.curate_answers",
    "administer": "chat.administer_desk",
}
SHIPPED: dict[str, tuple[Right, ...]] = {
    "Reviewers": ("read", "export"),
    "Curators": ("read", "export", "curate"),
    "Administrators": ("read", "names", "export", "curate", "administer"),
}
BACKEND = "django.contrib.auth.backends.ModelBackend"  # which knows who has a permission


class RoleMissingError(PermissionDeniedError):
    """403 for staff: the sentence says what to ask for."""

    code = "role_missing"
    message = worded(
        "The review desk needs a role: ask an administrator to put your account into the group Reviewers, Curators or "
        "Administrators."
    )


class RightMissingError(PermissionDeniedError):
    """403 for somebody at the desk whose role does not go so far."""

    code = "role_missing"

    def __init__(self, right: Right) -> None:
        super().__init__(NEEDED[right])


NEEDED: dict[Right, str] = {
    "read": RoleMissingError.message,
    "names": worded(
        "Your role does not show who asked. An administrator can give you that permission."
    ),
    "export": worded(
        "Your role may not export answers. An administrator can give you that permission."
    ),
    "curate": worded(
        "This needs the role of a curator; ask an administrator to put you into the group Curators."
    ),
    "administer": worded(
        "This needs the role of an administrator of the desk; ask to be put into the group Administrators."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskAccess:
    """What a person at the desk may do. Only `desk_access` makes one."""

    user: User
    rights: frozenset[Right]

    def may(self, right: Right) -> bool:
        return right in self.rights

    @property
    def sees_names(self) -> bool:
        """Who asked, whose ratings these are, and filters by both."""
        return self.may("names")

    def require(self, right: Right) -> None:
        """Raises RightMissingError."""
        if not self.may(right):
            raise RightMissingError(right)


def desk_access(user: User | AnonymousUser, *rights: Right) -> DeskAccess:
    """`rights`: what is needed beside reading.

    Raises NotFoundError for people who are no staff, RoleMissingError for staff without a role, RightMissingError.
    """
    if not isinstance(user, User) or not (user.is_active and user.is_staff):
        raise NotFoundError
    has = frozenset(right for right, permission in PERMISSIONS.items() if user.has_perm(permission))
    if "read" not in has:
        raise RoleMissingError
    access = DeskAccess(user=user, rights=has)
    for right in rights:
        access.require(right)
    return access


def has_desk(user: User | AnonymousUser) -> bool:
    """Whether to show the way to the desk: to people who may read there."""
    return (
        isinstance(user, User)
        and user.is_active
        and user.is_staff
        and user.has_perm(PERMISSIONS["read"])
    )


def people_at_the_desk(right: Right = "read") -> QuerySet[User]:
    """Staff who have a right, superusers included; who may read there can have answers assigned."""
    people: QuerySet[User] = User.objects.with_perm(PERMISSIONS[right], backend=BACKEND)
    return people.filter(is_staff=True).order_by("username")


def roles_make(using: str, **_: Any) -> None:
    """After a migration: the groups that ship. One that is there keeps the permissions it has."""
    for name, rights in SHIPPED.items():
        group, is_new = Group.objects.using(using).get_or_create(name=name)
        if is_new:
            codenames = [PERMISSIONS[right].removeprefix("chat.") for right in rights]
            group.permissions.set(Permission.objects.using(using).filter(codename__in=codenames))
