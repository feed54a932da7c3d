"""Probes: a question asked again and again in a thread, so that a missing answer does not block the caller."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

ASK_TIMEOUT_S = 3.0


class Probe:
    """Whether something answers. `ask` returns within about `ASK_TIMEOUT_S` and raises nothing.

    `failing_s` adds up the questions without an answer: each counts its pause and at most `ASK_TIMEOUT_S`. It is not
    wall time: while this very process is stopped (Ctrl-Z), nobody else has failed.
    """

    def __init__(self, ask: Callable[[], bool], *, every_s: float) -> None:
        self.succeeded = False  # since the last reset
        self.failing_s = 0.0  # since the last answer, or reset
        self._ask = ask
        self._every_s = every_s
        self._lock = threading.Lock()
        self._resets = 0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def reset(self) -> None:
        """From now on, as what is asked was started anew. An answer that is under way no longer counts."""
        with self._lock:
            self._resets += 1
            self.succeeded, self.failing_s = False, 0.0

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="probe", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ask no more; does not wait for a question that is under way."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(self._every_s):
            self._look()

    def _look(self) -> None:
        resets, began = self._resets, time.monotonic()
        answered = self._ask()
        took_s = min(time.monotonic() - began, ASK_TIMEOUT_S) + self._every_s
        with self._lock:
            if resets != self._resets:
                return
            self.succeeded = self.succeeded or answered
            self.failing_s = 0.0 if answered else self.failing_s + took_s


def http_status(url: str) -> int:
    """The status that a GET is answered with; 0 without an answer in time. Proxies of the environment are not used."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ASK_TIMEOUT_S)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", address.path or "/")
        return connection.getresponse().status
    return 0
