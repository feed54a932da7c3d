"""The names of steps, efforts, workflows and reasons for people: one list, for the chat and for the desk.

The scripts have it from the page's data (`script_labels`); docs/style.md says which word stands for what.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from retrieval.engine.workflows.registry import offered_workflows

Labels = dict[str, str | Promise]
STEPS: Labels = {
    "assistant": _("Assistant"),
    "memory": _("Recall"),
    "condense": _("Understand the question"),
    "route": _("Choose the way"),
    "plan": _("Plan"),
    "rewrite": _("Rephrase"),
    "step_back": _("Broader question"),
    "decompose": _("Split the question"),
    "hyde": _("Draft an answer to search with"),
    "retrieve": _("Search"),
    "boost": _("Apply ratings"),
    "dedupe": _("Remove repeats"),
    "rerank": _("Re-rank"),
    "assess": _("Judge the passages"),
    "grade": _("Grade the documents"),
    "refine": _("Search again"),
    "web_search": _("Search the web"),
    "count": _("Count"),
    "compress": _("Shorten"),
    "order": _("Choose the passages"),
    "clarify": _("Ask back"),
    "generate": _("Write"),
    "verify": _("Check the answer"),
    "reflect": _("Review the draft"),
    "consolidate": _("Remember"),
}
TOOLS: Labels = {  # while it is used
    "search": _("Searching the documents"),
    "web_search": _("Searching the web"),
    "query_rewriter": _("Looking for better words"),
    "rewrite": _("Looking for better words"),
    "relevance_evaluator": _("Judging what was found"),
}
AFTER_STEPS: Labels = {  # what is done when the step has ended
    "memory": _("Understanding the question"),
    "condense": _("Choosing where to look"),
    "route": _("Searching the documents"),
    "rewrite": _("Searching the documents"),
    "step_back": _("Searching the documents"),
    "decompose": _("Searching the documents"),
    "hyde": _("Searching the documents"),
    "refine": _("Searching again in another way"),
    "retrieve": _("Sorting what was found"),
    "grade": _("Judging what was found"),
    "reflect": _("Judging the answer"),
    "compress": _("Choosing the passages to write from"),
    "count": _("Writing"),
    "order": _("Writing"),
    "clarify": _("Asking back"),
    "generate": _("Checking the answer against its sources"),
}
STATES: Labels = {
    "ok": _("Done"),
    "skipped": _("Skipped"),
    "degraded": _("Done another way"),
    "failed": _("Failed"),
}
DETAILS: Labels = {  # of a step; others are called by their names
    "accepted": _("Accepted"),
    "boosts": _("Ratings' weight"),
    "by_model": _("By a model"),
    "candidates": _("Candidates"),
    "cited": _("Cited"),
    "complexity": _("Complexity"),
    "collections": _("Collections"),
    "completeness": _("Completeness"),
    "decision": _("Decision"),
    "documents": _("Documents"),
    "whole_documents": _("Documents"),
    "dropped": _("Removed"),
    "rows_dropped": _("Removed"),
    "evidence": _("Evidence"),
    "factuality": _("Factuality"),
    "facts": _("Facts"),
    "filters": _("Filters"),
    "found": _("Found"),
    "given": _("Given"),
    "grounding": _("Sentences"),
    "kept": _("Kept"),
    "merged": _("Combined"),
    "lost": _("No longer here"),
    "missing": _("Missing"),
    "model": _("Model"),
    "model_calls": _("Model calls"),
    "name": _("Name"),
    "named": _("Named"),
    "options": _("Options"),
    "outcome": _("Outcome"),
    "passage": _("Passage"),
    "preferred": _("Preferred"),
    "problems": _("Problems"),
    "queries": _("Queries"),
    "query": _("Query"),
    "reason": _("Reason"),
    "relaxed": _("Filters left out"),
    "relevance": _("Relevance"),
    "revision": _("Ranking change"),
    "rewritten": _("Rewritten"),
    "route": _("Route"),
    "score": _("Score"),
    "scores": _("Scores"),
    "standalone_question": _("Full question"),
    "tasks": _("Tasks"),
    "timings_ms": _("Times in ms"),
    "unreadable": _("Not readable for you"),
    "verdict": _("Verdict"),
    "version": _("Version"),
}
TASKS: Labels = {  # of a plan
    "rewrite": _("Rephrase"),
    "decompose": _("Split the question"),
    "step_back": _("Broader question"),
    "hyde": _("Draft an answer to search with"),
    "retrieve": _("Search"),
    "text_search": _("Search by words"),
    "vector_search": _("Search by meaning"),
    "wide_search": _("Search wider"),
    "web_search": _("Search the web"),
    "rerank": _("Judge what was found"),
    "evaluate": _("Judge what was found"),
}
TASK_STATES: Labels = {
    "waiting": _("Waiting"),
    "running": _("Running"),
    "done": _("Done"),
    "failed": _("Failed"),
    "late": _("Took too long"),
}
TAGS: Labels = {  # of a rating
    "helpful": _("Helpful"),
    "accurate": _("Accurate"),
    "wrong_source": _("Wrong source"),
    "outdated": _("Out of date"),
    "incomplete": _("Incomplete"),
    "wrong_reasoning": _("Wrong conclusion"),
    "style": _("Style"),
    "not_helpful": _("Not helpful"),
}
DECISIONS: Labels = {
    "ANSWER": _("Answered"),
    "CLARIFY": _("Asked back"),
    "NO_ANSWER": _("No answer found"),
}
STATUSES: Labels = {  # of an answer
    "streaming": _("being written"),
    "complete": _("complete"),
    "cut": _("cut"),
    "stopped": _("stopped"),
    "interrupted": _("interrupted"),
    "failed": _("failed"),
}
FILTERS: Labels = {  # of a question's search
    "department": _("Department"),
    "doc_type": _("Type"),
    "policy_year": _("Year"),
    "tags": _("Tags"),
}
REASONS: Labels = {  # why an answer is to be looked at
    "badly_rated": _("Thumbs down"),
    "flagged": _("Flagged by a user"),
    "cut": _("Cut or interrupted"),
    "no_answer": _("No answer found"),
    "unconfirmed": _("Not confirmed"),
    "weak": _("Weakly supported"),
    "degraded": _("Done another way"),
    "slow": _("Slow"),
}

Named = dict[str, tuple[str | Promise, str | Promise]]  # label, hint
EFFORTS: dict[str, dict[str, Any]] = {  # what of a question's request each stands for
    "quick": {
        "workflow": "corrective",
        "options": {"rewrite": False, "hyde": False, "rerank": False, "judge": False},
    },
    "careful": {"workflow": "corrective"},
    "thorough": {"workflow": "dual_loop"},
}
EFFORT_LABELS: Named = {
    "quick": (_("Quick"), _("Answers from the first search")),
    "careful": (_("Careful"), _("Checks what it found, and searches again when that is weak")),
    "thorough": (_("Thorough"), _("Checks its own answer before you see it; takes longer")),
}
WORKFLOWS: Named = {  # the two that are an effort go by its name
    "corrective": EFFORT_LABELS["careful"],
    "self_corrective": (_("Self-corrective"), _("Grades every passage before answering")),
    "dual_loop": EFFORT_LABELS["thorough"],
    "planned": (_("Planned"), _("Splits a question into steps")),
    "react": (_("ReAct"), _("Rewrites the query until what it finds is enough")),
}


def label(labels: Labels, name: str) -> str:
    return str(labels.get(name, name.replace("_", " ")))


def workflow_label(name: str, options: dict[str, Any] | None = None) -> str:
    """options: of the question; they tell a quick answer from a careful one."""
    quick = EFFORTS["quick"]
    if name == quick["workflow"] and options and quick["options"].items() <= options.items():
        return str(EFFORT_LABELS["quick"][0])
    return str(WORKFLOWS[name][0]) if name in WORKFLOWS else name.replace("_", " ")


def filter_words(name: str, value: object) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return f"{label(FILTERS, name)}: {shown}"


FILE_KINDS: Labels = {
    "curated": _("Checked answers"),
    "golden": _("Test questions"),
    "log": _("Log"),
}
FILE_COUNTS: Labels = {
    "rows": _("Rows"),
    "new": _("New"),
    "changed": _("Changed"),
    "unchanged": _("Unchanged"),
    "wrong": _("Not imported"),
    "taken_back": _("Taken back"),
    "kept": _("Changed since, left as they are"),
}


def file_words(detail: dict[str, Any]) -> str:
    """What a `DeskEvent` about a file of checked answers or test questions says; empty: it is about something else."""
    if "what" not in detail:
        return ""
    counts = [f"{label(FILE_COUNTS, name)}: {count}" for name, count in detail["counts"].items()]
    return " · ".join([label(FILE_KINDS, detail["what"]), *counts])


def script_labels() -> dict[str, Any]:
    """For a page's data, in the active language."""
    lists = {
        "steps": STEPS,
        "tools": TOOLS,
        "after_steps": AFTER_STEPS,
        "states": STATES,
        "details": DETAILS,
        "tasks": TASKS,
        "task_states": TASK_STATES,
        "tags": TAGS,
    }
    return {
        kind: {name: str(text) for name, text in labels.items()} for kind, labels in lists.items()
    }


def script_efforts() -> list[dict[str, Any]]:
    """How much may be done for an answer: the efforts, then every workflow by its own name."""
    offered = offered_workflows(settings.RAG)
    rows = [(name, EFFORT_LABELS[name], request, True) for name, request in EFFORTS.items()]
    rows += [(name, WORKFLOWS[name], {"workflow": name}, False) for name in offered]
    return [
        {
            "name": name,
            "label": str(title),
            "hint": str(hint),
            "options": {},
            **request,
            "is_effort": is_effort,
        }
        for name, (title, hint), request, is_effort in rows
        if request["workflow"] in offered
    ]
