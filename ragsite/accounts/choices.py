"""The language and the theme of an account: kept with it, so that other devices and letters follow.

Each browser's session holds a copy. A page reads it there without a query of its own, and a change reaches all of them.
"""

from __future__ import annotations

from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from ragsite.models import LANGUAGE, THEME, Account


def account_of(user: User) -> Account:
    """Its row, or a new one that is not stored yet."""
    return Account.objects.filter(user=user).first() or Account(user=user)


def choose(*, user: User, language: str | None = None, theme: str | None = None, session: Any = None) -> Account:
    """Keep what was chosen; None leaves a choice as it is. session: the one of this request.

    theme: "system", "light" or "dark". Raises InvalidInputError.
    """
    if language is not None and language not in dict(settings.LANGUAGES):
        raise InvalidInputError(fields={"language": [worded("Choose a language that the site has.")]})
    if theme is not None and theme not in Account.Theme.values:
        raise InvalidInputError(fields={"theme": [worded("Choose system, light or dark.")]})
    chosen = {name: value for name, value in (("language", language), ("theme", theme)) if value is not None}
    account, _ = Account.objects.update_or_create(user=user, defaults=chosen)
    if session is not None:
        copy_into(session, account)
    others = UserSession.objects.filter(user=user).exclude(session_key=getattr(session, "session_key", None))
    for row in Session.objects.filter(session_key__in=others.values("session_key")):
        data = {**row.get_decoded(), LANGUAGE: account.language, THEME: account.theme}
        stored = Session.objects.filter(pk=row.pk, session_data=row.session_data)  # unless it has changed meanwhile
        stored.update(session_data=Session.objects.encode(data))
    return account


def copy_into(session: Any, account: Account) -> None:
    session[LANGUAGE], session[THEME] = account.language, account.theme
