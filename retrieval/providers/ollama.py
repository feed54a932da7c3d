"""Chat and embedding models of an Ollama server, through langchain-ollama.

Every call to a model carries the same `num_ctx` (another one would reload the model), enters its gate (bounded
concurrency, circuit breaker), has a time limit, and is written into the running trace.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_ollama import ChatOllama, OllamaEmbeddings
from numpy.typing import NDArray
from pydantic import ValidationError

from ragsite.core.wording import worded
from retrieval.errors import (
    EmbeddingUnavailableError,
    ModelCutError,
    ModelError,
    ModelInterruptedError,
    ModelOutputError,
    ModelTimeoutError,
    ModelTooSlowError,
    ModelUnavailableError,
)
from retrieval.ports import Prompt, Schema, Vectors
from retrieval.providers import batches
from retrieval.providers.breaker import Ticket, WholeReplyTimeoutError
from retrieval.providers.failures import FAILURES, explain, is_busy, refuses_think
from retrieval.providers.reply_schema import reply_schema
from retrieval.providers.server import OllamaServer
from retrieval.providers.speed import Timing
from retrieval.providers.thinking import ThinkingFilter, without_thoughts
from retrieval.providers.vectors import VectorCache, prefixes, unit_vectors
from retrieval.text.language import HAN_CHARACTER
from retrieval.text.quoting import one_line
from retrieval.text.tokens import estimate_tokens
from retrieval.time_left import ends_within, seconds_left
from retrieval.trace import ModelCall, begin_model_call, end_model_call, mark_first_token
from retrieval.values import EmbeddingSpace

TEMPLATE_TOKENS = 64  # role marks and the like that the model's chat template adds around the messages
BETWEEN_TOKENS_TIMEOUT_S = 30.0  # a stream silent for longer has broken off
STREAM_TIMEOUT_S = 240.0  # the whole of one streamed answer
TEMPERATURE = 0.1  # of answers
# Of structured replies: the likeliest token each time. Ollama's own default punishes repetition, and so the second 8 of
# a list of scores, and a model file may say worse.
JUDGING: Mapping[str, Any] = {
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": 0,
}
FIRST_TOKEN_MOST_S = 180.0  # to the first token of an answer, on however slow a processor
FIRST_TOKEN_SLACK = 2.0  # times what the model's measured speed makes one expect
ANSWER_ROOM = 1024  # tokens of the window that prompts leave free; a shorter prompt leaves its answer more
THINKING_TOKENS = 1024  # more for a model that can't be told not to think
BUSY_RETRY_S = 0.3  # wait before the one new attempt after "server busy"
TELLS_FROM = (0, 12, 11)  # Ollama's version whose replies hold the probabilities of tokens, where they are asked for
LIKELIEST = 10  # tokens beside the one that was chosen, whose probabilities are told
WORD_TOKENS = 4  # of a reply of one word; some models begin with a line break
YES, NO = ("yes", "是"), ("no", "否", "不")  # how the word begins
LEAST_SAID = 0.5  # of the probability, that yes and no have together, for a reply to be either

PATIENCE = 0.75  # a call given up after this share of its time limit counts as a failure of the server
GO_DURATION = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)(h|ms|m|s)")
NANOSECONDS = 1e9
FENCE = "```"
REPAIR = (
    "That was not usable: {problem}\nAnswer again, with one JSON object and nothing else, that fits this JSON schema:\n"
    "{schema}"
)


@dataclass(slots=True)
class _Progress:
    """How far one answer has come."""

    began: float
    chunks: int = 0
    text: bool = False
    thought: bool = False
    done_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is asked of the model. read: tokens of the prompt that are new to the server. most_tokens: of the answer;
    written_most: with its thoughts. limit_s: until the first token, or the whole reply where it comes in one piece."""

    messages: list[BaseMessage]
    read: int
    most_tokens: int
    written_most: int
    limit_s: float
    options: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    streamed: bool = False
    tokens: list[Mapping[str, Any]] | None = (
        None  # filled with the reply's, each with its likeliest others; None: not told
    )

    @property
    def in_one_piece(self) -> bool:
        """Nobody reads the reply before it is whole."""
        return not self.streamed


