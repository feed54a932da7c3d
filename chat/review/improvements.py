"""What a curator can make of an answer: `feedback` fills it in at start, since nothing here may import it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from chat.review.roles import DeskAccess, Right


@dataclass(frozen=True, slots=True)
class Improvement:
    """A way on from an answer's page. name: in the active language. address: of the page that begins it."""

    name: Callable[[], str]
    address: Callable[[UUID], str]
    right: Right = "curate"


_improvements: list[Improvement] = []


def use_improvements(*improvements: Improvement) -> None:
    _improvements[:] = improvements


def improvements_of(message_id: UUID, access: DeskAccess) -> list[tuple[str, str]]:
    """Name and address of those that this person may make."""
    return [(one.name(), one.address(message_id)) for one in _improvements if access.may(one.right)]
