"""Who uses the site meanwhile: people who ask, read and rate without a pause, and programs that push documents.

They run in a thread of their own, since the site's processes are started by the main one. All of them go through nginx,
and try again what was not acknowledged, as the page and a program do.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field

import httpx

from benchmarks.resilience.faults import Ledger, User
from benchmarks.support.fault_site import ADMIN_PASSWORD

PUSHERS = 4
PARTS = 3  # of a document
TRY_AGAIN_S = 1.0
CALM_S = 180.0  # within which every answer that is being written must end
MAKE_USERS = """
from django.contrib.auth.models import User
from ragsite.accounts.tokens import token_create
for number in range({count}):
    print(token_create(user=User.objects.create_user(f"person{{number}}", password="{password}")))
"""


@dataclass(slots=True)
class Pushed:
    """Documents by their key. taken: acknowledged, with the time of the last one."""

    waiting: list[str] = field(default_factory=list)
    taken: dict[str, str] = field(default_factory=dict)
    last_at: float = 0.0


class Crowd:
    """count: people. documents: how many are pushed, by the first few of them."""

    def __init__(self, url: str, tokens: list[str], *, documents: int) -> None:
        self.ledger = Ledger()
        self.pushed = Pushed(waiting=[f"rule-{number}" for number in range(documents)])
        self._documents = documents
        self._url = url
        self._tokens = tokens
        self._users: list[User] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._ending = threading.Event()

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> bool:
        """Nothing new is asked; True if all that is under way came to its end."""
        self._ending.set()
        for user in self._users:
            user.asking = False
        self._thread.join(CALM_S)
        return not self._thread.is_alive()

    @property
    def left(self) -> int:
        """Documents that are not acknowledged yet, those that are being pushed among them."""
        return self._documents - len(self.pushed.taken)

    async def _run(self) -> None:
        self._users = [self._user(number, token) for number, token in enumerate(self._tokens)]
        pushing = [self._push_on(user) for user in self._users[:PUSHERS]]
        await asyncio.gather(*(user.ask_on() for user in self._users), *pushing)
        await asyncio.gather(*(user.http.aclose() for user in self._users))

    def _user(self, number: int, token: str) -> User:
        user = User(number, self._url, self.ledger)
        user.http.headers["Authorization"] = f"Token {token}"
        return user

    async def _push_on(self, user: User) -> None:
        pushed = self.pushed
        while pushed.waiting and not self._ending.is_set():
            key = pushed.waiting.pop()
            # By the same person, whose collection may have it already: only the reply was lost.
            while not (document_id := await self._push(user, key)):
                if self._ending.is_set():
                    return
                await asyncio.sleep(TRY_AGAIN_S)
            pushed.taken[key] = document_id
            self.ledger.documents[document_id] = self.ledger.fault
            pushed.last_at = time.monotonic()

    async def _push(self, user: User, key: str) -> str:
        """The document's id; "" where it was not acknowledged."""
        files = {"file": (f"{key}.md", text_of(key))}
        try:
            reply = await user.http.put(
                f"/api/documents/by-key/rules/{key}",
                files=files,
                data={"collection": f"rules-{user.number}"},
            )
        except httpx.HTTPError:
            return ""
        if reply.status_code not in (200, 202):
            self.ledger.refuse(reply.status_code)
            return ""
        return str(json.loads(reply.text)["id"])


def text_of(key: str) -> str:
    """Each part of each document says something that no other one says."""
    parts = [
        f"## Part {part} of {key}\n\n"
        + f"The library of {key} lends {part + 2} items of kind {key}-{part}. " * 8
        for part in range(1, PARTS + 1)
    ]
    return f"# {key}\n\n" + "\n\n".join(parts) + "\n"


def tokens_of(printed: str) -> list[str]:
    return printed.split()


def make_users(count: int) -> str:
    """Python that makes them, and prints a token for each."""
    return MAKE_USERS.format(count=count, password=ADMIN_PASSWORD)
