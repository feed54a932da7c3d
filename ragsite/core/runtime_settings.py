"""The settings that superusers change while the site runs: keys of django-constance, named as their variables.

What is read at the start, leads a call elsewhere or builds the index is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic.fields import FieldInfo

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.settings_group import LIVE


def changeable_fields() -> dict[str, tuple[str, str, FieldInfo]]:
    """Variable → group, name of the field, field; in the order of the page."""
    return {
        GROUPS[group].variables()[name]: (group, name, field)
        for group in GROUPS
        for name, field in GROUPS[group].model_fields.items()
        if LIVE in field.metadata
    }


def constance_settings(rag: RagSettings) -> tuple[dict[str, tuple[Any, ...]], dict[str, tuple[str, dict[str, Any]]]]:
    """`CONSTANCE_CONFIG`, the operator's values and what each does; `CONSTANCE_ADDITIONAL_FIELDS`, of choices."""
    config, choices = {}, {}
    for variable, (group, name, field) in changeable_fields().items():
        values = get_args(field.annotation)
        config[variable] = (getattr(getattr(rag, group), name), meaning_of(field), *([variable] if values else []))
        if values:
            choices[variable] = ("django.forms.ChoiceField", {"choices": [(value, value) for value in values]})
    return config, choices


def meaning_of(field: FieldInfo) -> str:
    """Its docstring on one line, English: the key of its translation."""
    return " ".join((field.description or "").split())


def with_values(rag: RagSettings, values: Mapping[str, Any]) -> RagSettings:
    """`rag` with these values by variable. Raises pydantic.ValidationError."""
    for variable, value in values.items():
        group, name, _ = changeable_fields()[variable]
        rag = rag.replace(**{group: getattr(rag, group).replace(**{name: value})})
    return rag
