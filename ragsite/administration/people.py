"""Accounts as administrators manage them: invitations by link, roles, groups, closing, signing out.

A role is a group of the review desk (`chat.review.roles`), or being a superuser. Only superusers change superusers, and
give other groups than those of the desk, since a group may open collections. Nobody changes their own account, so at
least one superuser is always left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from auditlog.context import disable_auditlog
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet, Sum
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import AnswerReview
from chat.review.roles import SHIPPED
from ragsite.accounts.sessions import sign_out_everywhere
from ragsite.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
)
from ragsite.core.messages import worded
from ragsite.core.text import clean_line
from ragsite.models import ApiToken

INVITATION_DAYS = 7
USAGE_DAYS = 30
SUPERUSER = "superuser"
ROLES: dict[str, Promise] = {
    "": gettext_lazy("User"),
    "Reviewers": gettext_lazy("Reviewer"),
    "Curators": gettext_lazy("Curator"),
    "Administrators": gettext_lazy("Administrator of the desk"),
    SUPERUSER: gettext_lazy("Administrator of the site"),
}
SALT = "ragsite.administration.invitation"


class NotYoursToChangeError(PermissionDeniedError):
    message = worded(
        "Your own account, and administrators of the site, are changed by another administrator of the site."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account as the list shows it. tokens: of models, for its answers of the last USAGE_DAYS."""

    user: User
    role: str
    groups: Sequence[Group]
    last_seen: datetime | None
    tokens: int
    may_change: bool
    may_invite_again: bool

    @property
    def role_label(self) -> str:
        return str(ROLES[self.role])


def people_list(*, search: str = "") -> QuerySet[User]:
    """By name. search: a part of the name or of the e-mail address."""
    people = User.objects.order_by("username").prefetch_related("groups")
    if not search:
        return people
    return people.filter(username__icontains=search) | people.filter(email__icontains=search)


def people_shown(*, users: Sequence[User], by: User) -> list[Person]:
    """With what was measured of each: three queries for all of them."""
    ids = [user.pk for user in users]
    answers = AnswerReview.objects.filter(user__in=ids).order_by()
    asked = dict(answers.values_list("user").annotate(Max("created_at")))
    recent = answers.filter(created_at__gte=timezone.now() - timedelta(days=USAGE_DAYS))
    used = {
        user: (prompt or 0) + (completion or 0)
        for user, prompt, completion in recent.values_list("user").annotate(
            Sum("prompt_tokens"), Sum("completion_tokens")
        )
    }
    calls = dict(
        ApiToken.objects.filter(user__in=ids)
        .order_by()
        .values_list("user")
        .annotate(Max("last_used_at"))
    )
    people = []
    for user in users:
        seen = [
            moment for moment in (user.last_login, asked.get(user.pk), calls.get(user.pk)) if moment
        ]
        groups = list(user.groups.all())
        people.append(
            Person(
                user=user,
                role=role_of(user),
                groups=[group for group in groups if group.name not in SHIPPED],
                last_seen=max(seen, default=None),
                tokens=used.get(user.pk, 0),
                may_change=may_change(by, user),
                may_invite_again=may_change(by, user) and _is_unused(user),
            )
        )
    return people


def role_of(user: User) -> str:
    """The widest of the roles that the account has."""
    if user.is_superuser:
        return SUPERUSER
    names = {group.name for group in user.groups.all()}
    held = [name for name in SHIPPED if name in names and user.is_staff]
    return held[-1] if held else ""


def may_change(by: User, user: User) -> bool:
    return by.pk != user.pk and (by.is_superuser or not user.is_superuser)


def roles_given_by(user: User) -> list[tuple[str, str]]:
    """Choices of a role."""
    return [
        (name, str(label))
        for name, label in ROLES.items()
        if name != SUPERUSER or user.is_superuser
    ]


# ------------------------------------------------------------------------------------------------ changes
@disable_auditlog()  # the sentence says it
@transaction.atomic
def person_change(
    *,
    user: User,
    by: User,
    role: str,
    group_ids: Sequence[int] | None = None,
    among: Sequence[int] | None = None,
) -> None:
    """group_ids: of the groups that are no role, in place of the former ones; None: they stay.
    among: the groups that were offered, so that no other is taken; None: all of them.

    Raises PermissionDeniedError, InvalidInputError.
    """
    _require_may_change(by, user)
    _require_may_give(by, role)
    if group_ids is not None and not by.is_superuser:
        raise PermissionDeniedError
    before = role_of(user)
    groups_before = _other_groups(user)
    user.groups.remove(*Group.objects.filter(name__in=SHIPPED))
    if role in SHIPPED:
        user.groups.add(Group.objects.get(name=role))
    if group_ids is not None:
        others = Group.objects.exclude(name__in=SHIPPED)
        offered = others if among is None else others.filter(pk__in=among)
        user.groups.remove(*offered.exclude(pk__in=group_ids))
        user.groups.add(*others.filter(pk__in=group_ids))
    user.is_superuser = role == SUPERUSER
    user.is_staff = bool(role) or user.groups.filter(permissions__isnull=False).exists()
    user.save(update_fields=["is_superuser", "is_staff"])
    sides = {"before": ROLES[before], "after": ROLES[role]}
    sentences = [_("Role: %(before)s → %(after)s") % sides] if before != role else []
    groups_after = _other_groups(user)
    if groups_before != groups_after or not sentences:
        names = {"before": groups_before or "–", "after": groups_after or "–"}
        sentences.append(_("Groups: %(before)s → %(after)s") % names)
    _log(user, by, " · ".join(sentences))


