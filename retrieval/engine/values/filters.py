"""Filters of a search, strict and preferred."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Metadata values: those that the documents in a scope hold, or some of them that are preferred. Values of one
    field are alternatives."""

    departments: tuple[str, ...] = ()
    doc_types: tuple[str, ...] = ()
    policy_years: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the filters that have a value here, as `SearchFilters` calls them."""
        return tuple(self.as_dict())

    def as_dict(self) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {
            "department": list(self.departments),
            "doc_type": list(self.doc_types),
            "policy_year": list(self.policy_years),
            "tags": list(self.tags),
        }
        return {name: field for name, field in values.items() if field}

    def without(self, fields: Iterable[str]) -> Vocabulary:
        """Without the values of these fields."""
        left: dict[str, Any] = {VOCABULARY_FIELDS[name]: () for name in fields}
        return replace(self, **left)

    def beside(self, other: Vocabulary) -> Vocabulary:
        """And of the other those fields that have no value here."""
        added = other.without(self.fields)
        return Vocabulary(
            departments=self.departments or added.departments,
            doc_types=self.doc_types or added.doc_types,
            policy_years=self.policy_years or added.policy_years,
            tags=self.tags or added.tags,
        )


VOCABULARY_FIELDS = {
    "department": "departments",
    "doc_type": "doc_types",
    "policy_year": "policy_years",
    "tags": "tags",
}
FiltersMode = Literal["strict", "prefer"]
FILTERS_MODES: tuple[FiltersMode, ...] = ("strict", "prefer")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Metadata filters; an unset one is None or empty. Tags: any of them is enough.

    preferred: what is named here, by any field, comes first (`retrieval.engine.search.preferring`); the others are
    strict.
    spared: ids of collections that they do not apply to: what is attached to the conversation is searched all the same.
    documents: ids; nothing outside these, if any are named.
    """

    department: str | None = None
    doc_type: str | None = None
    policy_year: int | None = None
    tags: tuple[str, ...] = ()
    preferred: Vocabulary = Vocabulary()
    spared: frozenset[str] = frozenset()
    documents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.as_dict() or self.preferred or self.documents)

    def as_dict(self) -> dict[str, Any]:
        """The strict ones."""
        values = {
            "department": self.department,
            "doc_type": self.doc_type,
            "policy_year": self.policy_year,
            "tags": list(self.tags) or None,
        }
        return {key: value for key, value in values.items() if value is not None}

    def in_mode(self, mode: FiltersMode) -> SearchFilters:
        """strict: as they are; prefer: what they name comes first, and nothing is left out."""
        if mode == "strict":
            return self
        preferred = Vocabulary(
            departments=(self.department,) if self.department else (),
            doc_types=(self.doc_type,) if self.doc_type else (),
            policy_years=() if self.policy_year is None else (self.policy_year,),
            tags=self.tags,
        )
        return SearchFilters(preferred=preferred, spared=self.spared, documents=self.documents)

    def preferring(self, preferred: Vocabulary) -> SearchFilters:
        """And these come first, where neither a strict filter nor a preference says something of their field."""
        added = preferred.without(self.as_dict())
        return replace(self, preferred=self.preferred.beside(added))
