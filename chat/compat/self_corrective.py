"""The answer of `POST /api/self-corrective-rag`: seed 000's response, read from a stored message's decision path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retrieval.values import CollectionRef, SearchScope

WORKFLOW = "self_corrective"
# Which node of the workflow's graph a step of the decision path belongs to.
NODE_OF_STEP = {
    "condense": "condense",
    "route": "condense",
    "retrieve": "retrieve",
    "boost": "retrieve",
    "dedupe": "retrieve",
    "grade": "grade",
    "assess": "grade",
    "rewrite": "rewrite",
    "web_search": "web_search",
    "order": "generate",
    "compress": "generate",
    "generate": "generate",
    "verify": "generate",
}
STATUS = {"skipped": "skipped", "failed": "error"}  # of a node; every other step status means completed

Step = Mapping[str, Any]


def response_data(message: Mapping[str, Any], *, query: str, scope: SearchScope) -> dict[str, Any]:
    """`message`: what `chat.messages.data` makes of the finished answer. `query`: as it was sent; `scope`: searched."""
    steps: Sequence[Step] = [step for step in message["decision_path"] if not closes_path(step)]
    history = rewrite_history(steps)
    documents = graded_documents(steps)
    passed = sum(document["gradeResult"]["isRelevant"] for document in documents)
    return {
        "success": message["status"] == "complete",
        "answer": message["answer"],
        "decision": message["decision"],
        "query": {
            "original": query,
            "final": history[-1]["rewritten"] if history else _standalone(steps) or query,
            "wasRewritten": bool(history),
            "rewriteCount": len(history),
        },
        "rewriteHistory": history,
        "retrieval": {
            "totalDocuments": len(documents),
            "filteredDocuments": passed,
            "documents": documents,
            "collections": [_collection(ref) for ref in scope.collections],
        },
        "graderResult": grader_result(steps),
        "workflow": {
            "nodeExecutions": node_executions(steps),
            "decisionPath": [f"{step['name'].upper()}: {step['summary'] or step['status']}" for step in steps],
            "totalDuration": (message["usage"] or {}).get("total_ms", 0),
        },
        "sessionId": message["session_id"],
        "messageId": message["message_id"],
    }


def _collection(ref: CollectionRef) -> dict[str, Any]:
    """With the embedding model that its dimension stands for: the one that the query was embedded with."""
    space = ref.space
    return {
        "name": ref.name,
        "embeddingModel": space.model if space else None,
        "dimension": space.dim if space else None,
    }


def closes_path(step: Step) -> bool:
    """Whether it is the entry that names the decision in the end: it belongs to no node of the seed's."""
    return bool(step["name"] == "assess" and "decision" in step["detail"])


def rewrite_history(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Every rewriting of the question that gave one, first ones first."""
    made = (step["detail"] for step in _named(steps, "rewrite") if step["detail"].get("rewritten"))
    return [
        {
            "original": detail["original"],
            "rewritten": detail["rewritten"],
            "reason": detail["rewrite_reason"],
            "keywords": detail["keywords"],
            "attempt": detail["attempt"],
        }
        for detail in made
    ]


def graded_documents(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Every document that was graded, once, as in the last search that found it; the best that passed first."""
    entries = {entry["chunk_id"]: entry for step in _named(steps, "grade") for entry in _entries(step)}
    ranked = sorted(
        entries.values(), key=lambda entry: -entry["scores"].get("rerank", 0.0) if entry["relevant"] else 0.0
    )
    return [_document(entry) for entry in ranked]


def _document(entry: Mapping[str, Any]) -> dict[str, Any]:
    scores = entry["scores"]
    return {
        "id": entry["chunk_id"],
        "content": entry["text"],
        "score": scores.get("dense", scores.get("fused", 0.0)),
        "gradeResult": _grade(entry),
        "metadata": {
            "documentId": entry["document_id"],
            "title": entry["title"],
            "fileName": entry["file_name"],
            "page": entry["page"],
            "heading": entry["heading"],
            "scores": scores,
        },
    }


def _grade(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "isRelevant": entry["relevant"],
        "confidence": entry["confidence"],
        "reasoning": entry["reason"],
        "byModel": entry["by_model"],
    }


def grader_result(steps: Sequence[Step]) -> dict[str, Any] | None:
    """Of the last search; None where nothing was searched for (no documents)."""
    graded, assessed = _named(steps, "grade"), _named(steps, "assess")
    if not assessed:
        return None
    detail = assessed[-1]["detail"]
    return {
        "passRate": detail.get("pass_rate", 0.0),
        "passCount": detail.get("pass_count", 0),
        "totalCount": detail.get("total_count", 0),
        "shouldRewrite": detail.get("verdict") == "rewrite",
        "reasoning": assessed[-1]["summary"],
        "documentGrades": [{"docId": entry["chunk_id"], **_grade(entry)} for entry in _entries(graded[-1])],
    }


def node_executions(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Steps that follow each other in one node are one execution of it. Times in ms since the run began."""
    runs: list[tuple[str, list[Step]]] = []
    for step in steps:
        node = NODE_OF_STEP.get(step["name"]) or str(step["name"])
        if runs and runs[-1][0] == node and step["name"] not in ("retrieve", "rewrite"):
            runs[-1][1].append(step)
        else:
            runs.append((node, [step]))
    return [_execution(node, made) for node, made in runs]


def _execution(node: str, steps: Sequence[Step]) -> dict[str, Any]:
    started = min(step["started_ms"] for step in steps)
    ended = max(step["started_ms"] + step["duration_ms"] for step in steps)
    failed = [step for step in steps if step["status"] == "failed"]
    main = next((step for step in steps if step["name"] == node), steps[0])
    execution: dict[str, Any] = {
        "node": node,
        "status": "error" if failed else STATUS.get(main["status"], "completed"),
        "startTime": started,
        "endTime": ended,
        "duration": ended - started,
        "input": _input(main),
        "output": {"summary": main["summary"], **_output(node, steps)},
    }
    reasons = [step["detail"].get("reason", "") for step in steps if step["status"] in ("degraded", "failed")]
    return execution | ({"error": "; ".join(map(str, dict.fromkeys(reasons)))} if reasons else {})


def _input(step: Step) -> dict[str, Any]:
    detail = step["detail"]
    match step["name"]:
        case "retrieve":
            return {"query": " | ".join(query["text"] for query in detail.get("queries", ()))}
        case "rewrite":
            return {"query": detail.get("original", "")}
    return {}


def _output(node: str, steps: Sequence[Step]) -> dict[str, Any]:
    detail = {key: value for step in steps for key, value in step["detail"].items()}
    match node:
        case "grade":
            return {
                "passRate": detail.get("pass_rate", 0.0),
                "passCount": detail.get("pass_count", 0),
                "totalCount": detail.get("total_count", 0),
                "next": detail.get("verdict", ""),
            }
        case "rewrite":
            return {"rewrittenQuery": detail.get("rewritten", ""), "rewriteReason": detail.get("rewrite_reason", "")}
        case "generate":
            return {"model": detail.get("model", ""), "citedDocuments": detail.get("cited", [])}
    return {}


def _standalone(steps: Iterable[Step]) -> str:
    made = (step["detail"].get("standalone_question") for step in _named(steps, "condense"))
    return next((str(text) for text in made if text), "")


def _named(steps: Iterable[Step], name: str) -> list[Step]:
    return [step for step in steps if step["name"] == name]


def _entries(step: Step) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = step["detail"].get("documents", [])
    return entries
