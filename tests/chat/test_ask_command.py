"""`manage.py ask` prints the answer, its sources and its decision path."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chat.models import Message
from retrieval.engine.errors import IndexUnavailableError
from tests.chat.conftest import TEXT, ScriptedWorkflow


@pytest.fixture
def scripted(
    monkeypatch: pytest.MonkeyPatch, settings: Any, transactional_db: None
) -> ScriptedWorkflow:
    """Stands where the engine begins; an address for Milvus keeps the command from starting a server."""
    workflow = ScriptedWorkflow()
    monkeypatch.setattr("chat.management.commands.ask.answer_question", workflow)
    settings.RAG = settings.RAG.replace(
        milvus=settings.RAG.milvus.replace(uri="http://127.0.0.1:1")
    )
    return workflow


def _ask(*arguments: str) -> str:
    out = io.StringIO()
    call_command("ask", *arguments, stdout=out)
    return out.getvalue()


def test_answer_then_sources_then_decision_path(scripted: ScriptedWorkflow) -> None:
    text = _ask("How many books?")
    parts = [
        TEXT,
        "*[1] Library loans (page 2, Loans)",
        "Decision: ANSWER",
        "Search",
        "Re-rank",
        "Write",
    ]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "degraded" in text
    assert Message.objects.count() == 0


def test_json_is_the_chat_response_object(scripted: ScriptedWorkflow) -> None:
    data = json.loads(_ask("How many books?", "--json"))
    assert (data["answer"], data["decision"], data["status"], data["workflow"]) == (
        TEXT, "ANSWER", "complete", "corrective",
    )  # fmt: skip
    assert data["sources"][0]["title"] == "Library loans"
    assert {
        "session_id",
        "message_id",
        "usage",
        "degraded",
        "created_at",
        "clarification",
    } <= data.keys()


def test_failure_is_one_sentence(scripted: ScriptedWorkflow) -> None:
    scripted.chunks, scripted.error = (), IndexUnavailableError()
    with pytest.raises(CommandError, match="search index is not reachable"):
        _ask("How many books?")