class OllamaChatModel:
    """A chat model. `thinking`: it thinks unless told not to; `always_thinks`: also then. `context_length`: what it was
    trained for."""

    def __init__(
        self,
        name: str,
        *,
        server: OllamaServer,
        thinking: bool = False,
        always_thinks: bool = False,
        context_length: int | None = None,
    ) -> None:
        self._settings = settings = server.settings
        self._server = server
        self._name = name
        self._window = min(settings.num_ctx, context_length or settings.num_ctx)
        self._budget = prompt_budget(
            num_ctx=settings.num_ctx, max_answer_tokens=settings.max_answer_tokens, context_length=context_length
        )
        self._thinking = thinking
        self._habits = server.habits(name)
        self._habits.thinks_anyway |= always_thinks
        longest_s = max(settings.first_token_timeout_s, settings.structured_timeout_s, FIRST_TOKEN_MOST_S)
        self._llm = ChatOllama(
            model=name,
            base_url=settings.base_url,
            keep_alive=keep_alive(settings.keep_alive),
            client_kwargs=server.client_kwargs(longest_s + BETWEEN_TOKENS_TIMEOUT_S),
            async_client_kwargs={"transport": server.transport},
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def prompt_budget(self) -> int:
        return self._budget

    async def stream(self, prompt: Prompt, *, shape: Mapping[str, Any] | None = None) -> AsyncGenerator[str, None]:
        """The answer's text, piece by piece; `aclosing` it closes the model's connection at once.

        shape: a JSON schema that the text is held to.

        Raises ModelOutputError for an empty answer or a prompt that does not fit, ModelInterruptedError when the stream
        breaks after the first piece, ModelCutError after the last piece when `num_predict` was reached.
        """
        self._require_fit(prompt)
        settings = self._settings
        read = self._new_tokens(prompt)
        request = self._request(
            prompt,
            read=read,
            most_tokens=self._longest_answer(prompt),
            limit_s=first_token_limit(settings.first_token_timeout_s, self._habits.speed.seconds_to_read(read)),
            options={"temperature": TEMPERATURE},
            schema=shape,
            streamed=True,
        )
        async with aclosing(self._answer(prompt, request)) as pieces:
            async for piece in pieces:
                yield piece

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        """A validated object within `structured_timeout_s` and the time that its caller has, repair attempt included.

        Raises ModelTooSlowError, without a call, where the model has shown that it can't be done in that time.
        """
        self._require_fit(prompt)
        limit_s = self._settings.structured_timeout_s
        try:
            with ends_within(limit_s):
                async with asyncio.timeout(limit_s):
                    return await self._validated(prompt, schema)
        except TimeoutError as error:
            raise ModelTimeoutError(worded("Ollama timed out after {limit_s:g} s", limit_s=limit_s)) from error

    async def _validated(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        reply = reply_schema(schema)
        tokens = reply.han_tokens if HAN_CHARACTER.search(prompt.user) else reply.tokens
        request = self._request(
            prompt,
            read=self._new_tokens(prompt),
            schema=reply.shape,
            most_tokens=min(tokens, self._settings.max_answer_tokens, ANSWER_ROOM),
            limit_s=self._settings.structured_timeout_s,
            options=JUDGING,
        )
        text, cut = await self._complete(prompt, request)
        try:
            return schema.model_validate_json(unfenced(text))
        except ValidationError as error:
            problem = "it was cut off; write much less" if cut else describe(error)
        # The prompt stays as it was, so that the server's prompt cache serves the second attempt.
        repair = HumanMessage(REPAIR.format(problem=problem, schema=json.dumps(reply.shape, ensure_ascii=False)))
        added = estimate_tokens(text) + estimate_tokens(str(repair.content))
        request = replace(request, messages=[*request.messages, AIMessage(text), repair], read=added)
        if sum(estimate_tokens(str(message.content)) for message in request.messages) > self._budget:
            raise ModelOutputError(
                worded("model '{name}' answered in the wrong form: {problem}", name=self._name, problem=problem)
            )
        text, _ = await self._complete(prompt, request)
        try:
            return schema.model_validate_json(unfenced(text))
        except ValidationError as error:
            reason = worded(
                "model '{name}' answered in the wrong form, twice: {describe}",
                name=self._name,
                describe=describe(error),
            )
            raise ModelOutputError(reason) from error

    async def tells_probabilities(self) -> bool:
        """From Ollama 0.12.11 on, and not of a model whose reply begins with its thoughts."""
        if self._habits.untold or self._habits.thinks_anyway:
            return False
        return await self._server.version() >= TELLS_FROM

    async def yes_probability(self, prompt: Prompt) -> float:
        """P(Yes) by the first token, Yes and No together being 1, within `structured_timeout_s`. The probabilities are
        the model's own, before any sampling (Kadavath et al., "Language Models (Mostly) Know What They Know", 2022)."""
        self._require_fit(prompt)
        limit_s = self._settings.structured_timeout_s
        tokens: list[Mapping[str, Any]] = []
        request = self._request(
            prompt,
            read=self._new_tokens(prompt),
            most_tokens=WORD_TOKENS,
            limit_s=limit_s,
            options=JUDGING,
            tokens=tokens,
        )
        try:
            with ends_within(limit_s):
                async with asyncio.timeout(limit_s):
                    text, _ = await self._complete(prompt, request)
        except TimeoutError as error:
            raise ModelTimeoutError(worded("Ollama timed out after {limit_s:g} s", limit_s=limit_s)) from error
        if not tokens:
            self._habits.untold = True
            raise ModelOutputError(
                worded("the server does not tell how probable the words of '{name}' are", name=self._name)
            )
        if (probability := yes_against_no(tokens)) is None:
            raise ModelOutputError(
                worded("model '{name}' said neither yes nor no: {text}", name=self._name, text=one_line(text)[:60])
            )
        return probability

    async def _complete(self, prompt: Prompt, request: _Request) -> tuple[str, bool]:
        """The whole text, and whether it was cut."""
        self._require_time(prompt, request)
        pieces: list[str] = []
        try:
            async with aclosing(self._answer(prompt, request)) as answer:
                async for piece in answer:
                    pieces.append(piece)
        except ModelCutError:
            return without_thoughts("".join(pieces)), True
        except ModelInterruptedError as error:  # half a JSON object can't be used
            raise ModelUnavailableError(error.reason) from error
        return without_thoughts("".join(pieces)), False

    async def _answer(self, prompt: Prompt, request: _Request) -> AsyncGenerator[str, None]:
        """One call: through the gate, and into the trace."""
        limit_s = request.limit_s
        patience_s = math.inf if request.in_one_piece else PATIENCE * limit_s
        call = ModelCall(kind="chat", model=self._name, prompt_name=prompt.name, prompt_hash=prompt.hash, prompt=prompt)
        begin_model_call(call)
        reason: str = worded("stopped by the caller")
        try:
            async with (
                self._server.chat_gate.enter(wait_s=limit_s, patience_s=patience_s) as ticket,
                aclosing(self._pieces(request, call, ticket)) as pieces,
            ):
                async for piece in pieces:
                    yield piece
            reason = ""
        except ModelError as error:
            reason = error.reason
            raise
        finally:
            end_model_call(call, error=reason)

    async def _pieces(self, request: _Request, call: ModelCall, ticket: Ticket) -> AsyncGenerator[str, None]:
        progress = _Progress(began=time.monotonic())
        thoughts = None if request.in_one_piece else ThinkingFilter()
        speed, ended = self._habits.speed, False
        try:
            with speed.running(request.read, speed.usual_tokens(call.prompt_name, request.most_tokens)):
                async with aclosing(self._chunks(request, progress)) as chunks:
                    async for chunk in chunks:
                        progress.chunks += 1
                        if request.tokens is not None:
                            request.tokens.extend(chunk.response_metadata.get("logprobs") or ())
                        if usage := chunk.usage_metadata:
                            call.prompt_tokens, call.completion_tokens = usage["input_tokens"], usage["output_tokens"]
                        if done_reason := chunk.response_metadata.get("done_reason"):
                            progress.done_reason = done_reason
                            self._learn_speed(chunk.response_metadata, request, call, progress)
                        if content := str(chunk.content):
                            ticket.answered = True
                            text = thoughts.feed(content) if thoughts else content
                            if text:
                                mark_first_token(call)
                                progress.text = progress.text or bool(text.strip())
                                yield text
                        if progress.chunks > request.written_most + 8:  # the server does not heed num_predict
                            progress.done_reason = "length"
                            break
            ended = True
        finally:
            if not ended and request.in_one_piece and self._out_of_time(request, progress):
                speed.observe_given_up(request.read, request.most_tokens // 2, time.monotonic() - progress.began)
                self._server.look_for_life()
        if thoughts:
            if text := thoughts.finish():
                mark_first_token(call)
                progress.text = progress.text or bool(text.strip())
                yield text
            progress.thought = thoughts.thought
            if self._thinking:  # from now on it is not told, and its thoughts come in their own field
                self._habits.thinks_anyway |= thoughts.thought or thoughts.stray
            else:  # one answer that began with the mark, as its question may have asked for, is no habit
                self._habits.thinks_anyway = thoughts.thought
        self._judge_end(request, progress)

    def _out_of_time(self, request: _Request, progress: _Progress) -> bool:
        """Whether a call that did not end was given up for its time: by its own limit, or by its caller's."""
        return seconds_left() <= 0 or time.monotonic() - progress.began >= request.limit_s

    def _learn_speed(self, told: Mapping[str, Any], request: _Request, call: ModelCall, progress: _Progress) -> None:
        """`told`: Ollama's last line, durations in nanoseconds."""
        read_s, written_s, load_s = (
            float(told.get(name) or 0) / NANOSECONDS
            for name in ("prompt_eval_duration", "eval_duration", "load_duration")
        )
        if read_s or written_s:
            call.prefill_ms, call.generation_ms = read_s * 1000, written_s * 1000
        timing = Timing(
            read=request.read,
            read_s=read_s,
            written=call.completion_tokens,
            written_s=written_s,
            load_s=load_s,
            whole_s=time.monotonic() - progress.began,
            prompt=call.prompt_tokens,
        )
        self._habits.speed.observe(call.prompt_name, timing)

    def _judge_end(self, request: _Request, progress: _Progress) -> None:
        """Raises unless the answer came to its proper end."""
        limit = request.written_most
        if not progress.done_reason:
            if progress.text:
                raise ModelInterruptedError(worded("the answer broke off: Ollama ended it without its end mark"))
            raise ModelUnavailableError(worded("Ollama closed the connection"))
        if not progress.text:
            cut: str = ""
            if progress.done_reason == "length":
                cut = worded(" (all {limit} tokens went into thinking)", limit=limit)
            thought = worded(": it only thought") if progress.thought and not cut else ""
            raise ModelOutputError(
                worded("model '{name}' gave an empty answer{thought}{cut}", name=self._name, thought=thought, cut=cut)
            )
        if progress.done_reason == "length":
            raise ModelCutError(worded("the answer was cut at its limit of {limit} tokens", limit=limit))

    async def _chunks(self, request: _Request, progress: _Progress) -> AsyncGenerator[AIMessageChunk, None]:
        """What the server sends, within the time limits; one more try when it was busy. Raises ModelErrors."""
        retried = False
        while True:
            async with aclosing(self._open(request)) as chunks:
                try:
                    while True:
                        async with asyncio.timeout(self._limit_s(request, progress)):
                            chunk = await anext(chunks, None)
                        if chunk is None:
                            return
                        yield chunk
                except FAILURES as error:
                    if retried or progress.chunks or not (is_busy(error) or self._may_not_be_told(error)):
                        raise self._explained(error, request, progress) from error
                    pause_s = BUSY_RETRY_S if is_busy(error) else 0.0
            retried = True
            await asyncio.sleep(pause_s)

    def _may_not_be_told(self, error: Exception) -> bool:
        """Whether the server refused to be told not to think; from now on the model isn't."""
        refused = self._thinking and not self._habits.thinks_anyway and refuses_think(error)
        self._habits.thinks_anyway |= refused
        return refused

    def _open(self, request: _Request) -> AsyncGenerator[AIMessageChunk, None]:
        """A reply that nobody reads before it is whole comes in one piece: reading it token by token costs more
        processor time than all else about the call."""
        told = self._thinking and not self._habits.thinks_anyway
        options = {**request.options, "num_ctx": self._settings.num_ctx, "num_predict": request.written_most}
        told_of: dict[str, Any] = {} if request.tokens is None else {"logprobs": True, "top_logprobs": LIKELIEST}
        chunks: Any = self._llm.astream(
            request.messages,
            options=options,
            format=request.schema,
            stream=not request.in_one_piece,
            reasoning=False if told else None,
            **told_of,
        )
        return chunks

    def _limit_s(self, request: _Request, progress: _Progress) -> float:
        """Seconds that the next chunk may take: model load, queue and prefill come before the first."""
        limit_s = BETWEEN_TOKENS_TIMEOUT_S if progress.chunks else request.limit_s
        return max(0.0, min(limit_s, progress.began + STREAM_TIMEOUT_S - time.monotonic()))

    def _explained(self, error: Exception, request: _Request, progress: _Progress) -> ModelError:
        limit_s = BETWEEN_TOKENS_TIMEOUT_S if progress.chunks else request.limit_s
        if time.monotonic() - progress.began >= STREAM_TIMEOUT_S:
            limit_s = STREAM_TIMEOUT_S
        explained = explain(error, model=self._name, server=self._server.address, limit_s=limit_s, begun=progress.text)
        if request.in_one_piece and isinstance(explained, ModelTimeoutError):
            return WholeReplyTimeoutError(explained.reason)
        return explained

    def _request(self, prompt: Prompt, *, most_tokens: int, **parts: Any) -> _Request:
        """What to ask for. A model that thinks whatever it is told gets room for it, as far as its window has some."""
        room = 0
        if self._habits.thinks_anyway:
            tokens = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
            room = max(0, min(THINKING_TOKENS, self._window - TEMPLATE_TOKENS - tokens - most_tokens))
        messages = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        return _Request(messages=messages, most_tokens=most_tokens, written_most=most_tokens + room, **parts)

    def _longest_answer(self, prompt: Prompt) -> int:
        """What the prompt leaves of the window, up to the setting; room for thoughts is left where they can't be
        helped."""
        left = self._window - TEMPLATE_TOKENS - estimate_tokens(prompt.system) - estimate_tokens(prompt.user)
        if self._habits.thinks_anyway:
            left = max(left - THINKING_TOKENS, min(left, ANSWER_ROOM))
        return max(1, min(left, self._settings.max_answer_tokens))

    def _new_tokens(self, prompt: Prompt) -> int:
        return self._habits.speed.new_tokens(f"{prompt.system}\n{prompt.user}")

    def _require_time(self, prompt: Prompt, request: _Request) -> None:
        """Raises ModelTooSlowError for a structured call that can't be done in the time that is left for it."""
        speed, left_s = self._habits.speed, seconds_left()
        needed_s = speed.seconds_for(request.read, speed.usual_tokens(prompt.name, request.written_most))
        if needed_s is not None and needed_s > left_s:
            raise ModelTooSlowError(
                worded(
                    "model '{name}' would take about {needed_s:.0f} s for this, and {left_s:.0f} s are left",
                    name=self._name,
                    needed_s=needed_s,
                    left_s=left_s,
                )
            )

    def _require_fit(self, prompt: Prompt) -> None:
        """Raises ModelOutputError for a prompt that the server would cut.

        It cuts without a word: the oldest messages first, then the prompt's beginning, where the instructions stand.
        """
        tokens = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        if tokens > self._budget:
            raise ModelOutputError(
                worded(
                    "prompt {name} has about {tokens} tokens, and only {budget} fit beside the answer "
                    "(context length {window})",
                    name=prompt.name,
                    tokens=tokens,
                    budget=self._budget,
                    window=self._window,
                )
            )


def yes_against_no(tokens: Sequence[Mapping[str, Any]]) -> float | None:
    """P(yes), 0..1, by the first token that is no blank. tokens: as Ollama tells them, each with `top_logprobs`. None:
    it says neither."""
    first = next((token for token in tokens if str(token.get("token", "")).strip()), None)
    if first is None:
        return None
    yes = no = 0.0
    for likely in first.get("top_logprobs") or [first]:
        word, probability = str(likely["token"]).strip().lower(), math.exp(min(0.0, float(likely["logprob"])))
        yes += probability if word.startswith(YES) else 0.0
        no += probability if word.startswith(NO) else 0.0
    return yes / (yes + no) if yes + no >= LEAST_SAID else None


class OllamaEmbedder:
    """An embedding model that made, or will make, a space. Queries are cached."""

    def __init__(self, space: EmbeddingSpace, *, server: OllamaServer, cache: VectorCache) -> None:
        settings = server.settings
        self._server = server
        self._space = space
        self._cache = cache
        self._batch_size = batches.EMBED_BATCH_SIZE
        self._query_prefix, self._document_prefix = prefixes(space.model)
        self._model = OllamaEmbeddings(
            model=space.model,
            base_url=settings.base_url,
            num_ctx=settings.num_ctx,
            keep_alive=keep_alive_seconds(settings.keep_alive),
            client_kwargs=server.client_kwargs(settings.embed_timeout_s),
            async_client_kwargs={"transport": server.transport},
        )

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """A batch that takes too long is halved: without a GPU a model may embed ten texts in time, but not 32."""
        rows: list[Vectors] = [np.zeros((0, self._space.dim), dtype=np.float32)]
        start = 0
        while start < len(texts):
            batch = [self._document_prefix + text for text in texts[start : start + self._batch_size]]
            try:
                rows.append(await self._embed(batch))
            except EmbeddingUnavailableError as error:
                if len(batch) == 1 or not isinstance(error.__cause__, ModelTimeoutError):
                    raise
                self._batch_size = len(batch) // 2
            else:
                start += len(batch)
        return np.concatenate(rows)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray((await self.embed_queries([text]))[0], dtype=np.float32)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = {text: self._cache.get((self._space, text)) for text in texts}
        missing = [text for text, vector in vectors.items() if vector is None]
        for start in range(0, len(missing), batches.EMBED_BATCH_SIZE):
            batch = missing[start : start + batches.EMBED_BATCH_SIZE]
            for text, vector in zip(batch, await self._embed([self._query_prefix + t for t in batch]), strict=True):
                vectors[text] = vector
                self._cache[self._space, text] = vector
        return np.array([vectors[text] for text in texts], dtype=np.float32).reshape(len(texts), self._space.dim)

    async def measure(self) -> int:
        """Numbers per embedding, as the model really gives them: its description may tell another."""
        rows = await self._rows(["dimension"])
        if not rows or not rows[0]:
            raise EmbeddingUnavailableError(worded("model '{model}' gave an empty embedding", model=self._space.model))
        return len(rows[0])

    async def _embed(self, texts: list[str]) -> Vectors:
        return unit_vectors(await self._rows(texts), count=len(texts), space=self._space)

    async def _rows(self, texts: list[str]) -> list[list[float]]:
        """One POST, through the gate and into the trace. Raises EmbeddingUnavailableError."""
        limit_s = self._server.settings.embed_timeout_s
        call = begin_model_call(ModelCall(kind="embed", model=self._space.model))
        reason: str = worded("stopped by the caller")
        try:
            async with self._server.embed_gate.enter(wait_s=limit_s, patience_s=PATIENCE * limit_s):
                rows = await self._post(texts, limit_s)
            reason = ""
            return rows
        except ModelError as error:
            reason = error.reason
            raise EmbeddingUnavailableError(reason) from error
        finally:
            end_model_call(call, error=reason)

    async def _post(self, texts: list[str], limit_s: float, *, retried: bool = False) -> list[list[float]]:
        try:
            async with asyncio.timeout(limit_s):
                return await self._model.aembed_documents(texts)
        except FAILURES as error:
            if retried or not is_busy(error):
                raise explain(error, model=self._space.model, server=self._server.address, limit_s=limit_s) from error
        await asyncio.sleep(BUSY_RETRY_S)
        return await self._post(texts, limit_s, retried=True)


def first_token_limit(set_s: float, expected_s: float | None) -> float:
    """Seconds until the first token: as set, or longer where a long prompt takes a slow processor longer, bounded."""
    if expected_s is None:
        return set_s
    return max(set_s, min(FIRST_TOKEN_SLACK * expected_s, FIRST_TOKEN_MOST_S))


def keep_alive(text: str) -> int | str:
    """As Ollama wants it: a plain number is seconds and must not be sent as text."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def keep_alive_seconds(text: str) -> int:
    """The same for the embeddings client, which takes whole seconds only; "1h30m" is 5400, below 0 is for ever."""
    if isinstance(value := keep_alive(text), int):
        return value
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    seconds = sum(float(number) * units[unit] for number, unit in GO_DURATION.findall(text))
    return -1 if text.startswith("-") else round(seconds)


def unfenced(text: str) -> str:
    """JSON without the Markdown fence that some models put around it."""
    inner = text.strip()
    if len(inner) < 2 * len(FENCE) or not (inner.startswith(FENCE) and inner.endswith(FENCE)):
        return text
    return inner[len(FENCE) : -len(FENCE)].removeprefix("json").strip()


def describe(error: ValidationError) -> str:
    """The first mistakes, in words for the model and for the decision path."""
    mistakes = [f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}" for item in error.errors()[:3]]
    return "; ".join(mistakes)[:300]


def prompt_budget(*, num_ctx: int, max_answer_tokens: int, context_length: int | None = None) -> int:
    """Tokens that a prompt may have. `context_length`: what the model was trained for; the server goes no further."""
    window = min(num_ctx, context_length or num_ctx)
    answer = min(max_answer_tokens, ANSWER_ROOM, window // 2)
    return max(0, window - answer - TEMPLATE_TOKENS)
