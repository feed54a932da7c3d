"""A chat model of any kind of server: budgets, time limits, the trace, and structured replies (`reply_form`).

Where a reply holds nothing of the form that was asked for, the model is asked once more, in a prompt that shows the
form, and from then on is shown it at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from pydantic import ValidationError

from ragsite.core.messages import worded
from ragsite.core.rag_settings import OllamaSettings
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
from retrieval.engine.providers.server import ChatCall, CircuitBreaker, ModelServer, ServedModel
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
OVERRUN = 8  # pieces beyond the limit of tokens after which a server is taken not to heed it


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
        limit_s = STREAM_TIMEOUT_S if request.is_judgement else self._settings.first_token_timeout_s
        thoughts = ThoughtFilter(awaits_end=self._habits.thinks_aloud)
        ends_at = math.inf
        end = ""
        count = 0
        has_text = False
        failure: ModelError | None = None
        try:
            async with aclosing(self._server.chat(self._model, request)) as chunks:
                while not end:
                    async with asyncio.timeout(max(0.0, min(limit_s, ends_at - time.monotonic()))):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if not count:
                        ends_at = time.monotonic() + STREAM_TIMEOUT_S
                    count = count + 1
                    call.prompt_tokens = prompt_tokens
                    call.completion_tokens = count
                    limit_s = BETWEEN_TOKENS_TIMEOUT_S
                    if end := chunk.end or (
                        "length" if count > request.max_tokens + OVERRUN else ""
                    ):
                        call.prompt_tokens = chunk.prompt_tokens or prompt_tokens
                        call.completion_tokens = chunk.completion_tokens or count
                        call.prefill_ms = chunk.prefill_ms
                        call.generation_ms = chunk.generation_ms
                    is_cut = end == "length"
                    for text in thoughts.feed(
                        chunk.text, is_last=bool(end) and not is_cut, is_cut=is_cut
                    ):
                        has_text = text is not None and (has_text or bool(text.strip()))
                        if text != "":
                            yield text
        except TimeoutError:
            failure = self._server.timed_out(
                limit_s if time.monotonic() < ends_at else STREAM_TIMEOUT_S
            )
        except ModelError as error:
            failure = error
        self._habits.thinks_aloud = self._habits.thinks_aloud or thoughts.came_alone
        if not end and not failure:
            failure = ModelUnavailableError(
                worded("{label} closed the connection", label=self._server.label)
            )
        if failure and has_text:
            raise ModelInterruptedError(
                worded("the answer broke off: {reason}", reason=failure.reason)
            ) from failure
        if failure:
            raise failure
        if not has_text and thoughts.unended:
            raise ModelOutputError(
                worded("model '{name}' thought and came to no answer", name=self.name)
            )
        if not has_text:
            raise ModelOutputError(worded("model '{name}' gave an empty answer", name=self.name))
        if end == "length":
            limit = request.max_tokens
            raise ModelCutError(
                worded("the answer was cut at its limit of {limit} tokens", limit=limit)
            )


def _tokens(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
