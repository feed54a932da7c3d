"""Why: a code with its values. Its sentence is made where people read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragsite.core.errors import AppError
from retrieval.engine.errors import ModelError, WebSearchError
from retrieval.engine.path_texts import TEXTS, path_text


@dataclass(frozen=True, slots=True)
class Reason:
    """code: one of the path's texts, with the values that its sentence names; or the kind of an error, and what that
    says is the value `error`."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        if self.code in TEXTS:
            return path_text(self.code, self.values)
        said: str = self.values["error"]
        return said


Why = Reason | str  # a plain string is a code without values


def as_reason(why: Why) -> Reason:
    return why if isinstance(why, Reason) else Reason(why)


def reason_of(error: Exception, *, late: Why = "late") -> Reason:
    """Of an error that a step falls back for. late: of a time limit that has passed.

    Some errors are raised with a code of the path's texts, which then is the reason.
    """
    if isinstance(error, ModelError | WebSearchError):
        return (
            Reason(error.reason)
            if error.reason in TEXTS
            else Reason(error.code, {"error": error.reason})
        )
    if isinstance(error, AppError):
        return Reason(error.code, {"error": error.message})
    if isinstance(error, TimeoutError):
        return as_reason(late)
    return Reason("failed", {"error": f"{type(error).__name__}: {error}"[:300]})
