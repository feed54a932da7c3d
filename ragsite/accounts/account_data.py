"""What accounts themselves hold of a person: the profile, sign-ins, tokens, and what was asked for with their data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from ragsite.accounts.choices import account_of
from ragsite.accounts.personal_data import Held, Part
from ragsite.accounts.sessions import sign_out_everywhere
from ragsite.core.wording import counted
from ragsite.models import ApiToken, PersonalDataJob


class AccountHolder:
    """`ragsite.accounts.personal_data.Holder`."""

    def goes(self, user: User) -> Iterable[Held]:
        tokens, sessions = (
            ApiToken.objects.filter(user=user).count(),
            UserSession.objects.filter(user=user).count(),
        )
        yield Held(counted("{count} API token", "{count} API tokens", tokens), tokens)
        yield Held(counted("{count} signed-in browser", "{count} signed-in browsers", sessions), sessions)

    def stays(self, user: User) -> Iterable[Held]:
        return ()

    def parts(self, user: User) -> Iterator[Part]:
        yield Part("profile.json", _profile(user))
        yield Part("api-tokens.json", ApiToken.objects.filter(user=user).values(*TOKEN_FIELDS).iterator())
        sessions = UserSession.objects.filter(user=user).order_by("-last_seen_at")
        browsers = sessions.values("user_agent", "ip", "created_at", "last_seen_at")
        yield Part("signed-in-browsers.json", browsers.iterator())
        jobs = PersonalDataJob.objects.filter(user=user).values("kind", "reason", "state", "created_at", "finished_at")
        yield Part("exports-and-deletions.json", jobs.iterator())

    def erase(self, user: User) -> Iterator[int]:
        """The rest goes with the row of the user. The administration's log keeps that something was done, no name."""
        about = LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
        ).exclude(object_repr="")
        yield about.update(object_repr="")
        sign_out_everywhere(user=user)


TOKEN_FIELDS = ("name", "prefix", "created_at", "last_used_at")


def _profile(user: User) -> dict[str, Any]:
    account = account_of(user)
    return {
        "username": user.username,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "emails": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "second_factors": list(Authenticator.objects.filter(user=user).values("type", "created_at", "last_used_at")),
        "signs_in_by": list(SocialAccount.objects.filter(user=user).values("provider", "uid", "extra_data")),
        "language": account.language,
        "theme": account.theme,
        "groups": list(user.groups.order_by("name").values_list("name", flat=True)),
        "is_staff": user.is_staff,
        "joined_at": user.date_joined,
        "last_sign_in_at": user.last_login,
    }
