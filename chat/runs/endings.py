"""How an answer ends for its readers: the last events, and why there is none."""

from __future__ import annotations

import logging
from typing import Any

from chat.models import Message
from chat.runs.event_log import Event
from ragsite.core.database import DatabaseAwayError, is_database_away
from ragsite.core.errors import AppError, NotFoundError, UnavailableError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.engine.errors import ModelError

logger = logging.getLogger(__name__)

DELETED = NotFoundError(worded("This conversation was deleted."))
INTERNAL = AppError(
    worded("Something went wrong while answering; it has been logged. Try again."),
    code="internal",
    status=500,
)
TIMED_OUT = UnavailableError(
    worded("The answer took too long and was stopped. Try again."), code="timeout", retry_after_s=30
)
MODEL_AWAY = UnavailableError(
    worded("The model did not answer; try again shortly."), code="model_unavailable"
)


def failure_of(error: BaseException, what: str) -> AppError:
    """Why a workflow failed, as its reader may know it; the log has the rest. what: was answered, for the log."""
    failure: AppError = INTERNAL
    if isinstance(error, AppError):
        failure = error
    elif isinstance(error, ModelError):
        failure = MODEL_AWAY
    elif is_database_away(error):
        failure = DatabaseAwayError()
    logger.error("%s failed: %s", what, error, exc_info=error if failure is INTERNAL else None)
    return failure


def error_event(error: AppError) -> Event:
    """The last event of a message that has no row, without its number."""
    content = clean_text(localized(error.message))
    return {"type": "error", "done": True, "code": error.code, "content": content}


def ending(message: dict[str, Any]) -> list[Event]:
    """What ends a message for its readers, from its `message_data`, without numbers: the last is `done` or `error`."""
    if message["status"] == Message.Status.FAILED:
        error = message["error"]
        if error is None:
            return [error_event(INTERNAL)]
        return [{"type": "error", "done": True, "code": error["code"], "content": error["content"]}]
    done = {name: message[name] for name in ("answer", "sources", "decision")}
    events: list[Event] = [{"type": "done", "done": True, **done, "message": message}]
    if clarification := message["clarification"]:
        events.insert(0, {"type": "clarify", **clarification})
    return events
