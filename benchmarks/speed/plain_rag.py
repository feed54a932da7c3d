"""The bar of `benchmarks.speed.beside_plain_rag`: a RAG as a tutorial writes it: embed, search, generate, no check.

    RAG_FOLDER=… OLLAMA_BASE_URL=… RAG_CHAT_MODEL=… RAG_EMBED_MODEL=… uvicorn benchmarks.speed.plain_rag:app

The folder's files are one passage each. `POST /` with `{"message"}` streams Server-Sent Events as the site does:
`sources`, `chunk`, `done`. Two Ollama calls a question, one process, no accounts, no database.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

TOP_K = 5
PROMPT = "Answer the question from the numbered passages alone. Put the number of each passage that you use, like [1]."
OPTIONS = {"num_ctx": 8192, "temperature": 0.1}
FILES = sorted(Path(os.environ.get("RAG_FOLDER", "nowhere")).glob("*.md"))
TEXTS = [file.read_text(encoding="utf-8") for file in FILES]
ollama = httpx.AsyncClient(base_url=os.environ.get("OLLAMA_BASE_URL", "http://127.0.0.1:11434"), timeout=120)
vectors = np.zeros((0, 0), dtype=np.float32)


async def embed(texts: list[str]) -> Any:
    reply = await ollama.post("/api/embed", json={"model": os.environ["RAG_EMBED_MODEL"], "input": texts})
    rows = np.array(reply.raise_for_status().json()["embeddings"], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def answer(question: str) -> AsyncIterator[dict[str, Any]]:
    best = np.argsort(-(vectors @ (await embed([question]))[0]))[:TOP_K]
    yield {"type": "sources", "sources": [{"marker": n, "title": FILES[at].stem} for n, at in enumerate(best, 1)]}
    passages = "\n\n".join(f"[{number}] {TEXTS[at]}" for number, at in enumerate(best, 1))
    user = f"{passages}\n\nQuestion: {question}"
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": user}]
    body = {"model": os.environ["RAG_CHAT_MODEL"], "messages": messages, "stream": True, "options": OPTIONS}
    async with ollama.stream("POST", "/api/chat", json=body) as reply:
        async for line in reply.aiter_lines():
            if content := json.loads(line)["message"]["content"]:
                yield {"type": "chunk", "content": content}
    yield {"type": "done"}


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    global vectors
    if scope["type"] == "lifespan":
        await receive()
        vectors = np.concatenate([await embed(TEXTS[at : at + 16]) for at in range(0, len(TEXTS), 16)])
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    question = json.loads((await receive())["body"])["message"]  # a question fits one message of the server
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    async for event in answer(question):
        await send({"type": "http.response.body", "body": f"data: {json.dumps(event)}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body"})
