"""A chat model of any kind of server: budgets, time limits, the trace, and structured replies (`reply_form`).

Where a reply holds nothing of the form that was asked for, the model is asked once more, in a prompt that shows the
form, and from then on is shown it at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from pydantic import ValidationError

from ragsite.core.messages import worded
from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.errors import (
    ModelCutError,
    ModelError,
    ModelInterruptedError,
    ModelOutputError,
    ModelUnavailableError,
)
from retrieval.engine.model_calls import model_call
from retrieval.engine.ports import Prompt, Schema
from retrieval.engine.providers.reply_form import is_json, read_object, reply_schema, showing_form
from retrieval.engine.providers.server import (
    ChatCall,
    ChatChunk,
    CircuitBreaker,
    ModelServer,
    ServedModel,
)
from retrieval.engine.providers.thoughts import ThoughtFilter
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.usage import ModelCall

TEMPLATE_TOKENS = (
    64  # role marks and the like that the model's chat template adds around the messages
)
ANSWER_ROOM = (
    1024  # tokens of the window that prompts leave free; a shorter prompt leaves its answer more
)
BETWEEN_TOKENS_TIMEOUT_S = 30.0  # a stream silent for longer has broken off
STREAM_TIMEOUT_S = 240.0  # the whole of one streamed answer, from its first piece on
CUT = "length"  # the end of a reply that has reached its limit of tokens
OVERRUN = 8  # pieces beyond the limit of tokens after which a server is taken not to follow it


@dataclass
class Habits:
    """What a model's replies have shown. ignores_format: they are not bare JSON where a schema was sent.
    thinks_aloud: a closing mark came after thoughts that nothing had opened."""

    ignores_format: bool = False
    thinks_aloud: bool = False


class ServedChatModel:
    """Implements `retrieval.engine.ports.ChatModel`."""

    def __init__(
        self,
        model: ServedModel,
        *,
        server: ModelServer,
        breaker: CircuitBreaker,
        settings: OllamaSettings,
        habits: Habits,
    ) -> None:
        self._model = model
        self._server = server
        self._breaker = breaker
        self._settings = settings
        self._habits = habits
        self._window = min(settings.num_ctx, model.context_length or settings.num_ctx)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def prompt_budget(self) -> int:
        answer = min(self._settings.max_answer_tokens, ANSWER_ROOM, self._window // 2)
        return max(0, self._window - answer - TEMPLATE_TOKENS)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | None, None]:
        """See `ChatModel.stream`. Raises ModelOutputError for an empty answer or a prompt that does not fit."""
        left = self._window - TEMPLATE_TOKENS - _tokens(prompt)
        most = max(1, min(left, self._settings.max_answer_tokens))
        call = ChatCall(
            messages=[("system", prompt.system), ("human", prompt.user)], max_tokens=most
        )
        async with aclosing(self._answer(prompt, call)) as pieces:
            async for piece in pieces:
                yield piece

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        """A validated object within `structured_timeout_s`, of both attempts together."""
        async with self._server.in_time(self._settings.structured_timeout_s):
            if not self._habits.ignores_format:
                try:
                    return await self._complete_once(prompt, schema)
                except ModelOutputError as error:
                    if not self._habits.ignores_format:
                        raise error
            return await self._complete_once(showing_form(prompt, schema), schema)

    async def _complete_once(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        call = ChatCall(
            messages=[("system", prompt.system), ("human", prompt.user)],
            max_tokens=min(self._settings.max_answer_tokens, ANSWER_ROOM),
            schema=reply_schema(schema),
            is_judgement=True,
        )
        text, is_cut = await self._whole(prompt, call)
        if not is_cut and not is_json(text):
            self._habits.ignores_format = True
        try:
            return read_object(text, schema)
        except ValidationError as error:
            fault = error.errors()[0]
            problem = f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}"[:300]
            reason = worded(
                "model '{name}' answered in the wrong form: {problem}",
                name=self.name,
                problem=problem,
            )
            raise ModelOutputError(reason) from error

    async def _whole(self, prompt: Prompt, call: ChatCall) -> tuple[str, bool]:
        """The whole text, and whether it was cut at its limit."""
        pieces: list[str] = []
        is_cut = False
        try:
            async with aclosing(self._answer(prompt, call)) as answer:
                async for piece in answer:
                    if piece is None:
                        pieces.clear()
                    else:
                        pieces.append(piece)
        except ModelCutError:
            is_cut = True
        except ModelInterruptedError as error:  # half a JSON object can't be used
            raise ModelUnavailableError(error.reason) from error
        return "".join(pieces), is_cut

    async def _answer(self, prompt: Prompt, request: ChatCall) -> AsyncGenerator[str | None, None]:
        """One call: through the gate, and into the trace. Raises ModelErrors."""
        if (tokens := _tokens(prompt)) > self.prompt_budget:
            # The server would cut it without a word: the beginning first, where the instructions stand.
            raise ModelOutputError(
                worded(
                    "prompt {name} has about {tokens} tokens, and only {budget} fit beside the answer "
                    "(context length {window})",
                    name=prompt.name,
                    tokens=tokens,
                    budget=self.prompt_budget,
                    window=self._window,
                )
            )
        call = ModelCall(
            "chat", self.name, prompt_name=prompt.name, prompt_hash=prompt.hash, prompt=prompt
        )
        with model_call(call):
            async with (
                self._breaker.call(wait_s=self._settings.first_token_timeout_s),
                aclosing(self._text(request, call, prompt_tokens=tokens)) as pieces,
            ):
                async for piece in pieces:
                    yield piece

    async def _text(
        self, request: ChatCall, call: ModelCall, *, prompt_tokens: int
    ) -> AsyncGenerator[str | None, None]:
        """The text without thoughts, within the time limits. Raises ModelErrors, also where it has no proper end.

        prompt_tokens: as estimated. It counts, with the pieces that came, until the server tells its own figures: a
        call that is stopped never gets there, and some servers tell none.
        """
        reply = _StreamedReply(
            request,
            call,
            ThoughtFilter(awaits_end=self._habits.thinks_aloud),
            prompt_tokens=prompt_tokens,
            first_token_s=self._settings.first_token_timeout_s,
        )
        failure: ModelError | None = None
        try:
            async with aclosing(self._server.chat(self._model, request)) as chunks:
                while not reply.end:
                    async with asyncio.timeout(reply.wait_s):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    for text in reply.take(chunk):
                        yield text
        except TimeoutError:
            failure = self._server.timed_out(reply.exceeded_s)
        except ModelError as error:
            failure = error
        self._habits.thinks_aloud = self._habits.thinks_aloud or reply.thoughts.came_alone
        if not reply.end and not failure:
            failure = ModelUnavailableError(
                worded("{label} closed the connection", label=self._server.label)
            )
        self._check_ending(reply, failure)

    def _check_ending(self, reply: _StreamedReply, failure: ModelError | None) -> None:
        """Raises ModelErrors for a reply that has no proper end."""
        if failure and reply.has_text:
            raise ModelInterruptedError(
                worded("the answer broke off: {reason}", reason=failure.reason)
            ) from failure
        if failure:
            raise failure
        if not reply.has_text and reply.thoughts.unended:
            raise ModelOutputError(
                worded("model '{name}' thought and came to no answer", name=self.name)
            )
        if not reply.has_text:
            raise ModelOutputError(worded("model '{name}' gave an empty answer", name=self.name))
        if reply.end == CUT:
            raise ModelCutError(
                worded("the answer was cut at its limit of {limit} tokens", limit=reply.max_tokens)
            )


class _StreamedReply:
    """A reply as far as it has come, counted into its call. end: why it is over; empty: it goes on."""

    def __init__(
        self,
        request: ChatCall,
        call: ModelCall,
        thoughts: ThoughtFilter,
        *,
        prompt_tokens: int,
        first_token_s: float,
    ) -> None:
        self.thoughts = thoughts
        self.max_tokens = request.max_tokens
        self.end = ""
        self.has_text = False
        self._call = call
        self._prompt_tokens = prompt_tokens
        self._pieces = 0
        self._limit_s = STREAM_TIMEOUT_S if request.is_judgement else first_token_s
        self._ends_at = math.inf

    @property
    def wait_s(self) -> float:
        """How long the next piece may take."""
        return max(0.0, min(self._limit_s, self._ends_at - time.monotonic()))

    @property
    def exceeded_s(self) -> float:
        """The limit that has run out where a piece took longer."""
        return self._limit_s if time.monotonic() < self._ends_at else STREAM_TIMEOUT_S

    def take(self, chunk: ChatChunk) -> Iterator[str | None]:
        """What a piece adds to the text, without thoughts; None: all before were thoughts."""
        if not self._pieces:
            self._ends_at = time.monotonic() + STREAM_TIMEOUT_S
        self._pieces += 1
        self._limit_s = BETWEEN_TOKENS_TIMEOUT_S
        self.end = chunk.end
        if not self.end and self._pieces > self.max_tokens + OVERRUN:
            self.end = CUT
        self._count_tokens(chunk)
        is_cut = self.end == CUT
        is_last = bool(self.end) and not is_cut
        for text in self.thoughts.feed(chunk.text, is_last=is_last, is_cut=is_cut):
            self.has_text = text is not None and (self.has_text or bool(text.strip()))
            if text != "":
                yield text

    def _count_tokens(self, chunk: ChatChunk) -> None:
        self._call.prompt_tokens = self._prompt_tokens
        self._call.completion_tokens = self._pieces
        if self.end:
            self._call.prompt_tokens = chunk.prompt_tokens or self._prompt_tokens
            self._call.completion_tokens = chunk.completion_tokens or self._pieces
            self._call.prefill_ms = chunk.prefill_ms
            self._call.generation_ms = chunk.generation_ms


def _tokens(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
