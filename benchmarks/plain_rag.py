"""The bar of `benchmarks.real_questions`: a RAG as a tutorial writes it: embed, search, generate, no check.

    RAG_PASSAGES=FILE OLLAMA_BASE_URL=… RAG_CHAT_MODEL=… RAG_EMBED_MODEL=… uvicorn benchmarks.plain_rag:app

A line of the file is `{"document_id", "text"}`; their vectors are kept beside it. `POST /` with `{"message"}` streams
Server-Sent Events as the site does: `sources`, `chunk`, `done`. Two Ollama calls a question, one process, no accounts,
no database.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

TOP_K = int(os.environ.get("PLAIN_TOP_K", "5"))
PROMPT = (
    "Answer the question from the numbered passages alone. Put the number of each passage that you use, like [1]. "
    "If they do not hold the answer, say that you don't know."
)
CHAT_MODEL = os.environ.get("RAG_CHAT_MODEL", "")
OPTIONS = {"num_ctx": 8192, "temperature": 0.1}
FILE = Path(os.environ.get("RAG_PASSAGES", "nowhere"))
PASSAGES = (
    [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    if FILE.exists()
    else []
)
ollama = httpx.AsyncClient(
    base_url=os.environ.get("OLLAMA_BASE_URL", "http://127.0.0.1:11434"), timeout=600
)
vectors = np.zeros((0, 0), dtype=np.float32)


async def embed(texts: list[str]) -> Any:
    reply = await ollama.post(
        "/api/embed", json={"model": os.environ["RAG_EMBED_MODEL"], "input": texts}
    )
    rows = np.array(reply.raise_for_status().json()["embeddings"], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def embed_all() -> Any:
    kept = FILE.with_suffix(".npy")
    if not kept.exists():
        texts = [passage["text"] for passage in PASSAGES]
        batches = [await embed(texts[at : at + 16]) for at in range(0, len(texts), 16)]
        np.save(kept, np.concatenate(batches))
    return np.load(kept)


async def answer(question: str) -> AsyncIterator[dict[str, Any]]:
    scores = vectors @ (await embed([question]))[0]
    best = [PASSAGES[at] for at in np.argsort(-scores)[:TOP_K]]
    sources = [{"marker": number, **passage} for number, passage in enumerate(best, 1)]
    yield {"type": "sources", "sources": sources}
    passages = "\n\n".join(f"[{source['marker']}] {source['text']}" for source in sources)
    messages = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": f"{passages}\n\nQuestion: {question}"},
    ]
    body = {"model": CHAT_MODEL, "messages": messages, "stream": True, "options": OPTIONS}
    async with ollama.stream("POST", "/api/chat", json=body) as reply:
        async for line in reply.aiter_lines():
            if content := json.loads(line)["message"]["content"]:
                yield {"type": "chunk", "content": content}
    yield {"type": "done"}


async def app(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    global vectors
    if scope["type"] == "lifespan":
        await receive()
        vectors = await embed_all()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    asked = json.loads((await receive())["body"])  # a question fits one message of the server
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for event in answer(asked["message"]):
        body = f"data: {json.dumps(event)}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body"})
