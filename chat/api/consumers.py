"""The chat's WebSocket: `ask`, `stop`, `resume` and `ping` from the client, the contract's events to it.

A socket follows answers, it does not own them. All sockets of a user on one session are in one group of the channel
layer, where a new answer is announced; each then follows that answer's log at its own pace.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any
from uuid import UUID

from channels.db import aclose_old_connections
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import translation
from rest_framework.exceptions import ValidationError

from chat import selectors
from chat.api.question_serializers import AskSerializer
from chat.errors import MessageNotFoundError, SessionNotFoundError
from chat.models import Message
from chat.runs.announcing import session_group
from chat.runs.draining import drain_begun, is_draining
from chat.runs.following import follow
from chat.services.ask import ask
from chat.services.stop import message_stop
from ragsite.accounts.auth import ScopeError, require_scope
from ragsite.core.api.error_responses import told
from ragsite.core.api.fields import (
    IdField,
    NoFieldsSerializer,
    StrictSerializer,
    WholeNumberField,
    checked,
    read,
)
from ragsite.core.api.json_parser import InvalidJsonError, parse_json
from ragsite.core.database import DatabaseAwayError, database_call, is_database_away
from ragsite.core.errors import AppError, InvalidInputError, TooLargeError
from ragsite.core.localized import language_of
from ragsite.core.messages import worded
from ragsite.core.text import clean_text

logger = logging.getLogger(__name__)

CLOSE_UNAUTHENTICATED = 4401
CLOSE_FORBIDDEN = 4403
CLOSE_NOT_FOUND = 4404
CLOSE_RESTARTING = 1012  # "service restart": the page comes back at once, to another machine
BYTES_PER_CHAR = 12  # a character of JSON may be written as two \uXXXX
ENVELOPE_BYTES = 64 * 1024  # collections, filters, options


class MessageFrame(StrictSerializer):
    message_id = IdField()


class ResumeFrame(MessageFrame):
    """`after`: the number of the last event that was seen."""

    after = WholeNumberField(min_value=0, required=False, allow_null=True)


class ChatConsumer(AsyncWebsocketConsumer):
    """One socket. `/ws/chat/` gets its session by its first ask."""

    async def connect(self) -> None:
        self.user = self.scope["user"]
        self.session_id: UUID | None = None
        self._followers: dict[UUID, asyncio.Task[None]] = {}
        self._leaving: asyncio.Task[None] | None = None
        self._handling = asyncio.Lock()
        translation.activate(
            language_of(self.scope)
        )  # for this socket's task and those that it starts
        if not self.user.is_authenticated:
            await self.close(code=CLOSE_UNAUTHENTICATED)
            return
        try:
            require_scope(self.user, "ask")
        except ScopeError:
            await self.close(code=CLOSE_FORBIDDEN)
            return
        session_id = self.scope["url_route"]["kwargs"].get("session_id")
        if session_id:
            try:
                await database_call(selectors.session_get, user=self.user, session_id=session_id)
            except SessionNotFoundError:
                await self.close(code=CLOSE_NOT_FOUND)
                return
            await self._join(session_id)
        await self.accept()
        if settings.REDIS_URL:
            self._leaving = asyncio.create_task(self._leave_when_draining())

    async def disconnect(self, code: int) -> None:
        for follower in self._followers.values():
            follower.cancel()
        if self._leaving:
            self._leaving.cancel()
        if self.session_id:
            await self.channel_layer.group_discard(
                session_group(self.session_id), self.channel_name
            )

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        message_id: Any = None
        try:
            frame = _frame(text_data)
            message_id = frame.get("message_id")
            await aclose_old_connections()
            async with self._handling:
                if self._leaving and is_draining():  # it is closed, and the page asks elsewhere
                    return
                await self._handle(frame)
        except ValidationError as error:
            detail = error.detail if isinstance(error.detail, dict) else {"detail": error.detail}
            await self._send_error(InvalidInputError(fields=detail), message_id)
        except AppError as error:
            await self._send_error(error, message_id)
        except DatabaseError as error:
            if not is_database_away(error):
                raise
            logger.warning("a frame was not served: %s", error)
            await self._send_error(DatabaseAwayError(), message_id)

    async def run_started(self, event: dict[str, Any]) -> None:
        """From the group: an answer has begun in this session, by this tab, another one, or an HTTP call."""
        self._follow(UUID(event["message_id"]), again=event.get("again", False))

    async def follow_ups_made(self, event: dict[str, Any]) -> None:
        """From the group: questions that an answer leads to were found, after its last event."""
        told = {name: event[name] for name in ("message_id", "follow_ups")}
        await self._send({"type": "follow_ups", **told})

    # -------------------------------------------------------------------------------------------- frames
    async def _handle(self, frame: dict[str, Any]) -> None:
        kind = frame.pop("type", None)
        match kind:
            case "ask":
                await self._ask(read(AskSerializer, frame).arguments())
            case "stop":
                message_id = checked(MessageFrame, frame)["message_id"]
                await message_stop(user=self.user, message_id=message_id)
            case "resume":
                resume = checked(ResumeFrame, frame)
                await self._resume(resume["message_id"], after=resume.get("after") or 0)
            case "ping":
                checked(NoFieldsSerializer, frame)
                await self._send({"type": "pong"})
            case _:
                raise InvalidInputError(
                    worded("Send ask, stop, resume or ping."), code="unknown_type"
                )

    async def _ask(self, arguments: dict[str, Any]) -> None:
        arguments["session_id"] = arguments["session_id"] or self.session_id
        if self.session_id and arguments["session_id"] != self.session_id:
            raise InvalidInputError(
                worded("This socket belongs to another session; open one for that session."),
                fields={"session_id": [worded("Another session than the socket's.")]},
            )
        run = await ask(user=self.user, **arguments)
        await self._join(run.message.session_id)
        self._follow(run.message.pk)

    async def _resume(self, message_id: UUID, *, after: int) -> None:
        message = await database_call(selectors.message_get, user=self.user, message_id=message_id)
        if message.role != Message.Role.ASSISTANT:
            raise MessageNotFoundError
        self._follow(message.pk, after=after, again=True)

    async def _leave_when_draining(self) -> None:
        """The answers that it follows go on, and are followed from another machine."""
        await drain_begun()
        async with self._handling:
            await self.close(code=CLOSE_RESTARTING)

    # -------------------------------------------------------------------------------------------- following
    async def _join(self, session_id: UUID) -> None:
        if self.session_id != session_id:
            self.session_id = session_id
            await self.channel_layer.group_add(session_group(session_id), self.channel_name)

    def _follow(self, message_id: UUID, *, after: int = 0, again: bool = False) -> None:
        """Send this answer's events; once only, unless the client asks to have them `again`."""
        if follower := self._followers.get(message_id):
            if not again:
                return
            follower.cancel()
        follower = asyncio.create_task(self._send_events(message_id, after))
        follower.add_done_callback(_log_failure)
        self._followers[message_id] = (
            follower  # kept when it is done, so that a late announcement starts no second one
        )

    async def _send_events(self, message_id: UUID, after: int) -> None:
        """A slow client delays only this task: the log does not wait for its readers."""
        async for event in follow(message_id, after=after):
            if event is not None:
                await self._send(event)

    async def _send(self, event: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(event, ensure_ascii=False))

    async def _send_error(self, error: AppError, message_id: Any) -> None:
        what = told(error)
        event: dict[str, Any] = {"type": "error", "done": True, "code": what["code"]}
        event |= {"content": what["message"], "fields": what["fields"]}
        if isinstance(message_id, str):
            event["message_id"] = clean_text(message_id[:100])
        if error.retry_after_s:
            event["retry_after_s"] = error.retry_after_s
        await self._send(event)


def _log_failure(follower: asyncio.Task[None]) -> None:
    if not follower.cancelled() and (error := follower.exception()):
        level = (
            logging.DEBUG if isinstance(error, OSError | RuntimeError) else logging.ERROR
        )  # the client is gone
        logger.log(level, "a socket stopped following its answer: %r", error)


def _frame(text: str | None) -> dict[str, Any]:
    """Raises InvalidInputError, TooLargeError."""
    if text is None:
        raise InvalidInputError(worded("Send text frames with JSON in them."))
    if len(text) > settings.RAG.limits.message_chars * BYTES_PER_CHAR + ENVELOPE_BYTES:
        raise TooLargeError
    try:
        frame = parse_json(text)
    except InvalidJsonError as error:
        raise InvalidInputError(str(error)) from error
    if not isinstance(frame, dict):
        raise InvalidInputError(worded("Send a JSON object with a type."))
    return frame
