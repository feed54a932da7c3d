"""What a line of the log belongs to: the request that it was written for, and the answer."""

from __future__ import annotations

import logging
from contextvars import ContextVar

current_request: ContextVar[str] = ContextVar("request_id", default="")
current_message: ContextVar[str] = ContextVar("message_id", default="")


class WithIds(logging.Filter):
    """Each record gets `request_id` and `message_id`, where there are any."""

    def filter(self, record: logging.LogRecord) -> bool:
        for variable in (current_request, current_message):
            if value := variable.get():
                setattr(record, variable.name, value)
        return True
