"""Filter expressions: whose rows a search may see, and which of them it wants.

No user text can change an expression. Metadata values are percent-encoded on their way into the index and into an
expression: what reaches Milvus consists of ASCII letters, digits, spaces and `%-._~`, so there is no quote, backslash
or line break to escape, and the same expression means the same to every backend. Identifiers are ours and are refused
if they are anything but letters, digits and `-_.:`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from urllib.parse import quote

from retrieval.engine.values import SUMMARY_SEQ, Level, SearchFilters, Vocabulary

MAX_ENCODED_CHARS = 480
LONG_LIST = (
    1_000  # identifiers; more go beside the expression where the backend can read them there
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")
ListForm = Callable[[Sequence[str]], str]  # how identifiers stand in an expression


def encode_value(value: str) -> str:
    """One-to-one for values of a usual length; longer ones by their beginning and their SHA-256."""
    encoded = quote(value, safe=" ", errors="surrogatepass")
    if len(encoded) <= MAX_ENCODED_CHARS:
        return encoded
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{encoded[:100]}~{digest}"


def identifier(value: str) -> str:
    """The identifier as a literal. Raises ValueError for anything that is not one."""
    if not _IDENTIFIER.fullmatch(value):
        raise ValueError(f"not an identifier: {value[:50]!r}")
    return f'"{value}"'


def spelled_out(identifiers: Sequence[str]) -> str:
    """All of them, as every backend reads them. Raises ValueError for what is no identifier."""
    return f"[{', '.join(map(identifier, identifiers))}]"


class Templates:
    """A `ListForm` for servers: long lists go beside the expression, so that it stays short to parse, and its plan is
    found again. `values` is what to send as `filter_params`."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}

    def __call__(self, identifiers: Sequence[str]) -> str:
        if len(identifiers) <= LONG_LIST:
            return spelled_out(identifiers)
        name = f"list_{len(self.values)}"
        self.values[name] = list(identifiers)
        return f"{{{name}}}"


def in_collections(
    collection_ids: Sequence[str],
    filters: SearchFilters | None = None,
    listed: ListForm = spelled_out,
) -> str:
    """The permission clause and, with it, the metadata filters. Raises ValueError without any collection."""
    if not collection_ids:
        raise ValueError("a search without collections must not reach the index")
    if not filters:
        return any_of("collection_id", collection_ids, listed)
    if filters.documents:
        named = any_of("document_id", filters.documents, listed)
        return (
            f"{in_collections(collection_ids, replace(filters, documents=()), listed)} and {named}"
        )
    spared = [key for key in collection_ids if key in filters.spared]
    filtered = [key for key in collection_ids if key not in filters.spared]
    if not filtered:
        return any_of("collection_id", spared, listed)
    clause = " and ".join([any_of("collection_id", filtered, listed), *_metadata_clauses(filters)])
    return f"(({clause}) or {any_of('collection_id', spared, listed)})" if spared else clause


def rows_of(level: Level) -> str:
    """Which rows: chunks, or what stands for whole documents (summaries and first chunks)."""
    return f"seq > {SUMMARY_SEQ}" if level == "chunks" else "seq <= 0"


def any_of(field: str, identifiers: Sequence[str], listed: ListForm = spelled_out) -> str:
    return f"{field} in {listed(identifiers)}"


def _metadata_clauses(filters: SearchFilters) -> Iterable[str]:
    if filters.department:
        yield f'department == "{encode_value(filters.department)}"'
    if filters.doc_type:
        yield f'doc_type == "{encode_value(filters.doc_type)}"'
    if filters.policy_year is not None:
        yield f"policy_year == {int(filters.policy_year)}"
    if filters.tags:
        yield f"array_contains_any(tags, [{_encoded(filters.tags)}])"
    if filters.preferred:
        yield f"({' or '.join(_preferring_clauses(filters.preferred))})"


def _preferring_clauses(preferred: Vocabulary) -> Iterable[str]:
    """What any field names."""
    for field, values in (("department", preferred.departments), ("doc_type", preferred.doc_types)):
        if values:
            yield f"{field} in [{_encoded(values)}]"
    if preferred.policy_years:
        yield f"policy_year in [{', '.join(str(int(year)) for year in preferred.policy_years)}]"
    if preferred.tags:
        yield f"array_contains_any(tags, [{_encoded(preferred.tags)}])"


def _encoded(values: Iterable[str]) -> str:
    return ", ".join(f'"{encode_value(value)}"' for value in values)
