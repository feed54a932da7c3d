"""How often passwords may be guessed, at all doors together. docs/decisions/0012 tells why it is as it is.

An attempt is counted before the password is looked at, in one transaction, and given back when the password was right:
parallel guesses cannot pass a limit. What is counted where:

    the browser is known to the account   attempts of this browser on this account
    the address is known to the account   attempts of this address on this account; all attempts of this address
    neither is                            the same, and all attempts on this account from unknown places

*Known* is from where the account has signed in before. So nobody can keep the owner out by guessing elsewhere.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
import secrets
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from ragsite.core.errors import RateLimitedError
from ragsite.core.wording import worded
from ragsite.models import AttemptCounter, KnownOrigin, SignUp

LOGIN_FAILURES_PER_ADDRESS = 30  # wrong passwords per address, over all usernames, within the window
LOGIN_FAILURES_PER_ACCOUNT = 20  # wrong passwords per username, over all unknown addresses, within the window
LOGIN_WINDOW_S = 300  # over which failed logins are counted

DEVICE_COOKIE = "ragsite_device"
DEVICE_ID = re.compile(r"[A-Za-z0-9_-]{32}")
ORIGIN_KEPT = timedelta(days=180)  # since the last sign-in from there
SIGN_UP_WINDOW_S = 3600
LETTERS_PER_ADDRESS = 20  # e-mails that are asked for from one address within the window
LETTERS_PER_RECIPIENT = 5  # to one recipient, whether an account has it or not
LETTER_WINDOW_S = 3600
WAIT_S, NEW_DEVICE = "ragsite.retry_after_s", "ragsite.new_device"  # in request.META, for the middleware


class TooManyAttemptsError(RateLimitedError):
    """A limit on guessing passwords is reached."""

    message = worded("Too many wrong passwords; wait a few minutes and try again.")


class TooManySignUpsError(RateLimitedError):
    """The limit on new accounts from one address is reached."""

    message = worded("Too many accounts were made from your address; try again later.")


class TooManyLettersError(RateLimitedError):
    """The limit on e-mails from one address, or to one recipient, is reached."""

    message = worded("Too many e-mails were asked for; wait an hour and try again.")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` attempts within any `window_s` seconds."""

    key: str
    most: int
    window_s: int

    def wait_s(self, times: Sequence[float], now: float) -> int:
        """Until there is room for one more; 0 where there is. `times`: in order."""
        recent = self.recent(times, now)
        if len(recent) < self.most:
            return 0
        return max(1, math.ceil(recent[len(recent) - self.most] + self.window_s - now))

    def recent(self, times: Sequence[float], now: float) -> list[float]:
        return [at for at in times if at > now - self.window_s]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One counted attempt. limits: the first is that of this place on this account."""

    request: HttpRequest
    limits: tuple[Limit, ...]
    at: float

    def succeeded(self, user: User) -> None:
        """Give it back, forget the wrong ones from this place, and remember the address for this account."""
        with transaction.atomic():
            own, *shared = self.limits
            AttemptCounter.objects.filter(key=own.key).delete()
            for counter in _locked([limit.key for limit in shared]):
                if self.at in counter.times:
                    counter.times.remove(self.at)
                    counter.save(update_fields=["times"])
            _remember(user, _origin("address", _address(self.request)))


# ------------------------------------------------------------------------------------------------ attempts
def attempt_begin(request: HttpRequest, *, username: str) -> Attempt:
    """Count an attempt on this account. Raises TooManyAttemptsError; then nothing was counted."""
    limits = _limits(request, username)
    return Attempt(request, limits, at=_count(request, limits, TooManyAttemptsError))


def sign_up_count(request: HttpRequest) -> None:
    """Count a new account made from this address. Raises TooManySignUpsError."""
    limit = Limit(_key("sign-up", _address(request)), settings.RAG.limits.signups_per_hour, SIGN_UP_WINDOW_S)
    _count(request, (limit,), TooManySignUpsError)


def letter_count(request: HttpRequest, *, recipient: str) -> None:
    """Count an e-mail that somebody asked for. Raises TooManyLettersError; the same for recipients nobody knows."""
    limits = (
        Limit(_key("letters from", _address(request)), LETTERS_PER_ADDRESS, LETTER_WINDOW_S),
        Limit(_key("letters to", recipient.casefold()), LETTERS_PER_RECIPIENT, LETTER_WINDOW_S),
    )
    _count(request, limits, TooManyLettersError)


def _limits(request: HttpRequest, username: str) -> tuple[Limit, ...]:
    limits, window_s = settings.RAG.limits, LOGIN_WINDOW_S
    name = unicodedata.normalize("NFKC", username).casefold()
    address = _address(request)
    from_address, from_device = _origin("address", address), _device_origin(request)
    known = set(
        KnownOrigin.objects.filter(user__username=username, origin__in=[from_address, from_device]).values_list(
            "origin", flat=True
        )
    )
    if from_device in known:
        return (Limit(_key("place", name, from_device), limits.login_failures, window_s),)
    here = (
        Limit(_key("place", name, from_address), limits.login_failures, window_s),
        Limit(_key("address", address), LOGIN_FAILURES_PER_ADDRESS, window_s),
    )
    if from_address in known:
        return here
    return (*here, Limit(_key("account", name), LOGIN_FAILURES_PER_ACCOUNT, window_s))


def _count(request: HttpRequest, limits: tuple[Limit, ...], error: type[RateLimitedError]) -> float:
    """Count one attempt towards all limits, or towards none. Returns its time. Raises `error`."""
    now = time.time()
    times = dict(AttemptCounter.objects.filter(key__in=[limit.key for limit in limits]).values_list("key", "times"))
    _refuse_full(request, limits, times, now, error)  # without a write, so that further guesses cost little
    with transaction.atomic():
        # The upsert locks the rows, in the order of their keys, until the end of the transaction.
        AttemptCounter.objects.bulk_create(
            [AttemptCounter(key=limit.key, expires_at=_expiry(limit, now)) for limit in _in_order(limits)],
            update_conflicts=True,
            update_fields=["expires_at"],
            unique_fields=["key"],
        )
        counters = AttemptCounter.objects.in_bulk([limit.key for limit in limits])
        _refuse_full(request, limits, {key: counter.times for key, counter in counters.items()}, now, error)
        for limit in limits:
            counter = counters[limit.key]
            counter.times = [*limit.recent(counter.times, now), now]
        AttemptCounter.objects.bulk_update(counters.values(), ["times"])
    return now


def _refuse_full(
    request: HttpRequest,
    limits: tuple[Limit, ...],
    times: dict[str, list[float]],
    now: float,
    error: type[RateLimitedError],
) -> None:
    if wait_s := max(limit.wait_s(sorted(times.get(limit.key, ())), now) for limit in limits):
        request.META[WAIT_S] = wait_s
        raise error(retry_after_s=wait_s)


def _in_order(limits: Sequence[Limit]) -> list[Limit]:
    return sorted(limits, key=lambda limit: limit.key)


def _expiry(limit: Limit, now: float) -> datetime:
    return datetime.fromtimestamp(now + limit.window_s, tz=UTC)


def _locked(keys: Sequence[str]) -> list[AttemptCounter]:
    return list(AttemptCounter.objects.select_for_update().filter(key__in=keys).order_by("key"))


def _key(*parts: str) -> str:
    """Names and addresses are not kept, only what they come to with the site's secret key."""
    return salted_hmac("ragsite.sign_in_limits", json.dumps(parts), algorithm="sha256").hexdigest()


