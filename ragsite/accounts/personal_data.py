"""What the site holds of a person. Each app says it of its own tables, at start; accounts know nothing of them.

    use_holder("chat", ChatHolder())        # in the app's `ready`

Holders are asked in the order of their dependence: who was registered last gives out and deletes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Protocol

from django.contrib.auth.models import User

from ragsite.core.wording import Sentence


@dataclass(frozen=True, slots=True)
class Held:
    """How much of one kind is held. what: a sentence with its count, such as "3 conversations"; count ≥ 0."""

    what: Sentence
    count: int


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the export. path: inside of the archive, parts joined by "/", unique in it.

    content: what becomes JSON, written item by item where it is an iterator; or what opens a stored file, and raises
    OSError or ValueError where it is gone.
    """

    path: str
    content: Mapping[str, Any] | Iterator[Mapping[str, Any]] | Callable[[], IO[bytes]]


class Holder(Protocol):
    """The tables of one app."""

    def goes(self, user: User) -> Iterable[Held]:
        """What `erase` deletes, as the person is told before."""
        ...

    def stays(self, user: User) -> Iterable[Held]:
        """What is left of what the person did, without their name."""
        ...

    def parts(self, user: User) -> Iterator[Part]:
        """Everything that is the person's. Reads as it goes: constant memory, however much it is."""
        ...

    def erase(self, user: User) -> Iterator[int]:
        """Delete it. Each step is one short transaction and yields how many rows it deleted; begun anew it goes on."""
        ...


_holders: dict[str, Holder] = {}


def use_holder(name: str, holder: Holder) -> None:
    """Say what an app holds. Again under the same name: in place of the first."""
    _holders[name] = holder


def holders() -> list[Holder]:
    """Who leans on others comes before them."""
    return list(reversed(_holders.values()))


def what_goes(user: User) -> list[Held]:
    return [held for holder in holders() for held in holder.goes(user) if held.count]


def what_stays(user: User) -> list[Held]:
    return [held for holder in holders() for held in holder.stays(user) if held.count]
