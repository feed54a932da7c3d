"""Measuring retrieval on a tiny labelled set, on a real Milvus Lite and with the model-free embedder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pymilvus import MilvusClient

from ragsite.core.server_settings import MilvusSettings, OllamaSettings
from retrieval.evaluation import runner
from tests.ollama_server import OllamaServer

DOCUMENTS = [
    {
        "id": "leave",
        "title": "Leave",
        "text": "Every employee has thirty days of paid leave in a year.",
    },
    {
        "_id": "travel",
        "title": "Travel",
        "text": "Train tickets are refunded when the receipt is handed in.",
    },
    {
        "id": "kitchen",
        "title": "Kitchen",
        "text": "The dishwasher is emptied by whoever comes first.",
    },
    {"id": "parking", "title": "Parking", "text": "Bicycles stand in the cellar. " * 120},
]
QUERIES = [
    {"id": "q1", "text": "How many days of paid leave does an employee have?"},
    {"_id": "q2", "text": "Are train tickets refunded?"},
    {"id": "q3", "text": "Who founded the orchestra of Vienna?", "unanswerable": True},
    {"id": "q4", "text": "Where do bicycles stand?"},
    {"id": "q5", "text": "Which volcano erupted?", "unanswerable": True, "excluded": True},
]
QRELS = ["q1\tleave\t1", "q2\ttravel\t1", "q4\tparking\t1"]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    write(folder / "corpus.jsonl", [json.dumps(row) for row in DOCUMENTS])
    write(folder / "queries.jsonl", [json.dumps(row) for row in QUERIES])
    write(folder / "qrels.tsv", QRELS)
    return folder


@pytest.fixture
def offline(
    milvus: MilvusSettings, rag_settings: Callable[..., Any], tmp_path: Path, settings: Any
) -> str:
    """No model server; the session's Milvus. Its address."""
    settings.DATA_DIR = tmp_path / "data"
    rag_settings(ollama=OllamaSettings(offline="1"), milvus=milvus)
    return milvus.uri


def write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def evaluate(folder: Path, *arguments: str) -> str:
    out = StringIO()
    call_command("evaluate", str(folder), *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def collections_of(uri: str, prefix: str) -> list[str]:
    client = MilvusClient(uri=uri)
    try:
        return [name for name in client.list_collections() if name.startswith(prefix)]
    finally:
        client.close()


def test_json_has_the_contracts_shape_with_every_measure_and_decision(
    labelled: Path, offline: str
) -> None:
    result = json.loads(evaluate(labelled, "--json", "--stages", "bm25,dense,hybrid"))
    assert list(result) == ["dataset", "queries", "stages", "decisions"]
    assert (result["dataset"], result["queries"]) == ("tiny", 3)
    assert list(result["stages"]) == ["dense", "bm25", "hybrid"]
    bm25 = result["stages"][
        "bm25"
    ]  # finds each document first, also the one that is cut into chunks
    assert [bm25[name] for name in ("ndcg@10", "recall@10", "recall@100", "mrr")] == [1.0] * 4
    assert bm25.keys() == result["stages"]["hybrid"].keys() and 0 < bm25["p50_ms"] <= bm25["p95_ms"]
    decisions = result["decisions"]  # without the question that is excluded
    assert {kind: sum(counts.values()) for kind, counts in decisions.items()} == {
        "answerable": 3,
        "unanswerable": 1,
    }
    assert decisions["unanswerable"] == {
        "ANSWER": 1
    }  # without a model the nearest passages are shown


def test_a_sample_is_measured_by_its_own_questions_alone(labelled: Path, offline: str) -> None:
    result = json.loads(
        evaluate(labelled, "--json", "--stages", "bm25", "--limit", "2", "--no-decisions")
    )
    assert 0 < result["queries"] <= 2
    assert [result["stages"]["bm25"][name] for name in ("ndcg@10", "mrr")] == [1.0] * 2


def test_nothing_is_left_in_the_index_when_it_is_stopped(
    labelled: Path, offline: str, milvus: MilvusSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def stopped(*_: object, **__: object) -> None:
        seen.extend(collections_of(offline, milvus.prefix))
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_ranked", stopped)
    with pytest.raises(CommandError, match="Stopped"):
        evaluate(labelled)
    assert len(seen) == 1
    assert collections_of(offline, milvus.prefix) == []


def test_stages_that_need_a_model_say_that_a_fallback_served(labelled: Path, offline: str) -> None:
    told = evaluate(labelled, "--stages", "hybrid,rerank,boosts", "--no-decisions")
    assert "+rerank: a fallback served for 3 of 3 (rerank: offline mode" in told
    assert "+boosts: a fallback served for 3 of 3 (boost: there are no ratings" in told


def test_a_reranking_is_the_one_that_answers_have(
    labelled: Path, online: OllamaServer, milvus: MilvusSettings, rag_settings: Callable[..., Any]
) -> None:
    rag_settings(milvus=milvus)

    def kitchen_first(prompt: str) -> dict[str, list[int]]:
        return {
            "scores": [
                10 if title == "Kitchen" else 1 for title in re.findall(r'title="(\w+)"', prompt)
            ]
        }

    online.reply(match="You score how well", json=kitchen_first)
    result = json.loads(evaluate(labelled, "--json", "--stages", "hybrid,rerank", "--no-decisions"))
    assert result["stages"]["hybrid"]["mrr"] == 1.0
    assert result["stages"]["+rerank"]["mrr"] == 0.5
    assert not [request for request in online.chats if "JUDGE" in request.prompt]


def test_a_saved_run_is_compared_with(labelled: Path, offline: str, tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    evaluate(labelled, "--stages", "bm25", "--no-decisions", "--save", str(saved))
    before = json.loads(saved.read_text())
    before["stages"]["bm25"]["mrr"] = 0.5
    saved.write_text(json.dumps(before))
    told = evaluate(labelled, "--stages", "bm25", "--no-decisions", "--compare", str(saved))
    assert "+50.00" in told
    assert "was" not in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stages", "magic"], "no stage 'magic'"),
        (["--k", "0"], "--k: give a whole number from 1"),
        (["--limit", "0"], "--limit: give a whole number from 1"),
    ],
)
def test_wrong_options_are_refused(labelled: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        evaluate(labelled, *arguments)
