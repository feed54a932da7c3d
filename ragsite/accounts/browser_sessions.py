"""The browsers in which an account is signed in: shown to its owner, ended one by one or all but this one.

A session's key opens the account, so a page names a session by an HMAC of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from ragsite.core.errors import NotFoundError
from ragsite.core.localized import localized
from ragsite.core.wording import Sentence, worded
from ragsite.models import AccountSession

MOST_SHOWN = 50
BROWSERS = (  # what a browser calls itself; several claim to be others, so the order counts
    ("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("MicroMessenger", "WeChat"),
    ("FxiOS", "Firefox"), ("Firefox", "Firefox"), ("CriOS", "Chrome"), ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


class SessionNotFoundError(NotFoundError):
    message = worded("This browser is signed out already, or it is not yours.")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """One signed-in browser. id: names it on the page and nowhere else."""

    id: str
    device: Sentence
    is_this: bool
    signed_in_at: datetime | None
    last_seen_at: datetime | None

    @property
    def device_name(self) -> str:
        """In the active language."""
        return str(localized(self.device))


def signed_in_list(*, user: User, own_key: str | None) -> list[SignedIn]:
    """This browser first, then who was seen last."""
    rows = _of(user).order_by("-last_seen_at")[:MOST_SHOWN]
    shown = [
        SignedIn(
            id=_public_id(row.session_key),
            device=device_name(row.device),
            is_this=row.session_key == own_key,
            signed_in_at=row.signed_in_at,
            last_seen_at=row.last_seen_at,
        )
        for row in rows
    ]
    return sorted(shown, key=lambda signed_in: not signed_in.is_this)


@transaction.atomic
def signed_in_end(*, user: User, session_id: str) -> None:
    """Its sockets and streams end within two seconds. Raises SessionNotFoundError."""
    for key in _of(user).values_list("session_key", flat=True):
        if constant_time_compare(_public_id(key), session_id):
            AccountSession.objects.filter(account=user, session_key=key).delete()
            return
    raise SessionNotFoundError


def signed_in_end_others(*, user: User, own_key: str | None) -> int:
    """All but this one; how many there were. Tokens stay."""
    deleted, _ = AccountSession.objects.filter(account=user).exclude(session_key=own_key).delete()
    return deleted


def device_name(user_agent: str) -> Sentence:
    """Browser and system, as people name them."""
    browser = next((name for mark, name in BROWSERS if f"{mark}/" in user_agent), "")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    if browser and system:
        return worded("{browser} on {system}", browser=browser, system=system)
    if browser or system:
        return Sentence(browser or system, {"parts": [browser or system], "separator": ""})
    return worded("Unknown browser")


def _of(user: User) -> QuerySet[AccountSession]:
    return AccountSession.objects.filter(account=user, expire_date__gt=timezone.now())


def _public_id(session_key: str) -> str:
    return salted_hmac("ragsite.browser_sessions", session_key, algorithm="sha256").hexdigest()[:32]