# ------------------------------------------------------------------------------------------------ known places
def device_remember(request: HttpRequest, user: User) -> None:
    """Remember this browser and its address for the account; a browser without our cookie gets one."""
    origin = _device_origin(request)
    if not origin:
        device = secrets.token_urlsafe(24)
        request.META[NEW_DEVICE] = device
        origin = _origin("device", device)
    _remember(user, origin, _origin("address", _address(request)))


def _remember(user: User, *origins: str) -> None:
    KnownOrigin.objects.bulk_create(
        [KnownOrigin(user=user, origin=origin, last_used_at=timezone.now()) for origin in sorted(origins)],
        update_conflicts=True,
        update_fields=["last_used_at"],
        unique_fields=["user", "origin"],
    )


def _device_origin(request: HttpRequest) -> str:
    """Empty: no cookie of ours."""
    device = request.COOKIES.get(DEVICE_COOKIE, "")
    return _origin("device", device) if DEVICE_ID.fullmatch(device) else ""


def _origin(kind: str, value: str) -> str:
    return _key("origin", kind, value)


def _address(request: HttpRequest) -> str:
    return counted_address(request.META.get("REMOTE_ADDR") or "")


def counted_address(address: str) -> str:
    """The address as it is counted: IPv4 by itself, IPv6 by its /64, since one subscriber has all of these."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket file: all come from one proxy
        return "unknown"
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed), 64), strict=False))


def sign_up_remember(request: HttpRequest, user: User) -> None:
    """Keep from which block of addresses the account was made, not the address."""
    block = address_block(request.META.get("REMOTE_ADDR") or "")
    SignUp.objects.update_or_create(user=user, defaults={"block": _key("sign-up block", block) if block else ""})


def address_block(address: str) -> str:
    """The /24 of an IPv4 address, the /48 of an IPv6 one; empty for what is neither."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket file: all come from one proxy
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.IPv6Network((int(parsed), 48), strict=False))
    plain = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else parsed
    return str(ipaddress.ip_network((int(plain or 0), 24), strict=False))


# ------------------------------------------------------------------------------------------------ tidying
def sign_in_limits_purge() -> int:
    """Delete what counts no longer. Returns the number of rows."""
    now = timezone.now()
    counters, _ = AttemptCounter.objects.filter(expires_at__lt=now).delete()
    origins, _ = KnownOrigin.objects.filter(last_used_at__lt=now - ORIGIN_KEPT).delete()
    return counters + origins
