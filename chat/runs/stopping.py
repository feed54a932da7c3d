"""A stop that is asked of another process than the one that writes the answer; and whether that one is still there.

A run listens in a group of its own. Its process's connection to Redis ends with the process, however that ends: where
nobody listens any more, nobody writes. A process that only stalls goes on listening.
"""

from __future__ import annotations

from uuid import UUID

from channels.layers import get_channel_layer

from chat.runs.event_log import MemoryEventLog, get_event_log

STOP = "run.stop"


def stop_group(message_id: UUID) -> str:
    """The channel layer's group in which the run of a message hears that it is to stop."""
    return f"chat.stop.{message_id}"


async def stop_asked(message_id: UUID) -> None:
    """Return when another process asks the run of this message to stop."""
    layer = get_channel_layer()
    group = stop_group(message_id)
    channel = await layer.new_channel()  # no prefix: all of a process's receivers must share one
    try:
        await layer.group_add(group, channel)
        while (await layer.receive(channel))["type"] != STOP:
            pass  # the layer tells its channels other things, too
    finally:
        await layer.group_discard(group, channel)


async def stop_ask(message_id: UUID) -> None:
    """Raises RedisError, OSError."""
    await get_channel_layer().group_send(stop_group(message_id), {"type": STOP})


async def is_listened_for(message_id: UUID) -> bool:
    """Whether the process that writes the answer is there. Raises EventLogGoneError where Redis can't be asked."""
    log = get_event_log()
    if isinstance(log, MemoryEventLog):
        return True
    return (
        await log.subscribers(f"{get_channel_layer().prefix}__group__{stop_group(message_id)}") > 0
    )
