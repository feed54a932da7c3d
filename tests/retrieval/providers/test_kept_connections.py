"""Kept connections to a model server: used again, and given up for a new one when the server has closed them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from retrieval.providers.kept_connections import KeptConnections

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def served(
    handle: Callable[[int, int, Writer], Awaitable[None]],
) -> AsyncIterator[tuple[httpx.AsyncClient, list[int]]]:
    """`handle(connection, request, writer)`, both counted from 1; the list has each request's connection."""
    seen: list[int] = []
    connections = 0
    ended: list[asyncio.Task[None] | None] = []

    async def accept(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        ended.append(asyncio.current_task())
        number, requests = connections, 0
        while (await reader.readline()).startswith(b"POST"):
            await reader.readuntil(b"\r\n\r\n")
            requests += 1
            seen.append(number)
            await handle(number, requests, writer)
            if writer.is_closing():
                break
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = KeptConnections(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", transport=transport) as client:
        yield client, seen
    server.close()
    await asyncio.gather(*(task for task in ended if task))


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async def answer(connection: int, request: int, writer: Writer) -> None:
        writer.write(OK)

    async with served(answer) as (client, seen):
        for _ in range(3):
            assert (await client.post("/")).text == "ok"
        assert seen == [1, 1, 1]


async def test_a_kept_connection_that_breaks_is_replaced() -> None:
    async def break_second(connection: int, request: int, writer: Writer) -> None:
        if request == 2:
            writer.transport.abort()
        else:
            writer.write(OK)

    async with served(break_second) as (client, seen):
        assert [(await client.post("/")).text for _ in range(2)] == ["ok", "ok"]
        assert seen == [1, 1, 2]


async def test_a_new_connection_that_breaks_is_not_tried_again() -> None:
    async def break_off(connection: int, request: int, writer: Writer) -> None:
        writer.transport.abort()

    async with served(break_off) as (client, seen):
        with pytest.raises(httpx.TransportError):
            await client.post("/")
        assert seen == [1]


async def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    async def break_in_the_body(connection: int, request: int, writer: Writer) -> None:
        writer.write(OK if request == 1 else OK.removesuffix(b"k"))
        if request == 2:
            await writer.drain()
            writer.close()

    async with served(break_in_the_body) as (client, seen):
        await client.post("/")
        with pytest.raises(httpx.TransportError):
            await client.post("/")
        assert seen == [1, 1]
