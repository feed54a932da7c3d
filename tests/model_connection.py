"""One response of the stand-in for a model server, as it goes over the wire."""

from __future__ import annotations

import asyncio
import json as jsonlib
from typing import Any

REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class ClientGoneError(Exception):
    pass


class Connection:
    """Writes one response; raises ClientGoneError as soon as the client has left."""

    def __init__(self, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.gone = gone
        self.cut_by_us = False
        self._writer = writer

    async def wait(self, seconds: float | None) -> None:
        """Wait this long (None: for ever), but only while the client is there."""
        try:
            async with asyncio.timeout(seconds):
                if seconds != 0:
                    await self.gone.wait()
        except TimeoutError:
            return
        if self.gone.is_set():
            raise ClientGoneError

    async def send_json(self, body: Any, status: int = 200) -> None:
        await self.send_raw_json(jsonlib.dumps(body).encode(), status)

    async def send_raw_json(self, data: bytes, status: int = 200) -> None:
        await self._write(
            self._head(status, "application/json", f"Content-Length: {len(data)}") + data
        )

    async def start_stream(self) -> None:
        await self._write(self._head(200, "application/x-ndjson", "Transfer-Encoding: chunked"))

    async def line(self, body: dict[str, Any]) -> None:
        await self.raw_line(jsonlib.dumps(body, ensure_ascii=False).encode() + b"\n")

    async def raw_line(self, data: bytes) -> None:
        await self._write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        await self._write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Break the connection off in the middle."""
        self.cut_by_us = True
        self._writer.transport.abort()
        raise ClientGoneError

    async def _write(self, data: bytes) -> None:
        if self.gone.is_set():
            raise ClientGoneError
        self._writer.write(data)
        await self._writer.drain()
        await asyncio.sleep(0)  # let the end of the connection be noticed

    @staticmethod
    def _head(status: int, content_type: str, framing: str) -> bytes:
        return f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n".encode()
