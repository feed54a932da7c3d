"""What is wrong, as a sentence on a page of the desk."""

from __future__ import annotations

from typing import Any

from ragsite.core.errors import AppError
from ragsite.core.localized import localized


def problem_sentence(error: AppError) -> str:
    """Of its fields, else its own, in the active language."""
    fields: list[Any] = [items if isinstance(items, list) else [items] for items in error.fields.values()]
    told = [one for items in fields for one in items]
    return " ".join(str(localized(one)) for one in told) or str(localized(error.message))
