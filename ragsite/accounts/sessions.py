"""The browsers in which an account is signed in (`allauth.usersessions`): shown to its owner, ended one by one, all but
one, or all, with the tokens."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from asgiref.sync import iscoroutinefunction, sync_to_async
from cachetools import TTLCache
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import gettext as _

from ragsite.models import ApiToken

logger = logging.getLogger(__name__)
SEEN_NOTED_EVERY = timedelta(minutes=5)  # so that reading does not write each time
BROWSERS = (  # what a browser calls itself; several claim to be others, so the order counts
    ("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("MicroMessenger", "WeChat"),
    ("FxiOS", "Firefox"), ("Firefox", "Firefox"), ("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


def signed_in_list(*, user: User, own_key: str | None) -> list[dict[str, Any]]:
    """This browser first, then who was seen last: `{"session", "device", "is_this"}`."""
    sessions = sorted(UserSession.objects.purge_and_list(user), key=lambda session: session.last_seen_at, reverse=True)
    shown = [
        {"session": session, "device": device_name(session.user_agent), "is_this": session.session_key == own_key}
        for session in sessions
    ]
    return sorted(shown, key=lambda item: not item["is_this"])


def device_name(user_agent: str) -> str:
    """Browser and system, as people name them."""
    browser = next((name for mark, name in BROWSERS if f"{mark}/" in user_agent), "")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")


@transaction.atomic
def sessions_end(sessions: QuerySet[UserSession]) -> int:
    """Returns how many. What they have open ends within seconds (`ragsite.accounts.credentials`)."""
    keys = list(sessions.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    return UserSession.objects.filter(session_key__in=keys).delete()[0]


@transaction.atomic
def sign_out_everywhere(*, user: User) -> None:
    """End all sessions and revoke all tokens of the account."""
    sessions_end(UserSession.objects.filter(user=user))
    ApiToken.objects.filter(user=user).delete()


def sessions_tidy() -> int:
    """Forget browsers whose session is over. Returns how many."""
    return UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()[0]


@sync_and_async_middleware
def last_seen(get_response: Any) -> Any:
    """Middleware inside of the session's: notes when a browser was seen, to within five minutes."""
    noted: TTLCache[str, bool] = TTLCache(10_000, SEEN_NOTED_EVERY.total_seconds())

    def due(request: HttpRequest) -> str:
        """The key of the session, where a visit is to be noted."""
        key = request.session.session_key
        if not key or key in noted:
            return ""
        noted[key] = True
        return key

    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponse:
            response: HttpResponse = await get_response(request)
            if key := due(request):
                await sync_to_async(_note_seen)(key)
            return response

        return middleware

    def sync_middleware(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = get_response(request)
        if key := due(request):
            _note_seen(key)
        return response

    return sync_middleware


def _note_seen(session_key: str) -> None:
    try:
        UserSession.objects.filter(session_key=session_key).update(last_seen_at=timezone.now())
    except DatabaseError as error:  # noting the visit may fail; the visit itself may still succeed
        logger.warning("the use of a session was not noted: %s", error)
