"""Who uses the site meanwhile: people who ask, read and rate without a pause, and programs that push documents.

They run in a thread of their own, since the site's processes are started by the main one. All of them go through nginx,
and try again what was not acknowledged, as the page and a program do.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from typing import Any

import httpx

from benchmarks.production.ledger import Answer, Ledger

PUSHERS = 4
PARTS = 3  # of a document
TRY_AGAIN_S = 0.5
RATING_TRIES = 100
CALM_S = 180.0  # within which every answer that is being written must end
QUIET = httpx.Timeout(40.0, connect=5.0)  # a stream says something at least every 15 s
QUESTION = "Which rule does regulation {number}-{turn} name for the library in {code}?"


class Person:
    """Asks, reads to the end through all breaks, rates, and pushes documents."""

    def __init__(self, number: int, url: str, token: str, ledger: Ledger) -> None:
        self.number = number
        self.asking = True
        self._ledger = ledger
        headers = {"Authorization": f"Token {token}"}
        self.http = httpx.AsyncClient(base_url=url, timeout=QUIET, headers=headers)

    async def ask_on(self) -> None:
        """Until told to stop."""
        turn = 0
        while self.asking:
            turn += 1
            code = uuid.uuid4().hex[:6]
            answer = await self._ask(QUESTION.format(number=self.number, turn=turn, code=code))
            if answer is None:
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            while not answer.final:
                await asyncio.sleep(0.3)
                await self._read(answer)
            if answer.final == "done":
                await self._rate(answer)

    async def push(self, key: str) -> str:
        """The document's id; "" where it was not acknowledged."""
        files = {"file": (f"{key}.md", text_of(key))}
        data = {"collection": f"rules-{self.number}"}
        address = f"/api/documents/by-key/rules/{key}"
        try:
            reply = await self.http.put(address, files=files, data=data)
        except httpx.HTTPError:
            return ""
        if reply.status_code not in (200, 202):
            self._ledger.refuse(reply.status_code)
            return ""
        return str(reply.json()["id"])

    async def _ask(self, question: str) -> Answer | None:
        """The answer as far as it was read; None: nothing was acknowledged."""
        body = {"message": question, "stream": True}
        answer: Answer | None = None
        asked = time.monotonic()
        try:
            async with self.http.stream("POST", "/api/chat", json=body) as reply:
                if reply.status_code != 200:
                    self._ledger.refuse(reply.status_code)
                    return None
                async for line in reply.aiter_lines():
                    if line.startswith("data:"):
                        event = json.loads(line[5:])
                        answer = answer or self._acknowledged(event, question, asked)
                        take(answer, event)
        except httpx.HTTPError:
            pass
        return answer

    def _acknowledged(self, event: dict[str, Any], question: str, asked: float) -> Answer:
        ids = (event["message_id"], event["user_message_id"])
        answer = Answer(*ids, question, self._ledger.fault, asked)
        self._ledger.answers[answer.message_id] = answer
        return answer

    async def _read(self, answer: Answer) -> None:
        """What was not read yet."""
        address = f"/api/messages/{answer.message_id}/events"
        headers = {"Last-Event-ID": str(answer.last_seq)}
        try:
            async with self.http.stream("GET", address, headers=headers) as reply:
                if reply.status_code == 404:
                    answer.final = "gone"
                elif reply.status_code != 200:
                    self._ledger.refuse(reply.status_code)
                else:
                    async for line in reply.aiter_lines():
                        if line.startswith("data:"):
                            take(answer, json.loads(line[5:]))
        except httpx.HTTPError:
            pass

    async def _rate(self, answer: Answer) -> None:
        address = f"/api/messages/{answer.message_id}/rating"
        for _ in range(RATING_TRIES):
            fault = self._ledger.fault
            try:
                reply = await self.http.put(address, json={"thumb": "up"})
            except httpx.HTTPError:
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            if reply.status_code < 300:
                self._ledger.ratings[answer.message_id] = fault
                return
            self._ledger.refuse(reply.status_code)
            if reply.status_code < 429:
                return
            await asyncio.sleep(TRY_AGAIN_S)


def take(answer: Answer, event: dict[str, Any]) -> None:
    answer.last_seq = max(answer.last_seq, event["seq"])
    if event["type"] == "chunk":
        answer.seen.append((time.monotonic(), event["content"]))
    elif event["type"] == "withdrawn":  # the reader's page takes the text away, too
        answer.seen.clear()
        answer.withdrawn += 1
    elif event["type"] in ("done", "error"):
        answer.final = event["type"]
        answer.ended = time.monotonic()


def text_of(key: str) -> str:
    """Each part of each document says something that no other one says."""
    parts = []
    for part in range(1, PARTS + 1):
        sentence = f"The library of {key} lends {part + 2} items of kind {key}-{part}. "
        parts.append(f"## Part {part} of {key}\n\n{sentence * 8}")
    return f"# {key}\n\n" + "\n\n".join(parts) + "\n"


class Crowd:
    """A person for each token; the first few push so many documents. pushed: key → the document's id."""

    def __init__(self, url: str, tokens: list[str], ledger: Ledger, *, documents: int) -> None:
        self.pushed: dict[str, str] = {}
        self._ledger = ledger
        self._documents = documents
        self._waiting = [f"rule-{number}" for number in range(documents)]
        self._url = url
        self._tokens = tokens
        self._people: list[Person] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._ending = threading.Event()

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> bool:
        """Nothing new is asked; True if all that is under way came to its end."""
        self._ending.set()
        for person in self._people:
            person.asking = False
        self._thread.join(CALM_S)
        return not self._thread.is_alive()

    @property
    def left(self) -> int:
        """Documents that are not acknowledged yet, those that are being pushed among them."""
        return self._documents - len(self.pushed)

    async def _run(self) -> None:
        for number, token in enumerate(self._tokens):
            self._people.append(Person(number, self._url, token, self._ledger))
        pushing = [self._push_on(person) for person in self._people[:PUSHERS]]
        await asyncio.gather(*(person.ask_on() for person in self._people), *pushing)
        for person in self._people:
            await person.http.aclose()

    async def _push_on(self, person: Person) -> None:
        while self._waiting and not self._ending.is_set():
            key = self._waiting.pop()
            # By the same person, whose collection may have it already: only the reply was lost.
            while not (document_id := await person.push(key)):
                if self._ending.is_set():
                    return
                await asyncio.sleep(TRY_AGAIN_S)
            self.pushed[key] = document_id
            self._ledger.documents[document_id] = self._ledger.fault
