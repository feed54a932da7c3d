"""From which block of addresses an account was made: feedback counts young accounts of one place as one."""

from __future__ import annotations

import ipaddress

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from ragsite.models import SignUp


def sign_up_remember(request: HttpRequest, user: User) -> None:
    """Keep an HMAC of the block, not the address."""
    block = address_block(request.META.get("REMOTE_ADDR") or "")
    mac = salted_hmac("ragsite.sign_up", block, algorithm="sha256").hexdigest() if block else ""
    SignUp.objects.update_or_create(user=user, defaults={"block": mac})


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
