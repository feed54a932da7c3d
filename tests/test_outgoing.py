"""No request to an address that somebody entered leads inwards, unless the operator names the host."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ragsite.core import outgoing
from ragsite.core.outgoing import (
    InwardAddressError,
    UnreachableError,
    fetch,
    guarded_pools,
    is_inward,
)
from ragsite.core.sealed import SealBrokenError, seal, unseal
from tests.web_server import WebServer


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


@pytest.fixture
def inner_hosts(settings: Any) -> Any:
    def allow(*hosts: str) -> None:
        settings.SITE = settings.SITE.model_copy(update={"inner_hosts": list(hosts)})

    return allow


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "::",
     "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1", "5f00::1"],
)  # fmt: skip
def test_these_addresses_lead_inwards(address: str) -> None:
    assert is_inward(address)


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "2606:2800:220:1::1",
        "64:ff9b::5db8:d822",
        "::ffff:93.184.216.34",
        "2002:5db8:d822::1",
        "2606:2800:220:1:0:5efe:5db8:d822",
    ],
)
def test_these_lead_outwards(address: str) -> None:
    assert not is_inward(address)


@pytest.mark.parametrize(
    "address",
    ["::ffff:10.0.0.1", "::ffff:127.0.0.1", "::10.0.0.1", "::5db8:d822", "::ffff:0:10.0.0.1", "::ffff:0:a9fe:a9fe",
     "2002:a00:1::", "2001:0:5db8:d822:0:0:f5ff:fffe", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
     "64:ff9b:1:a9fe:a9:fe00::", "2606:2800:220:1:0:5efe:a00:1", "2606:2800:220:1:200:5efe:a9fe:a9fe",
     "fe80::5efe:5db8:d822"],
)  # fmt: skip
def test_an_inner_address_wrapped_in_another_leads_inwards(address: str) -> None:
    assert is_inward(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]"])
def test_no_spelling_of_an_inner_host_is_called(web: WebServer, host: str) -> None:
    with pytest.raises(InwardAddressError):
        fetch(guarded_pools(), "GET", f"http://{host}:{web.port}/", most_bytes=10)
    assert web.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.0/8", "localhost"])
def test_a_host_that_the_operator_names_is(web: WebServer, inner_hosts: Any, host: str) -> None:
    inner_hosts(host)
    name = "localhost" if host == "localhost" else "127.0.0.1"
    web.pages["/"] = (200, {}, b"hello")
    answer = fetch(guarded_pools(), "GET", f"http://{name}:{web.port}/", most_bytes=3)
    assert (answer.status, answer.body, answer.is_cut) == (200, b"hel", True)


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "http://[::1]/"])
def test_no_redirect_leads_inwards(web: WebServer, inner_hosts: Any, target: str) -> None:
    inner_hosts("127.0.0.1")
    web.pages["/"] = (302, {"Location": target}, b"")
    with pytest.raises(InwardAddressError):
        fetch(guarded_pools(), "GET", f"http://127.0.0.1:{web.port}/", most_bytes=10)


def test_what_was_checked_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that has another address a moment later gains nothing by it."""
    given = iter(["93.184.216.34", "127.0.0.1"])
    place = lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(given), 80))]  # noqa: E731
    monkeypatch.setattr(outgoing.socket, "getaddrinfo", place)
    connected: list[Any] = []

    def connect(address: Any, *_: Any) -> None:
        connected.append(address)
        raise OSError("no way out of a test")

    monkeypatch.setattr(outgoing, "create_connection", connect)
    with pytest.raises(UnreachableError):
        fetch(guarded_pools(), "GET", "http://rebinding.example.org/", most_bytes=10)
    assert connected == [("93.184.216.34", 80)]


@pytest.mark.parametrize(
    "page",
    [
        (200, {}, b""),
        (200, {"Transfer-Encoding": "chunked"}, b""),
        (302, {"Location": "/"}, b""),
        (100, {}, b""),
    ],
)
def test_what_drips_is_given_up(
    web: WebServer, inner_hosts: Any, monkeypatch: Any, page: Any
) -> None:
    """A body, in chunks too; that of a redirect; headers."""
    inner_hosts("127.0.0.1")
    monkeypatch.setattr(outgoing, "WHOLE_S", 0.3)
    web.pages["/"] = page
    web.drips = b"1\r\n.\r\n" if "Transfer-Encoding" in page[1] else b"."
    with pytest.raises(UnreachableError):
        fetch(guarded_pools(), "GET", f"http://127.0.0.1:{web.port}/", most_bytes=100_000)
    assert web.dripped < 1000


def test_a_body_that_drips_is_cut_where_it_is_long_enough(web: WebServer, inner_hosts: Any) -> None:
    inner_hosts("127.0.0.1")
    web.pages["/"], web.drips = (200, {}, b""), b"."
    assert fetch(guarded_pools(), "GET", f"http://127.0.0.1:{web.port}/", most_bytes=10).is_cut
    assert web.dripped < 1000


def test_a_redirect_takes_a_password_to_no_other_host(web: WebServer, inner_hosts: Any) -> None:
    inner_hosts("127.0.0.1", "localhost")
    web.pages |= {
        "/": (302, {"Location": f"http://localhost:{web.port}/a"}, b""),
        "/b": (200, {}, b"b"),
    }
    web.pages["/a"] = (303, {"Location": "b"}, b"")
    headers = {"Authorization": "Basic bWU6cHc=", "X-Mine": "1"}
    answer = fetch(
        guarded_pools(),
        "POST",
        f"http://127.0.0.1:{web.port}/",
        most_bytes=9,
        headers=headers,
        body=b"x",
    )
    assert (answer.body, answer.url) == (b"b", f"http://localhost:{web.port}/b")
    asked = [
        (method, path, "Authorization" in sent, body) for method, path, sent, body in web.requests
    ]
    assert asked == [
        ("POST", "/", True, b"x"),
        ("POST", "/a", False, b"x"),
        ("GET", "/b", False, b""),
    ]
    assert all("X-Mine" in sent for _, _, sent, _ in web.requests)


def test_a_secret_is_read_by_the_key_alone_that_sealed_it(settings: Any) -> None:
    sealed = seal({"password": "correct horse"})
    assert "horse" not in sealed and unseal(sealed) == {"password": "correct horse"}
    settings.SECRET_KEY = "another"
    with pytest.raises(SealBrokenError):
        unseal(sealed)
