"""Settings as JSON and for pages: what each is now, where that comes from, and how two revisions differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import reverse

from chat.review.labels import workflow_label
from chat.review.replay.replay_data import batch_data
from chat.review.replay.replays import batch_get
from chat.review.roles import DeskAccess
from chat.review.settings.revisions import (
    Changes,
    Try,
    changes_of,
    draft_find,
    is_outdated,
    prompts_locked,
    size_of,
    value_of,
)
from ragsite.core.localized import localized
from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.rag_settings.changes import Problems
from ragsite.core.rag_settings.offered import (
    OFFERED,
    SECTIONS,
    bounds_of,
    choices_of,
    field_of,
    kept_by_operator,
    kind_of,
    meaning_of,
    variable_of,
)
from ragsite.core.wording import worded
from ragsite.models import SettingRevision
from ragsite.runtime.live_settings import live_revision, locked_settings, operator_settings, resolve
from retrieval.prompting import about_prompt, built_in_prompts, built_in_text, prompt_faults

PROMPT_LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class View:
    """What a person at the desk sees of settings: read once for an answer."""

    live: SettingRevision | None
    draft: SettingRevision | None

    @cached_property
    def operators(self) -> RagSettings:
        return operator_settings()

    @cached_property
    def live_changes(self) -> Changes:
        return changes_of(self.live)

    @cached_property
    def draft_changes(self) -> Changes:
        return changes_of(self.draft) if self.draft else self.live_changes

    @cached_property
    def live_rag(self) -> RagSettings:
        return resolve(self.live_changes).rag

    @cached_property
    def draft_rag(self) -> RagSettings:
        return resolve(self.draft_changes).rag

    @cached_property
    def locked(self) -> dict[str, str]:
        return locked_settings()

    @property
    def live_problems(self) -> Problems:
        """Stored values that this version, or this environment, can't use."""
        return resolve(self.live_changes).problems | _prompt_problems(self.live_changes)


CHOICES = {  # of settings, by setting and value
    ("search.formula", "zscore"): worded("Standardised scores, added"),
    ("search.formula", "seed"): worded("Vector and BM25 scores, weighted"),
    ("rerank.evaluator", "overall"): worded("All passages in one reply"),
    ("rerank.evaluator", "best_passage"): worded("The likeliest passage, by the probability of a yes"),
    ("rerank.evaluator", "eight_criteria"): worded("Eight criteria"),
}  # fmt: skip


def view_of(access: DeskAccess) -> View:
    return View(live=live_revision(), draft=draft_find(access))


def _prompt_problems(changes: Changes) -> Problems:
    texts = changes["prompts"].items()
    return {name: faults[0] for name, text in texts if (faults := prompt_faults(name, text))}


# ------------------------------------------------------------------------------------------------ one setting
def choice_label(name: str, value: str) -> str:
    """What people call a choice of a setting."""
    if name == "answer.workflow":
        return workflow_label(value)
    return str(localized(CHOICES.get((name, value), value)))


def setting_data(view: View, name: str) -> dict[str, Any]:
    """`default`: where no revision sets it. `origin`: of what is live: default, environment or revision."""
    live, drafted, default = (value_of(rag, name) for rag in (view.live_rag, view.draft_rag, view.operators))
    is_locked = name in view.locked
    origin = "environment" if is_locked else "revision" if live != default else "default"
    unavailable = name == "web_search.by_default" and not view.operators.web_search.provider
    return {
        "name": name,
        "label": localized(OFFERED[name].label),
        "meaning": localized(worded(meaning_of(name))).replace("`", ""),
        "variable": variable_of(name),
        "kind": kind_of(name),
        "choices": list(choices_of(name)) if kind_of(name) == "choice" else [],
        "bounds": bounds_of(name) if kind_of(name) in ("whole", "number") else {},
        "value": live,
        "draft": drafted if view.draft else None,
        "default": default,
        "origin": origin,
        "revision": view.live.number if origin == "revision" and view.live else None,
        "locked": is_locked or unavailable,
        "changed": drafted != live,
    }


def sections_data(view: View) -> list[dict[str, Any]]:
    return [
        {
            "name": section.name,
            "title": localized(section.title),
            "settings": [setting_data(view, name) for name in section.settings],
        }
        for section in SECTIONS
    ]


