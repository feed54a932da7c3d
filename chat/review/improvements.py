"""What a curator can make of an answer: `feedback` fills it in at start, since nothing here may import it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from chat.review.roles import DeskAccess, Right


@dataclass(frozen=True, slots=True)
class Improvement:
    """A way on from an answer's page. name: in the active language. address: of the page that begins it."""

    name: Callable[[], str]
    address: Callable[[UUID], str]
    right: Right = "curate"


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of an answer before. told: a sentence. undo: where a POST takes it back."""

    told: str
    undo: str


_improvements: list[Improvement] = []
_made: list[Callable[[UUID, User], Sequence[Made]]] = []


def use_improvements(*improvements: Improvement, made: Callable[[UUID, User], Sequence[Made]] | None = None) -> None:
    """made: what was made of an answer and this person may know, in the active language."""
    _improvements[:] = improvements
    _made[:] = [made] if made else []


def made_of(message_id: UUID, access: DeskAccess) -> list[Made]:
    """For those who may take it back."""
    return [one for read in _made for one in read(message_id, access.user)] if access.may("curate") else []


def improvements_of(message_id: UUID, access: DeskAccess) -> list[tuple[str, str]]:
    """Name and address of those that this person may make."""
    return [(one.name(), one.address(message_id)) for one in _improvements if access.may(one.right)]
