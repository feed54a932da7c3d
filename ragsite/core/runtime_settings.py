"""The settings that superusers change while the site runs: keys of django-constance, named as their variables.

What is read at the start or builds the index is not among them. Those of the model server have a page of their own
(`ragsite.operations.model_server`), as they are tried before they count, and one of them is secret.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, get_args

from pydantic.fields import FieldInfo

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.settings_group import LIVE, MODEL_SERVER


def changeable_fields(mark: str = LIVE) -> dict[str, tuple[str, str, FieldInfo]]:
    """Variable → group, name of the field, field; in the order of the page. mark: LIVE or MODEL_SERVER."""
    return {
        GROUPS[group].variables()[name]: (group, name, field)
        for group in GROUPS
        for name, field in GROUPS[group].model_fields.items()
        if mark in field.metadata
    }


def constance_settings(
    rag: RagSettings,
) -> tuple[dict[str, tuple[Any, ...]], dict[str, tuple[str, dict[str, Any]]]]:
    """`CONSTANCE_CONFIG`, the operator's values and what each does; `CONSTANCE_ADDITIONAL_FIELDS`, of choices."""
    config = {}
    choices = {}
    for variable, (group, name, field) in changeable_fields().items():
        values = get_args(field.annotation)
        config[variable] = (
            getattr(getattr(rag, group), name),
            meaning_of(field),
            *([variable] if values else []),
        )
        if values:
            choices[variable] = (
                "django.forms.ChoiceField",
                {"choices": [(value, value) for value in values]},
            )
    return config, choices


def meaning_of(field: FieldInfo) -> str:
    """Its docstring on one line, English: the key of its translation."""
    return " ".join((field.description or "").split())


def with_values(rag: RagSettings, values: Mapping[str, Any]) -> RagSettings:
    """`rag` with these values by variable, which are checked together. Raises pydantic.ValidationError."""
    known = changeable_fields(LIVE) | changeable_fields(MODEL_SERVER)
    changes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for variable, value in values.items():
        group, name, _ = known[variable]
        changes[group][name] = value
    groups = {group: getattr(rag, group).replace(**changed) for group, changed in changes.items()}
    return rag.replace(**groups)
