"""The end of all that an account has open, and how browsers are called."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from ragsite.accounts.tokens import token_list

BROWSERS = (  # what a browser calls itself; several claim to be others, so the order counts
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("MicroMessenger", "WeChat"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def device_name(user_agent: str) -> str:
    """Browser and system, as people name them."""
    browser = next((name for mark, name in BROWSERS if f"{mark}/" in user_agent), "")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")


def browsers_signed_in(user: User) -> list[UserSession]:
    """However many there are, two queries: those whose session has ended are forgotten first, all at once."""
    lasting = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    browsers = UserSession.objects.filter(user=user)
    browsers.exclude(session_key__in=lasting).delete()
    return list(browsers)


@transaction.atomic
def sign_out_everywhere(*, user: User) -> None:
    """End all sessions and revoke all tokens of the account; its API keys stay. What they have open ends within seconds
    (`ragsite.accounts.credentials`)."""
    for session in UserSession.objects.filter(user=user):
        session.end()
    token_list(user=user).delete()
