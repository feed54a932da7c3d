"""A request that can't be received for lack of room on the disk is answered as every error is."""

from __future__ import annotations

from typing import Any

from ragsite.core.errors import StorageFullError
from ragsite.core.storage import is_lack_of_room
from ragsite.web.early_answer import NotedSend, answer_early


class FullDiskAnswers:
    """ASGI middleware around Django, which writes larger bodies to a file before any of its own handlers runs."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        noted = NotedSend(send)
        try:
            await self._inner(scope, receive, noted)
        except OSError as error:
            if noted.begun or not is_lack_of_room(error):
                raise
            full = StorageFullError()
            await answer_early(receive, send, full.status, full.as_dict())
