"""The programs' doors: the first token over /v1 beside /api/chat, and searches over /mcp beside /api/search.

    python -m benchmarks.speed.doors http://127.0.0.1:8000 --key rsk_… [--questions 30] [--seconds 10] [--json]

The key has the scopes read and ask; the site takes as many questions a minute as are asked
(RAG_LIMIT_QUESTIONS_PER_MINUTE). Both doors of a pair take turns in the same run. Clients and site share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from benchmarks.support.tables import show

QUESTION = "How many books may an undergraduate borrow at once under the 2025 library loan regulations?"
MCP = {"Accept": "application/json, text/event-stream"}
Call = Callable[[httpx.AsyncClient, int], Any]


async def first_token_ms(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], has_text: Callable[[Any], bool]
) -> float:
    """Until the first event with text; the answer is read to its end."""
    begun, seen = time.perf_counter(), 0.0
    async with client.stream("POST", path, json=body) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if not seen and line.startswith("data: {") and has_text(json.loads(line[6:])):
                seen = time.perf_counter() - begun
    return seen * 1000


async def first_tokens(client: httpx.AsyncClient, questions: int) -> list[dict[str, object]]:
    openai = {"model": "ragsite", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    times: dict[str, list[float]] = {"/api/chat": [], "/v1/chat/completions": []}
    for turn in range(questions + 1):
        ours = await first_token_ms(
            client, "/api/chat", {"message": QUESTION, "stream": True}, lambda event: event["type"] == "chunk"
        )
        theirs = await first_token_ms(
            client, "/v1/chat/completions", openai,
            lambda event: bool(event["choices"] and event["choices"][0]["delta"].get("content")),
        )  # fmt: skip
        if turn:  # the first pair warms up
            times["/api/chat"].append(ours)
            times["/v1/chat/completions"].append(theirs)
    base = float(np.median(times["/api/chat"]))
    return [row(f"first token, {door}", seen, base_ms=base) for door, seen in times.items()]


def row(
    what: str, times: list[float], *, base_ms: float | None = None, seconds: float = 0, errors: int = 0
) -> dict[str, object]:
    median = float(np.median(times))
    return {
        "measured": what,
        "calls": len(times),
        "errors": errors,
        "p50 ms": median,
        "p95 ms": float(np.percentile(times, 95)),
        "to /api/chat": median / base_ms if base_ms else None,
        "a second": len(times) / seconds if seconds else None,
    }


async def search_api(client: httpx.AsyncClient, number: int) -> None:
    answer = await client.post("/api/search", json={"query": f"{QUESTION} {number}", "top_k": 8})
    assert answer.json()["candidates"], answer.text


async def search_mcp(client: httpx.AsyncClient, number: int) -> None:
    arguments = {"query": f"{QUESTION} {number}", "top_k": 8}
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
    body = call | {"params": {"name": "search", "arguments": arguments}}
    answer = await client.post("/mcp", json=body, headers=MCP)
    assert '"passages"' in answer.text and '"isError":true' not in answer.text, answer.text


async def searches(
    client: httpx.AsyncClient, call: Call, door: str, *, seconds: float, at_once: int
) -> dict[str, object]:
    times: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds

    async def work(number: int) -> None:
        nonlocal errors
        while (begun := time.perf_counter()) < end:
            try:
                await call(client, number)
                times.append((time.perf_counter() - begun) * 1000)
            except (AssertionError, KeyError, ValueError, httpx.HTTPError):
                errors += 1

    begun = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(at_once)))
    taken_s = time.perf_counter() - begun
    return row(f"search, {door}, {at_once} at once", times, seconds=taken_s, errors=errors)


async def run(options: argparse.Namespace) -> None:
    headers = {"Authorization": f"Bearer {options.key}"}
    limits = httpx.Limits(max_connections=options.at_once)
    async with httpx.AsyncClient(base_url=options.url, headers=headers, timeout=60, limits=limits) as client:
        tokens = await first_tokens(client, options.questions) if options.questions else []
        doors: tuple[tuple[Call, str], ...] = ((search_api, "/api/search"), (search_mcp, "/mcp"))
        for call, _ in doors:
            await call(client, 0)
        rows = [
            await searches(client, call, door, seconds=options.seconds, at_once=options.at_once) for call, door in doors
        ]
    show([*tokens, *rows], as_json=options.json)


def main() -> None:
    parser = argparse.ArgumentParser(description="First token over /v1, searches over /mcp.")
    parser.add_argument("url", help="where the site runs, e.g. http://127.0.0.1:8000")
    parser.add_argument("--key", required=True, help="an API key with the scopes read and ask")
    parser.add_argument("--questions", type=int, default=30, help="pairs (default: 30); 0: none")
    parser.add_argument("--seconds", type=float, default=10.0, help="of searches at each door (default: 10)")
    parser.add_argument("--at-once", type=int, default=8, help="searches side by side (default: 8)")
    parser.add_argument("--json", action="store_true")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
