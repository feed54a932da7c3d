"""Announces the beginning of an answer to the open tabs of its conversation."""

from __future__ import annotations

import logging
from uuid import UUID

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from chat.models import Message

logger = logging.getLogger(__name__)


def session_group(session_id: UUID) -> str:
    """The channel layer's group of all open tabs on a session."""
    return f"chat.session.{session_id}"


async def answer_announce(message: Message, *, again: bool) -> None:
    """Where Redis is away the tabs do not know of it, and the log does."""
    announced = {"type": "run.started", "message_id": str(message.pk), "again": again}
    try:
        await get_channel_layer().group_send(session_group(message.session_id), announced)
    except (RedisError, OSError) as error:
        logger.warning("open tabs do not know of message %s: %s", message.pk, error)
