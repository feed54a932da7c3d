"""A server that speaks OpenAI's protocol (vLLM, llama.cpp, LM Studio, OpenAI itself), through langchain-openai."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
import httpx2  # what openai is made with
import openai
from langchain_core.messages import AIMessageChunk
from langchain_openai import OpenAIEmbeddings
from langchain_openai.chat_models.base import BaseChatOpenAI

from ragsite.core.messages import worded
from ragsite.core.server_settings import OllamaSettings
from retrieval.engine.errors import ModelMissingError
from retrieval.engine.providers.server import (
    CONNECT_TIMEOUT_S,
    KEPT_S,
    LIST_BYTES,
    MOST_MODELS,
    TEMPERATURE,
    ChatCall,
    ChatChunk,
    ModelServer,
    ServedModel,
    address_of,
    canonical,
    first_chunk,
    read_bounded,
    tls_context,
)

RETRIES = 1  # of the client, where the server is busy or closed the connection
BY_PROMPT = "Answer with nothing but one JSON value that fits this JSON schema:\n{schema}"


class OpenAIServer(ModelServer):
    """Proxies of the environment are not used."""

    label: str = worded("the model server")
    closed = (httpx2.HTTPError,)
    away = (openai.APIConnectionError,)
    refused = (openai.APIError,)

    def __init__(self, settings: OllamaSettings, url: str) -> None:
        self._settings = settings
        address = httpx.URL(url)
        self.address = address_of(address)
        timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
        limits = httpx2.Limits(keepalive_expiry=KEPT_S)
        http = httpx2.AsyncClient(
            timeout=timeout, limits=limits, trust_env=False, verify=tls_context()
        )
        key = settings.key_for(url) or "none"
        self._client = openai.AsyncOpenAI(
            base_url=url, api_key=key, max_retries=RETRIES, http_client=http
        )
        # Given these, LangChain makes no clients of its own, which would load certificates each time.
        chats = self._client.chat.completions
        self._chat = BaseChatOpenAI(
            stream_usage=True,
            stream_chunk_timeout=None,
            client=chats,
            async_client=chats,
            root_client=self._client,
            root_async_client=self._client,
            api_key=key,
        )
        self._limit = (
            "max_completion_tokens" if self.address.endswith("openai.com") else "max_tokens"
        )
        self._refused: set[tuple[str, str]] = (
            set()
        )  # models, and types of schemas that they can't be held to

    async def listed(self) -> tuple[ServedModel, ...]:
        """A server tells names alone: a model embeds where it is named for it, or calls itself so."""
        try:
            async with self._client.models.with_streaming_response.list() as response:
                body = await read_bounded(
                    response.iter_bytes(), most_bytes=LIST_BYTES, label=self.label
                )
            entries = json.loads(body)["data"][:MOST_MODELS]
            found = [(str(entry["id"]), entry) for entry in entries]
        except openai.NotFoundError:  # no list: what the settings name is there
            settings = self._settings
            named = (*settings.chat_models, settings.fast_model, settings.embed_model)
            found = [(name, {}) for name in dict.fromkeys(named) if name]
        return tuple(self._served(name, details) for name, details in found)

    def missing(self, name: str) -> ModelMissingError:
        if name:
            return ModelMissingError(worded("the model server has no model '{model}'", model=name))
        return ModelMissingError(
            worded("the model server lists no model for this: name one in the settings")
        )

    async def chat(self, model: ServedModel, call: ChatCall) -> AsyncGenerator[ChatChunk, None]:
        end = ""
        usage = None
        with self.explained(model.name):
            chunk, chunks = await self._begin(model, call)
            async with aclosing(chunks):
                while chunk is not None:
                    end = chunk.response_metadata.get("finish_reason") or end
                    usage = chunk.usage_metadata or usage
                    if chunk.text:
                        yield ChatChunk(text=str(chunk.text))
                    chunk = await anext(chunks, None)
        if end:  # the counts come after it
            prompt, written = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
            yield ChatChunk(end=end, prompt_tokens=prompt, completion_tokens=written)

    async def embed(self, model: str, texts: list[str]) -> list[list[float]]:
        client = self._client.embeddings
        embeddings = OpenAIEmbeddings(  # whole texts, no tokens of OpenAI's own
            model=model,
            check_embedding_ctx_length=False,
            model_kwargs={"encoding_format": "float"},
            client=client,
            async_client=client,
        )
        with self.explained(model):
            return await embeddings.aembed_documents(texts, chunk_size=len(texts))

    async def close(self) -> None:
        await self._client.close()

    async def _begin(
        self, model: ServedModel, call: ChatCall
    ) -> tuple[AIMessageChunk | None, AsyncGenerator[AIMessageChunk, None]]:
        """The first chunk, and those that follow. For a server that knows no schemas the prompt describes it."""
        temperature = 0.0 if call.is_judgement else TEMPERATURE
        arguments: dict[str, Any] = {
            "model": model.name,
            self._limit: call.max_tokens,
            "temperature": temperature,
        }
        key = (model.name, str(call.schema["type"]) if call.schema else "")
        messages = list(call.messages)
        if call.schema and key not in self._refused:
            form = {"name": "reply", "schema": call.schema, "strict": True}
            held: dict[str, Any] = {
                "extra_body": {"response_format": {"type": "json_schema", "json_schema": form}}
            }
            try:
                return await first_chunk(self._chat.astream(messages, **arguments, **held))
            except openai.BadRequestError:
                self._refused.add(key)
        if call.schema:
            schema = json.dumps(call.schema, ensure_ascii=False)
            messages[0] = ("system", f"{messages[0][1]}\n\n{BY_PROMPT.format(schema=schema)}")
        return await first_chunk(self._chat.astream(messages, **arguments))

    def _served(self, name: str, details: Mapping[str, Any]) -> ServedModel:
        embeds = canonical(name) == canonical(self._settings.embed_model) or "embed" in name.lower()
        length = int(details.get("max_model_len") or 0)  # vLLM tells it
        return ServedModel(name=name, can_chat=not embeds, can_embed=embeds, context_length=length)

    def status_and_message(self, error: Any) -> tuple[int, str]:
        return getattr(error, "status_code", -1), error.message
