"""Values that every database takes as text and JSON: no NUL, no lone surrogate, no NaN, no foreign type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def clean_text(text: str) -> str:
    """Without NUL characters; half a surrogate pair becomes a question mark."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def clean_json(value: Any) -> Any:
    """The value as plain JSON: NaN and infinities become None, unknown objects their text."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return clean_text(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [clean_json(item) for item in value]
        case _ if hasattr(value, "item") and callable(value.item):  # numpy's scalars
            return clean_json(value.item())
        case _:
            return clean_text(str(value))
