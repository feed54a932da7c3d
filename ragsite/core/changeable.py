"""The settings that superusers change while the site runs: keys of django-constance, named as their variables.

What is read at the start, leads a call elsewhere or builds the index is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from ragsite.core.rag_settings import GROUPS, RagSettings

CHANGEABLE = (  # group.field, in the order of the page
    "answer.workflow",
    "ollama.chat_model",
    "ollama.fast_model",
    "search.top_k",
    "web_search.by_default",
    "memory.enabled",
    "feedback.auto_live",
    "limits.questions_per_minute",
    "retention.conversations_days",
    "retention.archived_days",
    "retention.paths_days",
    "retention.desk_log_days",
    "retention.evidence_days",
)


def changeable_fields() -> dict[str, tuple[str, str, FieldInfo]]:
    """Variable → group, name of the field, field."""
    found = {}
    for name in CHANGEABLE:
        group, _, field = name.partition(".")
        found[GROUPS[group].variables()[field]] = (group, field, GROUPS[group].model_fields[field])
    return found


def constance_config(rag: RagSettings) -> dict[str, tuple[Any, ...]]:
    """`CONSTANCE_CONFIG`: the operator's value, what the setting does, and of choices the name of their field."""
    return {
        variable: (getattr(getattr(rag, group), name), meaning_of(field), *([variable] if _choices(field) else []))
        for variable, (group, name, field) in changeable_fields().items()
    }


def constance_fields() -> dict[str, tuple[str, dict[str, Any]]]:
    """`CONSTANCE_ADDITIONAL_FIELDS`: of settings that are a choice."""
    return {
        variable: ("django.forms.ChoiceField", {"choices": [(choice, choice) for choice in _choices(field)]})
        for variable, (_, _, field) in changeable_fields().items()
        if _choices(field)
    }


def meaning_of(field: FieldInfo) -> str:
    """Its docstring on one line, English: the key of its translation."""
    return " ".join((field.description or "").split())


def with_values(rag: RagSettings, values: Mapping[str, Any]) -> RagSettings:
    """`rag` with these values by variable. Raises pydantic.ValidationError."""
    for variable, (group, name, _) in changeable_fields().items():
        if variable in values:
            rag = rag.replace(**{group: getattr(rag, group).replace(**{name: values[variable]})})
    return rag


def _choices(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) if get_origin(field.annotation) is not None else ()
