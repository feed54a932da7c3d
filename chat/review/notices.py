"""What a person at the desk has to know of, wherever they are there."""

from __future__ import annotations

from collections.abc import Sequence

from chat.review.feedback_port import DeskNotice, get_feedback
from chat.review.roles import DeskAccess


def desk_notices(access: DeskAccess) -> Sequence[DeskNotice]:
    """Of this person's checked answers."""
    return get_feedback().notices(access.user, curates=access.may("curate"))
