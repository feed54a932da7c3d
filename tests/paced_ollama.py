"""A model server with the pace of a small GPU: the test suite's simulated Ollama, slowed down.

Each chat call waits for one of a few slots, then for its first token, then writes at a fixed speed. What it says is
judged by shared words (`tests.ollama_answers`), so that the workflows decide as they would.

    python -m tests.paced_ollama --port 11434      as a server of its own, until it is ended
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from dataclasses import replace

from tests.ollama_server import Connection, OllamaServer, RecordedRequest, Reply


class PacedOllama(OllamaServer):
    """first_token_s: from a free slot to the first token. tokens_per_s: of each answer. at_once: calls side by side."""

    def __init__(self, *, first_token_s: float, tokens_per_s: float, at_once: int) -> None:
        super().__init__()
        self._first_token_s = first_token_s
        self._token_s = 1 / tokens_per_s
        self._at_once = at_once
        self._slots: asyncio.Semaphore | None = None

    def _reply_for(self, request: RecordedRequest) -> Reply:
        reply = super()._reply_for(request)
        if request.endpoint != "chat":
            return reply
        return replace(reply, delay_s=self._first_token_s, token_delay_s=self._token_s)

    async def _answer(self, request: RecordedRequest, connection: Connection) -> None:
        if request.endpoint != "chat":
            await super()._answer(request, connection)
            return
        self._slots = self._slots or asyncio.Semaphore(self._at_once)  # of the server's own loop
        async with self._slots:
            await super()._answer(request, connection)


LONG_ANSWER = " ".join(
    f"Sentence {number} of the answer comes from the first passage [1]." for number in range(1, 13)
)


def main() -> None:
    parser = argparse.ArgumentParser(description="The paced model server, as a process of its own.")
    parser.add_argument("--port", type=int, required=True)
    server = PacedOllama(first_token_s=0.06, tokens_per_s=60, at_once=16)
    server.port = parser.parse_args().port
    server.reply(structured=False, match="<passages>", text=LONG_ANSWER)
    server.start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop()


if __name__ == "__main__":
    main()