def _other_groups(user: User) -> str:
    """The names of those that are no role."""
    groups = user.groups.exclude(name__in=SHIPPED).order_by("name")
    return ", ".join(groups.values_list("name", flat=True))


@disable_auditlog()
@transaction.atomic
def person_close(*, user: User, by: User, active: bool) -> None:
    """Deactivate the account, which ends all that it has open, or open it again. Raises PermissionDeniedError."""
    _require_may_change(by, user)
    user.is_active = active
    user.save(update_fields=["is_active"])
    if not active:
        sign_out_everywhere(user=user)
    _log(user, by, _("Account opened again.") if active else _("Account deactivated."))


def person_sign_out(*, user: User, by: User) -> None:
    """All sessions and tokens of the account; its API keys stay. Raises PermissionDeniedError."""
    _require_may_change(by, user)
    sign_out_everywhere(user=user)
    _log(user, by, _("Signed out everywhere."))


def _require_may_change(by: User, user: User) -> None:
    if not may_change(by, user):
        raise NotYoursToChangeError


def _require_may_give(by: User, role: str) -> None:
    if role not in ROLES:
        raise InvalidInputError(fields={"role": [worded("Choose a role.")]})
    if role == SUPERUSER and not by.is_superuser:
        raise PermissionDeniedError


def _log(user: User, by: User, what: str, flag: int = CHANGE) -> None:
    LogEntry.objects.log_actions(by.pk, [user], flag, change_message=what, single_object=True)


# ------------------------------------------------------------------------------------------------ invitations
@disable_auditlog()
@transaction.atomic
def person_invite(*, name: str, by: User, role: str = "") -> User:
    """An account that waits for its password, which only the link of `invitation_of` sets.

    Raises InvalidInputError, ConflictError, PermissionDeniedError.
    """
    _require_may_give(by, role)
    name = User.normalize_username(clean_line(name))
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError as error:
        raise InvalidInputError(
            fields={
                "name": [worded("A name has letters, digits and @/./+/-/_ only, and no spaces.")]
            }
        ) from error
    if len(name) > 150:
        raise InvalidInputError(fields={"name": [worded("A name has at most 150 characters.")]})
    if User.objects.filter(username__iexact=name).exists():
        raise ConflictError(worded("There is an account of this name already."))
    user = User.objects.create_user(name)
    _log(user, by, _("Invited."), ADDITION)
    if role:
        person_change(user=user, by=by, role=role)
    return user


@disable_auditlog()
@transaction.atomic
def person_invite_again(*, user: User, by: User) -> None:
    """The links made before stop working. Raises PermissionDeniedError, ConflictError once somebody has used it."""
    _require_may_change(by, user)
    if not _is_unused(user):
        raise ConflictError(worded("This person has signed in already."))
    user.set_unusable_password()
    user.save(update_fields=["password"])
    _log(user, by, _("Invited again."))


def _is_unused(user: User) -> bool:
    return user.is_active and user.last_login is None and not user.has_usable_password()


def invitation_of(user: User) -> str:
    """What the link ends with; good once, for INVITATION_DAYS. Nothing of it is stored."""
    return signing.dumps([user.pk, _mark(user)], salt=SALT)


def invited_by_link(token: str) -> User:
    """Raises NotFoundError: too old, used, replaced by a newer one, or none of ours."""
    try:
        key, mark = signing.loads(token, salt=SALT, max_age=timedelta(days=INVITATION_DAYS))
    except signing.BadSignature as error:
        raise NotFoundError from error
    user = User.objects.filter(pk=key).first()
    if user is None or not _is_unused(user) or not constant_time_compare(mark, _mark(user)):
        raise NotFoundError
    return user


def _mark(user: User) -> str:
    """Changes with the password, and with every unusable one."""
    return salted_hmac(SALT, user.password).hexdigest()
