"""OpenAI's protocol for the stand-in of a model server (`tests.ollama_server`): the same replies, written otherwise."""

from __future__ import annotations

import json
from typing import Any

from tests.model_connection import Connection

ENDPOINTS = {"/v1/chat/completions": "chat", "/v1/embeddings": "embed", "/v1/models": "tags"}


def as_ollama(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The request's body as Ollama would get it."""
    if ENDPOINTS[path] != "chat":
        return body
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    form = body.get("response_format", {}).get("json_schema", {}).get("schema")
    options = {"num_predict": limit, "temperature": body.get("temperature")}
    return {**body, "options": options, "think": False, **({"format": form} if form else {})}


class OpenAIConnection(Connection):
    """Says what Ollama's lines and bodies say."""

    async def send_json(self, body: Any, status: int = 200) -> None:
        match body:
            case {"error": str(message)}:
                body = {"error": {"message": message, "type": "error", "param": None, "code": None}}
            case {"models": models}:
                body = {
                    "object": "list",
                    "data": [{"id": model["name"], "object": "model"} for model in models],
                }
            case {"embeddings": vectors}:
                rows = [
                    {"object": "embedding", "index": at, "embedding": list(v)}
                    for at, v in enumerate(vectors)
                ]
                body = {
                    "object": "list",
                    "model": "m",
                    "data": rows,
                    "usage": {"prompt_tokens": 1, "total_tokens": 1},
                }
        await super().send_json(body, status)

    async def start_stream(self) -> None:
        await self._write(self._head(200, "text/event-stream", "Transfer-Encoding: chunked"))

    async def line(self, body: dict[str, Any]) -> None:
        if "error" in body:
            await self._event({"error": {"message": body["error"]}})
            return
        delta = {"role": "assistant", "content": body["message"]["content"]}
        choice = {"index": 0, "delta": delta, "finish_reason": body.get("done_reason")}
        about = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
        await self._event({**about, "choices": [choice]})
        if body.get("done"):
            prompt, written = body["prompt_eval_count"], body["eval_count"]
            usage = {
                "prompt_tokens": prompt,
                "completion_tokens": written,
                "total_tokens": prompt + written,
            }
            await self._event({**about, "choices": [], "usage": usage})

    async def raw_line(self, data: bytes) -> None:
        await super().raw_line(b"data: " + data + b"\n\n")

    async def end_stream(self) -> None:
        await super().raw_line(b"data: [DONE]\n\n")
        await super().end_stream()

    async def _event(self, body: dict[str, Any]) -> None:
        await super().raw_line(b"data: " + json.dumps(body).encode() + b"\n\n")
