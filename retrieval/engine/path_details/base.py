"""What the details of every step are: a field that is None was not said, and stands in no JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

StepName = Literal[
    "assistant",
    "memory",
    "condense",
    "route",
    "plan",
    "rewrite",
    "step_back",
    "decompose",
    "hyde",
    "retrieve",
    "boost",
    "dedupe",
    "rerank",
    "assess",
    "grade",
    "refine",
    "web_search",
    "count",
    "compress",
    "order",
    "clarify",
    "generate",
    "verify",
    "reflect",
    "consolidate",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDetails:
    """Of any step. waited_for_index_s: while the index was being restarted."""

    step: ClassVar[StepName]
    waited_for_index_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in self.said()}

    def said(self) -> list[tuple[str, Any]]:
        """(name, value) of each field that has one."""
        pairs = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in pairs if value is not None]


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(held) for held in value]
    return value
