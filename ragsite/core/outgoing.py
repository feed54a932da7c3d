"""Requests to addresses that people enter: none leads inwards, unless the operator names the host.

The name is resolved when a connection is opened, every address that it has is checked, and one of those is connected
to: neither a redirect nor a name that changes its address meanwhile leads anywhere else. Whatever takes a
`urllib3.PoolManager` is guarded by it (`guarded_pools`); no proxy of the environment is used.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import urllib3
from django.conf import settings
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, Retry, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError
from urllib3.util.connection import create_connection

from ragsite.core.errors import PermissionDeniedError, UnavailableError
from ragsite.core.messages import worded

CONNECT_S = 5.0
READ_S = 20.0
WHOLE_S = 60.0  # of one answer, however steadily it drips
MOST_REDIRECTS = 5
PIECE_BYTES = 64 * 1024
FOR_ONE_HOST = {name.lower() for name in Retry.DEFAULT_REMOVE_HEADERS_ON_REDIRECT}
AGENT = "Ragsite"
NAT64 = ipaddress.ip_network("64:ff9b::/96")
GIVEN_OUT = ipaddress.ip_network("2000::/3")  # of IPv6, to networks of the Internet
ISATAP = 0x5EFE  # before an address of IPv4 in the last 64 bits, whatever the bit for “unique” says
ISATAP_MASK = 0xFDFFFFFF


class InwardAddressError(PermissionDeniedError):
    code = "inward_address"
    message = worded(
        "This address leads into the site's own network; an operator has to allow its host first."
    )


class UnreachableError(UnavailableError):
    code = "unreachable"
    message = worded("This address does not answer, or too slowly. Try again later.")


@dataclass(frozen=True, slots=True)
class OutgoingResponse:
    """is_cut: the body was longer than what was wanted of it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    is_cut: bool = False


def is_inward(address: str) -> bool:
    """Private, link-local, loopback, multicast and the like, also where IPv6 wraps such an address of IPv4.

    Of IPv6 all is inward that was not given out: what else it wraps (`::a.b.c.d`, `::ffff:0:a.b.c.d`, translators'
    `64:ff9b:1::/48`) leads where this network's own routers say.
    """
    ip: Any = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6:
        last = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if ip in NAT64 or ip.ipv4_mapped:
            return is_inward(str(last))
        wrapped = [ip.sixtofour, ip.teredo[1] if ip.teredo else None]
        if (int(ip) >> 32) & ISATAP_MASK == ISATAP:
            wrapped.append(last)
        if ip not in GIVEN_OUT or any(is_inward(str(inner)) for inner in wrapped if inner):
            return True
    return not ip.is_global or ip.is_multicast


def addresses_of(host: str, port: int) -> list[str]:
    """Raises InwardAddressError where one of them leads inwards, OSError where the name has none."""
    allowed = settings.SITE.inner_hosts
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if host.lower() not in allowed and not all(
        _is_allowed(address, allowed) for address in addresses
    ):
        raise InwardAddressError
    return addresses


def is_named(host: str) -> bool:
    """Whether the operator names this host, or its address."""
    allowed = settings.SITE.inner_hosts
    if host.lower() in allowed:
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(ip in network for network in map(_network, allowed) if network is not None)


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
                return create_connection(
                    (address, self.port), self.timeout, self.source_address, self.socket_options
                )
            except OSError as error:
                failure = error
        raise NewConnectionError(self, f"no connection: {failure}")

    def getresponse(self) -> Any:
        """Status and headers, within WHOLE_S."""
        timer = threading.Timer(WHOLE_S, self._shut)
        timer.start()
        try:
            return super().getresponse()
        finally:
            timer.cancel()

    def _shut(self) -> None:
        with suppress(OSError, AttributeError):  # it is closed already
            self.sock.shutdown(socket.SHUT_RDWR)


class _CheckedTls(_Checked, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Checked


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedTls


def guarded_pools(*, redirects: int = MOST_REDIRECTS) -> PoolManager:
    """For one piece of work; close it with `clear()`."""
    retries = Retry(total=redirects, connect=0, read=0, status=0, other=0, redirect=redirects)
    pools = PoolManager(
        headers={"User-Agent": AGENT},
        timeout=Timeout(connect=CONNECT_S, read=READ_S),
        retries=retries,
    )
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return pools


def fetch(
    pools: PoolManager,
    method: str,
    url: str,
    *,
    most_bytes: int,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> OutgoingResponse:
    """At most so many bytes of the body, within WHOLE_S. Raises InwardAddressError, UnreachableError."""
    ends_at = time.monotonic() + WHOLE_S
    received = bytearray()
    try:
        response, url = _followed(pools, method, url, {**pools.headers, **(headers or {})}, body)
        try:
            while len(received) <= most_bytes:
                if time.monotonic() > ends_at:
                    raise UnreachableError
                if not (
                    piece := response.read1(PIECE_BYTES)
                ):  # what is there; `read` would wait for all of it
                    break
                received += piece
        finally:
            response.close()
    except (HTTPError, OSError, ValueError) as error:  # ValueError: no address at all
        raise UnreachableError from error
    answered = {name.lower(): value for name, value in response.headers.items()}
    is_cut = len(received) > most_bytes
    return OutgoingResponse(
        response.status,
        answered,
        bytes(received[:most_bytes]),
        urllib3.util.parse_url(url).url,
        is_cut,
    )


def _followed(
    pools: PoolManager, method: str, url: str, headers: dict[str, str], body: bytes | None
) -> tuple[Any, str]:
    """The last answer, and whose it is. urllib3 itself would receive the whole body of each redirect."""
    for _ in range(1 + pools.connection_pool_kw["retries"].redirect):
        response = pools.request(
            method, url, body=body, headers=headers, preload_content=False, redirect=False
        )
        location = response.get_redirect_location()
        if not location:
            return response, url
        response.close()
        target = urljoin(url, location)
        if not pools.connection_from_url(url).is_same_host(target):
            headers = {
                name: value for name, value in headers.items() if name.lower() not in FOR_ONE_HOST
            }
        if response.status == 303:
            method = "GET"
            body = None
        url = target
    raise UnreachableError
