"""What reviewers call steps and their states, in their language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

STEPS: dict[str, str | Promise] = {
    "memory": _("memory"), "condense": _("condense"), "route": _("route"), "plan": _("plan"),
    "rewrite": _("rewrite"), "step_back": _("step back"), "decompose": _("decompose"), "hyde": _("hyde"),
    "retrieve": _("retrieve"), "fuse": _("fuse"), "boost": _("boost"), "dedupe": _("dedupe"), "rerank": _("rerank"),
    "assess": _("assess"), "grade": _("grade"), "refine": _("refine"), "web_search": _("web search"),
    "compress": _("compress"), "order": _("order"), "clarify": _("clarify"), "generate": _("generate"),
    "verify": _("verify"), "reflect": _("reflect"), "consolidate": _("consolidate"),
}  # fmt: skip
STATES: dict[str, str | Promise] = {
    "ok": _("ok"), "skipped": _("skipped"), "degraded": _("degraded"), "failed": _("failed"),
}  # fmt: skip


DECISIONS: dict[str, str | Promise] = {
    "ANSWER": _("ANSWER"), "CLARIFY": _("CLARIFY"), "NO_ANSWER": _("NO_ANSWER"),
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
LANGUAGES: dict[str, str | Promise] = {
    "en": _("English"), "zh-hans": _("Simplified Chinese"), "zh-hant": _("Traditional Chinese"), "de": _("German"),
    "fr": _("French"), "es": _("Spanish"), "it": _("Italian"), "pt": _("Portuguese"), "nl": _("Dutch"),
    "sv": _("Swedish"), "ru": _("Russian"), "ja": _("Japanese"), "ko": _("Korean"), "ar": _("Arabic"),
    "und": _("Not known"),
}  # fmt: skip


def language_label(code: str) -> str:
    return str(LANGUAGES.get(code, code))
