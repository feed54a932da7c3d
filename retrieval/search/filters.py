"""Milvus filter expressions that no user text can change.

Metadata values are percent-encoded on their way into the index and into an expression: what reaches Milvus consists
of ASCII letters, digits, spaces and `%-._~`, so there is no quote, backslash or line break to escape, and the same
expression means the same to every backend. (Filter templates would do it on a server; Milvus Lite has none.)
Identifiers are ours and are refused if they are anything but letters, digits and `-_.:`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import quote

from retrieval.values import SUMMARY_SEQ, Level, SearchFilters

MAX_ENCODED_CHARS = 480
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")


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


def in_collections(collection_ids: Sequence[str], filters: SearchFilters | None = None) -> str:
    """The permission clause and, with it, the metadata filters. Raises ValueError without any collection."""
    if not collection_ids:
        raise ValueError("a search without collections must not reach the index")
    if not filters:
        return any_of("collection_id", collection_ids)
    if filters.documents:
        named = any_of("document_id", filters.documents)
        return f"{in_collections(collection_ids, replace(filters, documents=()))} and {named}"
    spared = [key for key in collection_ids if key in filters.spared]
    filtered = [key for key in collection_ids if key not in filters.spared]
    if not filtered:
        return any_of("collection_id", spared)
    clause = " and ".join([any_of("collection_id", filtered), *_metadata_clauses(filters)])
    return f"(({clause}) or {any_of('collection_id', spared)})" if spared else clause


def rows_of(level: Level) -> str:
    """Which rows: chunks, or what stands for whole documents (summaries and first chunks)."""
    return f"seq > {SUMMARY_SEQ}" if level == "chunks" else "seq <= 0"


def any_of(field: str, identifiers: Iterable[str]) -> str:
    return f"{field} in [{', '.join(map(identifier, identifiers))}]"


def _metadata_clauses(filters: SearchFilters) -> Iterable[str]:
    if filters.department:
        yield f'department == "{encode_value(filters.department)}"'
    if filters.doc_type:
        yield f'doc_type == "{encode_value(filters.doc_type)}"'
    if filters.policy_year is not None:
        yield f"policy_year == {int(filters.policy_year)}"
    if filters.tags:
        tags = ", ".join(f'"{encode_value(tag)}"' for tag in filters.tags)
        yield f"array_contains_any(tags, [{tags}])"
