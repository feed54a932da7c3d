"""What accounts themselves hold of a person: the profile, sign-ins, tokens, and what was asked for with their data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from ragsite.accounts.choices import account_of
from ragsite.accounts.letters import letters_forget
from ragsite.accounts.personal_data import Held, Part
from ragsite.core.wording import counted
from ragsite.models import AccountSession, ApiToken, KnownOrigin, PersonalDataJob


class AccountHolder:
    """`ragsite.accounts.personal_data.Holder`."""

    def goes(self, user: User) -> Iterable[Held]:
        tokens, sessions = (
            ApiToken.objects.filter(user=user).count(),
            AccountSession.objects.filter(account=user).count(),
        )
        yield Held(counted("{count} API token", "{count} API tokens", tokens), tokens)
        yield Held(counted("{count} signed-in browser", "{count} signed-in browsers", sessions), sessions)

    def stays(self, user: User) -> Iterable[Held]:
        return ()

    def parts(self, user: User) -> Iterator[Part]:
        yield Part("profile.json", _profile(user))
        yield Part("api-tokens.json", ApiToken.objects.filter(user=user).values(*TOKEN_FIELDS).iterator())
        sessions = AccountSession.objects.filter(account=user).order_by("-last_seen_at")
        yield Part("signed-in-browsers.json", sessions.values("device", "signed_in_at", "last_seen_at").iterator())
        jobs = PersonalDataJob.objects.filter(user=user).values("kind", "reason", "state", "created_at", "finished_at")
        yield Part("exports-and-deletions.json", jobs.iterator())

    def erase(self, user: User) -> Iterator[int]:
        """The rest goes with the row of the user. The administration's log keeps that something was done, no name."""
        about = LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
        ).exclude(object_repr="")
        about.update(object_repr="")
        yield ApiToken.objects.filter(user=user).delete()[0]
        yield AccountSession.objects.filter(account=user).delete()[0]
        yield letters_forget(user)
        yield KnownOrigin.objects.filter(user=user).delete()[0]


TOKEN_FIELDS = ("name", "prefix", "created_at", "last_used_at")


def _profile(user: User) -> dict[str, Any]:
    account = account_of(user)
    return {
        "username": user.username,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "email_confirmed": bool(account.confirmed_email),
        "email_to_be_confirmed": account.pending_email,
        "language": account.language,
        "theme": account.theme,
        "groups": list(user.groups.order_by("name").values_list("name", flat=True)),
        "is_staff": user.is_staff,
        "joined_at": user.date_joined,
        "last_sign_in_at": user.last_login,
        "known_browsers_and_addresses": KnownOrigin.objects.filter(user=user).count(),
    }
