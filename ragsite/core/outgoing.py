"""Requests to addresses that people enter: none leads inwards, unless the operator names the host.

The name is resolved when a connection is opened, every address that it has is checked, and one of those is connected
to: neither a redirect nor a name that changes its address meanwhile leads anywhere else. Whatever takes a
`urllib3.PoolManager` is guarded by it (`guarded_pools`); no proxy of the environment is used.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import urllib3
from django.conf import settings
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, Retry, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError
from urllib3.util.connection import create_connection

from ragsite.core.errors import PermissionDeniedError, UnavailableError
from ragsite.core.wording import worded

CONNECT_S, READ_S = 5.0, 20.0
WHOLE_S = 60.0  # of one answer, however steadily it drips
MOST_REDIRECTS = 5
PIECE_BYTES = 64 * 1024
AGENT = "Ragsite"
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class InwardAddressError(PermissionDeniedError):
    code = "inward_address"
    message = worded("This address leads into the site's own network; an operator has to allow its host first.")


class UnreachableError(UnavailableError):
    code = "unreachable"
    message = worded("This address does not answer, or too late; try again later.")


@dataclass(frozen=True, slots=True)
class Answer:
    """is_cut: the body was longer than what was wanted of it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    is_cut: bool = False


def is_inward(address: str) -> bool:
    """Private, link-local, loopback, multicast and the like, also where IPv6 wraps such an address of IPv4."""
    ip: Any = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6:
        teredo = ip.teredo[1] if ip.teredo else None
        wrapped = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None
        inner = ip.ipv4_mapped or ip.sixtofour or teredo or wrapped
        if ip.is_site_local or (inner is not None and is_inward(str(inner))):
            return True
    return not ip.is_global or ip.is_multicast


def addresses_of(host: str, port: int) -> list[str]:
    """Raises InwardAddressError where one of them leads inwards, OSError where the name has none."""
    allowed = settings.SITE.inner_hosts
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if host.lower() not in allowed and not all(_is_allowed(address, allowed) for address in addresses):
        raise InwardAddressError
    return addresses


def _is_allowed(address: str, allowed: list[str]) -> bool:
    if not is_inward(address):
        return True
    ip = ipaddress.ip_address(address.partition("%")[0])
    return any(ip in network for network in map(_network, allowed) if network is not None)


def _network(text: str) -> Any:
    """None: it is a host's name."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


class _Checked(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        try:
            addresses = addresses_of(self.host, self.port)
        except (socket.gaierror, UnicodeError) as error:
            raise NameResolutionError(self.host, self, socket.gaierror(str(error))) from error
        failure: OSError | None = None
        for address in addresses:
            try:
                return create_connection((address, self.port), self.timeout, self.source_address, self.socket_options)
            except OSError as error:
                failure = error
        raise NewConnectionError(self, f"no connection: {failure}")


class _CheckedTls(_Checked, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Checked


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedTls


def guarded_pools(*, redirects: int = MOST_REDIRECTS) -> PoolManager:
    """For one piece of work; close it with `clear()`."""
    retries = Retry(total=redirects, connect=0, read=0, status=0, other=0, redirect=redirects)
    pools = PoolManager(headers={"User-Agent": AGENT}, timeout=Timeout(connect=CONNECT_S, read=READ_S), retries=retries)
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return pools


def fetch(
    pools: PoolManager, method: str, url: str, *, most_bytes: int, headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Answer:  # fmt: skip
    """At most so many bytes of the body, within WHOLE_S. Raises InwardAddressError, UnreachableError."""
    ends_at, received, is_cut = time.monotonic() + WHOLE_S, bytearray(), False
    try:
        response = pools.request(
            method, url, body=body, headers={**pools.headers, **(headers or {})}, preload_content=False
        )
        try:
            for piece in response.stream(PIECE_BYTES):
                received += piece
                if is_cut := len(received) > most_bytes:
                    break
                if time.monotonic() > ends_at:
                    raise UnreachableError
        finally:
            response.close()
    except (HTTPError, OSError, ValueError) as error:  # ValueError: no address at all
        raise UnreachableError from error
    answered = {name.lower(): value for name, value in response.headers.items()}
    place = urllib3.util.parse_url(response.geturl() or url)
    final = place.url if place.host else urllib3.util.parse_url(url)._replace(path=place.path, query=place.query).url
    return Answer(response.status, answered, bytes(received[:most_bytes]), final, is_cut)
