"""Tries a model server before anything counts on it: what it has, whether a model answers, and how fast."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass

from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.errors import ModelError
from retrieval.engine.providers.registry import HABITS, Listing, load_kind, make_server
from retrieval.engine.providers.reply_form import is_json
from retrieval.engine.providers.server import ChatCall, ModelServer, ServedModel

SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
QUESTION = (
    "Are you ready to answer questions? Reply in one sentence."  # only the schema asks for JSON
)
MOST_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was found. reason: why the server did not answer, or else why `called`, a chat model, did not.

    call_ms: of one short reply, loading included; None where none came. ignoring_format: models that are not held to a
    schema, as this call or earlier ones have shown.
    """

    label: str
    address: str
    answered: bool = False
    list_ms: float | None = None
    models: tuple[ServedModel, ...] = ()
    called: str = ""
    call_ms: float | None = None
    ignoring_format: tuple[str, ...] = ()
    reason: str = ""


async def probe(settings: OllamaSettings) -> Probe:
    """Never raises a ModelError."""
    address = settings.server_of("answer")
    await load_kind(address[0])
    server = make_server(address, settings)
    try:
        return await _probe(server, settings)
    finally:
        await server.close()


async def _probe(server: ModelServer, settings: OllamaSettings) -> Probe:
    begun_at = time.monotonic()
    try:
        listing = Listing(await server.models())
    except ModelError as error:
        return Probe(label=server.label, address=server.address, reason=error.reason)
    list_ms = _since(begun_at)
    chatting = [model for model in listing.models if model.can_chat]
    named = listing.find(settings.answer_model) if settings.answer_model else None
    model = named if named in chatting else next(iter(chatting), None)
    call_ms: float | None = None
    reason = ""
    ignoring = {
        name
        for (place, name), habit in HABITS.items()
        if place == server.address and habit.ignores_format
    }
    if model is not None:
        begun_at = time.monotonic()
        try:
            reply = await _call(server, model, settings)
            call_ms = _since(begun_at)
            if not is_json(reply):
                ignoring.add(model.name)
        except ModelError as error:
            reason = error.reason
    return Probe(
        label=server.label,
        address=server.address,
        answered=True,
        list_ms=list_ms,
        models=listing.models,
        called=model.name if model else "",
        call_ms=call_ms,
        ignoring_format=tuple(sorted(ignoring)),
        reason=reason,
    )


async def _call(server: ModelServer, model: ServedModel, settings: OllamaSettings) -> str:
    """A short reply, held to a schema where the server follows one. Raises ModelError."""
    call = ChatCall(
        messages=[("human", QUESTION)], max_tokens=MOST_TOKENS, schema=SCHEMA, is_judgement=True
    )
    pieces: list[str] = []
    async with (
        server.in_time(settings.first_token_timeout_s),
        aclosing(server.chat(model, call)) as chunks,
    ):
        async for chunk in chunks:
            pieces.append(chunk.text)
    return "".join(pieces)


def _since(begun_at: float) -> float:
    """Milliseconds."""
    return round((time.monotonic() - begun_at) * 1000, 1)