def operator_data(view: View) -> list[dict[str, Any]]:
    """The settings that are not offered. value: null where it may hold a secret or an address."""
    rows = []
    for name, reason in kept_by_operator():
        group, _, field = name.partition(".")
        shown = value_of(view.operators, name) if field_of(name).repr else None
        rows.append({"variable": GROUPS[group].variables()[field], "value": shown, "reason": localized(reason)})
    return rows


# ------------------------------------------------------------------------------------------------ prompts
def prompt_names() -> list[str]:
    """Without languages."""
    return list(dict.fromkeys(stem.partition(".")[0] for stem in built_in_prompts()))


def prompt_rows(view: View) -> list[dict[str, Any]]:
    """Each name once, with what it is for as its English file says."""
    locked = prompts_locked()
    rows = []
    for name in prompt_names():
        stems = [f"{name}.{language}" for language in PROMPT_LANGUAGES]
        live, drafted = (
            [side["prompts"].get(stem) for stem in stems] for side in (view.live_changes, view.draft_changes)
        )
        rows.append(
            {
                "name": name,
                "about": localized(worded(about_prompt(built_in_text(stems[0])))),
                "locked": any(stem in locked for stem in stems),
                "replaced": any(text is not None for text in live),
                "changed": drafted != live,
            }
        )
    return rows


def prompt_data(view: View, stem: str) -> dict[str, Any]:
    """One file. live, draft: null where the shipped text stands."""
    shipped = built_in_text(stem)
    return {
        "name": stem,
        "shipped": shipped,
        "live": view.live_changes["prompts"].get(stem),
        "draft": view.draft_changes["prompts"].get(stem),
        "locked": stem in prompts_locked(),
    }


# ------------------------------------------------------------------------------------------------ revisions
def revision_data(revision: SettingRevision) -> dict[str, Any]:
    changes = changes_of(revision)
    return {
        "number": revision.number,
        "state": revision.state,
        "values": changes["values"],
        "prompts": sorted(changes["prompts"]),
        "changes": size_of(changes),
        "restores": revision.restores,
        "note": revision.note,
        "by": revision.made_by.get_username() if revision.made_by else None,
        "created_at": revision.created_at.isoformat(),
        "live_at": revision.live_at.isoformat() if revision.live_at else None,
        "ended_at": revision.ended_at.isoformat() if revision.ended_at else None,
    }


def draft_data(view: View) -> dict[str, Any] | None:
    """outdated: another revision has gone live since it was begun. differences: to what is live."""
    draft = view.draft
    if draft is None:
        return None
    return {
        "base": draft.base.number if draft.base else None,
        "outdated": is_outdated(draft),
        "differences": differences(view.live_changes, view.draft_changes, view.operators),
        "prompts": sorted(view.draft_changes["prompts"]),
        "changed_at": draft.changed_at.isoformat(),
    }


def differences(old: Changes, new: Changes, operators: RagSettings) -> list[dict[str, Any]]:
    """What is otherwise in `new`, in the order of the page. Of a prompt: whether it is ours, not its text."""
    rows = []
    for name in [*OFFERED, *sorted({*old["values"], *new["values"]} - set(OFFERED))]:
        default = value_of(operators, name) if name in OFFERED else None
        before, after = (side["values"].get(name, default) for side in (old, new))
        if before != after:
            label = localized(OFFERED[name].label) if name in OFFERED else name
            rows.append({"name": name, "label": label, "prompt": False, "before": before, "after": after})
    for stem in sorted({*old["prompts"], *new["prompts"]}):
        before, after = (side["prompts"].get(stem) for side in (old, new))
        if before != after:
            rows.append({"name": stem, "label": stem, "prompt": True, "before": before, "after": after})
    return rows


def said_value(value: Any, name: str = "") -> str:
    """For people: a number without an idle fraction, a flag or a choice in words, an empty text as a dash. name: of the
    setting."""
    if isinstance(value, str) and name in OFFERED and kind_of(name) == "choice":
        return choice_label(name, value)
    if isinstance(value, bool):
        return str(localized(worded("Switched on") if value else worded("Switched off")))
    if value is None or value == "":
        return "–"
    return as_text(value)


def as_text(value: Any) -> str:
    """As a form's field holds it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return "" if value is None else str(value)


def try_data(made: Try) -> dict[str, Any]:
    """As JSON, in the active language."""
    answers = batch_data(batch_get(made.batch.pk))
    return {
        "tried": made.revision.pk,
        "open": answers["ended"] < answers["total"],
        "done": answers["ended"],
        "total": answers["total"],
        "answers": answers["id"],
        "url": reverse("review_settings_try", args=[made.revision.pk]),
    }
