"""Web pages among the sources: told while the answer is written, and kept."""

from __future__ import annotations

from typing import Any

from retrieval.engine.values import StoredChunk
from tests.chat.conftest import Api, ScriptedWorkflow, events_of, source

PAGE = StoredChunk(
    chunk_id="web:0123456789abcdef", document_id="https://example.org/fees", collection_id="", seq=0, title="Fees",
    text="It is 5.", kind="web", url="https://example.org/fees", published="2025-02-03",
)  # fmt: skip
SHOWN = {
    "kind": "web", "document_id": None, "chunk_id": PAGE.chunk_id, "title": "Fees", "url": PAGE.url, "page": None,
    "heading": "", "file_name": "", "published": "2025-02-03", "text": "It is 5.",
}  # fmt: skip


def shown(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in SHOWN}


async def test_a_web_source_is_told_while_the_answer_is_written_and_kept_alike(
    api: Api, workflow: ScriptedWorkflow
) -> None:
    workflow.sources = (source(1), source(2, chunk=PAGE))
    events = [event async for event in events_of(await api.ask(stream=True))]
    told = next(event for event in events if event["type"] == "sources")["sources"]
    stored = events[-1]["message"]
    history = (await api.call("get", f"/api/messages/{stored['message_id']}")).json()
    assert shown(told[1]) == shown(stored["sources"][1]) == shown(history["sources"][1]) == SHOWN
    assert told[0]["kind"] == stored["sources"][0]["kind"] == "document"
    assert stored["sources"][0]["document_id"] == source(1).chunk.document_id
