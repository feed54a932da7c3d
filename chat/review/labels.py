"""What reviewers call steps and their states, in their language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

STEPS: dict[str, str | Promise] = {  # as the chat calls them: static/js/chat/path.js
    "memory": _("Recall"), "condense": _("Understand in context"), "route": _("Choose the way"), "plan": _("Plan"),
    "rewrite": _("Rephrase"), "step_back": _("Step back"), "decompose": _("Split the question"),
    "hyde": _("Imagine an answer"), "retrieve": _("Search"), "fuse": _("Merge results"), "boost": _("Apply feedback"),
    "dedupe": _("Remove repeats"), "rerank": _("Rank"), "assess": _("Judge the evidence"),
    "grade": _("Grade passages"), "refine": _("Search again"), "web_search": _("Search the web"),
    "compress": _("Shorten"), "order": _("Order"), "clarify": _("Ask back"), "generate": _("Write"),
    "verify": _("Check the answer"), "reflect": _("Reflect"), "consolidate": _("Remember"),
}  # fmt: skip
STATES: dict[str, str | Promise] = {
    "ok": _("ok"), "skipped": _("skipped"), "degraded": _("degraded"), "failed": _("failed"),
}  # fmt: skip


DECISIONS: dict[str, str | Promise] = {
    "ANSWER": _("Answered"), "CLARIFY": _("Asked back"), "NO_ANSWER": _("No answer found"),
}  # fmt: skip
STATUSES: dict[str, str | Promise] = {  # of an answer
    "streaming": _("streaming"), "complete": _("complete"), "cut": _("cut"), "stopped": _("stopped"),
    "interrupted": _("interrupted"), "failed": _("failed"),
}  # fmt: skip


def decision_label(name: str) -> str:
    return str(DECISIONS.get(name, name))


def answer_status(name: str) -> str:
    return str(STATUSES.get(name, name))


def step_label(name: str) -> str:
    return str(STEPS.get(name, name.replace("_", " ")))


def step_status(name: str) -> str:
    return str(STATES.get(name, name))


FILTERS: dict[str, str | Promise] = {  # of a question's search
    "department": _("Department"), "doc_type": _("Type"), "policy_year": _("Year"), "tags": _("Tags"),
}  # fmt: skip


def filter_words(name: str, value: object) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return f"{FILTERS.get(name, name)}: {shown}"


WORKFLOWS: dict[str, str | Promise] = {  # as the chat's own menu calls them
    "corrective": _("Corrective"), "self_corrective": _("Self-corrective"), "dual_loop": _("Dual loop"),
    "planned": _("Planned"), "react": _("ReAct"),
}  # fmt: skip


def workflow_label(name: str) -> str:
    return str(WORKFLOWS.get(name, name.replace("_", " ")))


REASONS: dict[str, str | Promise] = {  # why an answer is to be looked at
    "badly_rated": _("Badly rated"), "flagged": _("Flagged by a user"), "cut": _("Cut or broken off"),
    "no_answer": _("No answer found"), "weak": _("Weakly grounded"), "degraded": _("Fallback used"), "slow": _("Slow"),
}  # fmt: skip
