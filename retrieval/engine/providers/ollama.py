"""An Ollama server, through langchain-ollama.

Every call to a model carries the same `num_ctx`: another one would reload the model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
from langchain_core.messages import AIMessageChunk
from langchain_ollama import ChatOllama, OllamaEmbeddings
from ollama import ResponseError
from tenacity import retry, retry_if_exception, stop_after_attempt

from ragsite.core.messages import worded
from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.errors import ModelMissingError, ModelOutputError
from retrieval.engine.providers.server import (
    CONNECT_TIMEOUT_S,
    KEPT_S,
    LIST_BYTES,
    MOST_MODELS,
    TEMPERATURE,
    ChatCall,
    ChatChunk,
    ModelServer,
    PullProgress,
    ServedModel,
    address_of,
    first_chunk,
    read_bounded,
    tls_context,
)

BUSY_RETRY_S = 0.3  # before the one more attempt
# Of judgements. Ollama's own default punishes repetition, and so the second 8 of a list of scores.
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
NANOSECONDS_PER_MS = 1e6
LINE_BYTES = 100_000  # of a stream; a line of progress has some hundred
SILENCE_S = (
    600.0  # of a pull: checking what was downloaded is silent, and takes minutes for a large model
)
CLOSED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


def _is_passing(error: BaseException) -> bool:
    """A busy server may have room a moment later, and one that has closed a kept connection takes another."""
    if isinstance(error, ResponseError):
        return error.status_code == httpx.codes.SERVICE_UNAVAILABLE
    return isinstance(error, CLOSED)


once_more = retry(
    retry=retry_if_exception(_is_passing),
    stop=stop_after_attempt(2),
    wait=lambda _: BUSY_RETRY_S,
    reraise=True,
)


class OllamaServer(ModelServer):
    """Proxies of the environment are not used."""

    label = "Ollama"
    closed = CLOSED
    away = (httpx.TransportError, httpx.InvalidURL, OSError)
    refused = (ResponseError, httpx.HTTPStatusError)

    def __init__(self, settings: OllamaSettings) -> None:
        url = httpx.URL(settings.base_url)
        self.address = address_of(url)
        self._settings = settings
        verify = tls_context()
        timeout = httpx.Timeout(None, connect=CONNECT_TIMEOUT_S)
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEPT_S
        )
        self._transport = httpx.AsyncHTTPTransport(
            verify=verify, limits=limits
        )  # one pool for all clients
        self._client: dict[str, Any] = {
            "base_url": settings.base_url,
            "keep_alive": settings.keep_alive_s,
            "client_kwargs": {"timeout": timeout, "verify": verify, "follow_redirects": False},
            "async_client_kwargs": {"transport": self._transport},
        }
        self._chat = ChatOllama(model="", **self._client)
        self._embeddings: dict[str, OllamaEmbeddings] = {}
        self._http = httpx.AsyncClient(
            base_url=settings.base_url, transport=self._transport, timeout=timeout
        )
        self._described: dict[tuple[str, str], ServedModel] = {}

    async def listed(self) -> tuple[ServedModel, ...]:
        entries = (await self._json("GET", "/api/tags"))["models"]
        return tuple(await asyncio.gather(*map(self._describe, entries[:MOST_MODELS])))

    def missing(self, name: str) -> ModelMissingError:
        if name:
            return ModelMissingError(
                worded("model '{model}' is not installed: ollama pull {model}", model=name)
            )
        return ModelMissingError(
            worded("Ollama has no model for this: ollama pull one, e.g. qwen3:4b and bge-m3")
        )

    async def chat(self, model: ServedModel, call: ChatCall) -> AsyncGenerator[ChatChunk, None]:
        sampling = JUDGING if call.is_judgement else {"temperature": TEMPERATURE}
        arguments = {
            "model": model.name,
            "options": {
                **sampling,
                "num_ctx": self._settings.num_ctx,
                "num_predict": call.max_tokens,
            },
            "format": call.schema,
            "stream": not call.is_judgement,
            "reasoning": False if model.can_think else None,  # plain models must not be told
        }
        with self.explained(model.name):
            chunk, chunks = await self._begin(call, arguments)
            async with aclosing(chunks):
                while chunk is not None:
                    yield _read(chunk)
                    chunk = await anext(chunks, None)

    async def load(self, model: ServedModel) -> None:
        """A chat without messages loads a model, and keeps it as every call does."""
        body = {
            "model": model.name,
            "messages": [],
            "keep_alive": self._settings.keep_alive_s,
            "options": {"num_ctx": self._settings.num_ctx},
        }
        with self.explained(model.name):
            await self._json("POST", "/api/chat", body)

    async def pull(self, name: str) -> AsyncGenerator[PullProgress, None]:
        """A model is several files, each with lines of its own; the progress is of those that have begun."""
        sizes: dict[str, int] = {}
        done: dict[str, int] = {}
        with self.explained(name):
            async with aclosing(self._pull_lines(name)) as lines:
                async for line in lines:
                    if "error" in line:
                        raise ResponseError(str(line["error"]))
                    if file := line.get("digest"):
                        sizes[file] = int(line.get("total") or 0)
                        done[file] = int(line.get("completed") or 0)
                    step = str(line.get("status", ""))
                    yield PullProgress(
                        step=step, completed=sum(done.values()), total=sum(sizes.values())
                    )
                    if step == "success":
                        return
        raise ModelOutputError(
            worded("the download of {model} ended before it was complete", model=name)
        )

    async def _pull_lines(self, name: str) -> AsyncGenerator[Mapping[str, Any], None]:
        async with self._http.stream(
            "POST", "/api/pull", json={"model": name, "stream": True}
        ) as response:
            if not response.is_success:
                body = await read_bounded(
                    response.aiter_bytes(), most_bytes=LINE_BYTES, label=self.label
                )
                raise ResponseError(body.decode(errors="replace"), response.status_code)
            received = bytearray()
            pieces = response.aiter_bytes()
            while True:
                async with self.in_time(SILENCE_S):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                *lines, rest = (bytes(received) + piece).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield json.loads(line)
                received = bytearray(rest)
                if len(received) > LINE_BYTES:
                    raise ModelOutputError(
                        worded("the answer of {label} is too large", label=self.label)
                    )

    async def embed(self, model: str, texts: list[str]) -> list[list[float]]:
        if model not in self._embeddings:
            num_ctx = self._settings.num_ctx
            self._embeddings[model] = OllamaEmbeddings(model=model, num_ctx=num_ctx, **self._client)
        with self.explained(model):
            return await once_more(self._embeddings[model].aembed_documents)(texts)

    async def close(self) -> None:
        await self._http.aclose()
        await self._transport.aclose()

    @once_more
    async def _begin(
        self, call: ChatCall, arguments: Mapping[str, Any]
    ) -> tuple[AIMessageChunk | None, AsyncGenerator[AIMessageChunk, None]]:
        return await first_chunk(self._chat.astream(list(call.messages), **arguments))

    async def _describe(self, entry: Mapping[str, Any]) -> ServedModel:
        """One entry of the list, with what /api/show adds to it: asked once for each version of a model."""
        name = str(entry.get("name") or entry["model"])
        key = (name, str(entry.get("digest", "")))
        if key not in self._described:
            shown = await self._json("POST", "/api/show", {"model": name})
            capabilities = entry.get("capabilities") or shown.get("capabilities") or ()
            info = (
                shown.get("model_info") or {}
            )  # lengths stand under the architecture's name: `bert.context_length`
            self._described[key] = ServedModel(
                name=name,
                can_chat="completion" in capabilities,
                can_embed="embedding" in capabilities and "completion" not in capabilities,
                can_think="thinking" in capabilities,
                context_length=next(
                    (int(info[item]) for item in info if item.endswith(".context_length")), 0
                ),
            )
        return self._described[key]

    async def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with self._http.stream(method, path, json=body) as response:
            content = await read_bounded(
                response.aiter_bytes(), most_bytes=LIST_BYTES, label=self.label
            )
        answer = httpx.Response(response.status_code, content=content, request=response.request)
        return answer.raise_for_status().json()

    def status_and_message(self, error: Any) -> tuple[int, str]:
        if isinstance(error, httpx.HTTPStatusError):
            return error.response.status_code, error.response.text
        return error.status_code, error.error


def _read(chunk: AIMessageChunk) -> ChatChunk:
    metadata = chunk.response_metadata
    usage = chunk.usage_metadata
    if not metadata.get("done_reason"):
        return ChatChunk(text=str(chunk.content))
    return ChatChunk(
        text=str(chunk.content),
        end=metadata["done_reason"],
        prompt_tokens=usage["input_tokens"] if usage else 0,
        completion_tokens=usage["output_tokens"] if usage else 0,
        prefill_ms=(metadata.get("prompt_eval_duration") or 0) / NANOSECONDS_PER_MS or None,
        generation_ms=(metadata.get("eval_duration") or 0) / NANOSECONDS_PER_MS or None,
    )
