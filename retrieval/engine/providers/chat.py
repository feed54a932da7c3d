"""A chat model of any kind of server: budgets, time limits, the trace, and replies in the form of a schema.

The server makes a grammar of the schema. llama.cpp's converter writes the required properties first and lets the model
leave out the others, so that a field with a default ("why") came after what it was to explain, or not at all: here all
are required, in the order in which the class declares them. What is read may still leave fields out.

A class says more than pydantic checks by `limited`: minItems, maxItems, minLength, maxLength, minimum, maximum, enum;
what is read may lie outside. Titles, descriptions and defaults are left out; a model is not shown the schema, the
prompts explain the fields by name.

Many servers heed no schema. JSON is taken out of fences and prose, as it stands; where none of the form is there, the
model is asked once more, in a prompt that shows the form, and from then on is shown it at once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError, create_model

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
from retrieval.engine.providers.server import ChatCall, CircuitBreaker, ModelServer, ServedModel
from retrieval.engine.providers.thoughts import ThoughtFilter
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.usage import ModelCall

# ------------------------------------------------------------------------------------------------ reply schema
STRING_CHARS = 160  # of a text whose class gives no limit
LIST_ENTRIES = 8  # of a list whose class gives no limit
_Made = TypeVar("_Made", bound=BaseModel)
_KEYWORDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


@lru_cache(maxsize=512)
def reply_schema(schema: type[BaseModel]) -> Mapping[str, Any]:
    """Complete, in order and bounded; without references."""
    whole = schema.model_json_schema()
    return _strict(whole, whole.get("$defs", {}))


def _strict(part: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        part = {**defs[part["$ref"].rpartition("/")[2]], **part}
    for listed in ("const", "enum"):
        if listed in part:
            return {listed: part[listed]}
    if "anyOf" in part:
        return {"anyOf": [_strict(option, defs) for option in part["anyOf"]]}
    strict = {key: part[key] for key in ("type", *_KEYWORDS) if key in part}
    match strict.get("type"):
        case "string":
            strict.setdefault("maxLength", STRING_CHARS)
        case "array":
            strict.setdefault("maxItems", max(LIST_ENTRIES, strict.get("minItems", 0)))
            strict["items"] = _strict(part["items"], defs)
        case "object":
            properties = {name: _strict(value, defs) for name, value in part["properties"].items()}
            strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return strict


def limited(**keywords: Any) -> Any:
    """Keywords of JSON schema for a field."""
    return Field(json_schema_extra=keywords)


def shaped(schema: type[_Made], **limits: Mapping[str, Any]) -> type[_Made]:
    """`schema` with other keywords of JSON schema on its fields, for the grammar of one call; made once and kept."""
    return cast("type[_Made]", _shaped(schema, json.dumps(limits)))


@lru_cache(maxsize=256)
def _shaped(schema: type[BaseModel], limits: str) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, keywords in json.loads(limits).items():
        info = copy(schema.model_fields[name])
        known = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        info.json_schema_extra = {**known, **keywords}
        fields[name] = (info.annotation, info)
    return create_model(schema.__name__, __base__=schema, **fields)


def exactly(schema: type[_Made], field: str, count: int) -> type[_Made]:
    """`schema` by whose grammar the list `field` has exactly `count` entries."""
    return shaped(schema, **{field: {"minItems": count, "maxItems": count}})


# ------------------------------------------------------------------------------------------------ chat model
TEMPLATE_TOKENS = 64  # role marks and the like that the model's chat template adds around the messages
ANSWER_ROOM = 1024  # tokens of the window that prompts leave free; a shorter prompt leaves its answer more
BETWEEN_TOKENS_TIMEOUT_S = 30.0  # a stream silent for longer has broken off
STREAM_TIMEOUT_S = 240.0  # the whole of one streamed answer
OVERRUN = 8  # pieces beyond the limit of tokens after which a server is taken not to heed it
BY_PROMPT = "Reply with nothing but one JSON value of this form:\n{form}"


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
        call = ChatCall(messages=[("system", prompt.system), ("human", prompt.user)], max_tokens=most)
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
            reason = worded("model '{name}' answered in the wrong form: {problem}", name=self.name, problem=problem)
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
        call = ModelCall("chat", self.name, prompt_name=prompt.name, prompt_hash=prompt.hash, prompt=prompt)
        with model_call(call):
            async with (
                self._breaker.call(wait_s=self._settings.first_token_timeout_s),
                aclosing(self._text(request, call)) as pieces,
            ):
                async for piece in pieces:
                    yield piece

    async def _text(self, request: ChatCall, call: ModelCall) -> AsyncGenerator[str | None, None]:
        """The text without thoughts, within the time limits. Raises ModelErrors, also where it has no proper end."""
        limit_s = STREAM_TIMEOUT_S if request.is_judgement else self._settings.first_token_timeout_s
        thoughts = ThoughtFilter(awaits_end=self._habits.thinks_aloud)
        ends_at = time.monotonic() + STREAM_TIMEOUT_S
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
                    count = count + 1
                    limit_s = BETWEEN_TOKENS_TIMEOUT_S
                    if end := chunk.end or ("length" if count > request.max_tokens + OVERRUN else ""):
                        call.prompt_tokens = chunk.prompt_tokens
                        call.completion_tokens = chunk.completion_tokens
                        call.prefill_ms = chunk.prefill_ms
                        call.generation_ms = chunk.generation_ms
                    is_cut = end == "length"
                    for text in thoughts.feed(chunk.text, is_last=bool(end) and not is_cut, is_cut=is_cut):
                        has_text = text is not None and (has_text or bool(text.strip()))
                        if text != "":
                            yield text
        except TimeoutError:
            failure = self._server.timed_out(limit_s)
        except ModelError as error:
            failure = error
        self._habits.thinks_aloud = self._habits.thinks_aloud or thoughts.came_alone
        if not end and not failure:
            failure = ModelUnavailableError(worded("{label} closed the connection", label=self._server.label))
        if failure and has_text:
            raise ModelInterruptedError(worded("the answer broke off: {reason}", reason=failure.reason)) from failure
        if failure:
            raise failure
        if not has_text and thoughts.unended:
            raise ModelOutputError(worded("model '{name}' thought and came to no answer", name=self.name))
        if not has_text:
            raise ModelOutputError(worded("model '{name}' gave an empty answer", name=self.name))
        if end == "length":
            limit = request.max_tokens
            raise ModelCutError(worded("the answer was cut at its limit of {limit} tokens", limit=limit))


def _tokens(prompt: Prompt) -> int:
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_object(text: str, schema: type[Schema]) -> Schema:
    """The last JSON object in the text that is valid. Raises ValidationError, of the text where it holds no object."""
    failure: ValidationError | None = None
    for found in reversed(list(_objects(text))):
        try:
            return schema.model_validate(found)
        except ValidationError as error:
            failure = failure or error
    if failure:
        raise failure
    return schema.model_validate_json(text)


def _objects(text: str) -> Iterator[Any]:
    """The outermost JSON objects, in order."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
        else:
            yield found
            place = text.find("{", end)


def showing_form(prompt: Prompt, schema: type[BaseModel]) -> Prompt:
    """The prompt, with the form of the reply at the end of its fixed part."""
    form = form_of(reply_schema(schema))
    return replace(prompt, system=f"{prompt.system}\n\n{BY_PROMPT.format(form=form)}")


def form_of(part: Mapping[str, Any]) -> str:
    """As a person writes it down: {"numbers": [whole number, …], "verdict": "yes" or "no"}."""
    if "const" in part:
        return json.dumps(part["const"], ensure_ascii=False)
    if "enum" in part:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(form_of(option) for option in part["anyOf"])
    match part.get("type"):
        case "object":
            fields = (f"{json.dumps(name)}: {form_of(value)}" for name, value in part["properties"].items())
            return "{" + ", ".join(fields) + "}"
        case "array":
            return f"[{form_of(part['items'])}, …]"
        case "string":
            return '"text"'
        case "boolean":
            return "true or false"
        case "integer" | "number" as kind:
            name = "whole number" if kind == "integer" else "number"
            return f"{name} from {part['minimum']} to {part['maximum']}" if "maximum" in part else name
    return "null"
