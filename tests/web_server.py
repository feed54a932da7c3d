"""A web server on loopback that gives what a test lays out, and keeps the requests that came."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Page = tuple[int, dict[str, str], bytes]


class WebServer:
    """pages: path → status, headers, body; 404 for others. requests: (method, path, headers, body) of each."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.drips, self.dripped, self.hangs = b"", 0, False
        self._ended = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = (self.command, self.path, dict(self.headers), body)
                outer.requests.append(request)
                if outer.hangs:
                    outer._ended.wait(30)
                    return
                status, headers, data = outer.answer(*request)
                with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up
                    self.send_response(status)
                    for name, value in {
                        "Content-Length": "100000" if outer.drips else str(len(data)),
                        **headers,
                    }.items():
                        self.send_header(name, value)
                    self.end_headers()
                    while outer.drips and not outer._ended.is_set():
                        self.wfile.write(outer.drips)
                        outer.dripped += 1
                        time.sleep(0.01)
                    self.wfile.write(data)

            do_GET = do_PUT = do_POST = do_PROPFIND = handle_any

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Page:
        return self.pages.get(path, (404, {}, b""))

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
