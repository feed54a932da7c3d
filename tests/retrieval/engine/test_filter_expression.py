"""No text can change a filter expression: properties, and hostile values against a real Milvus Lite."""

from __future__ import annotations

import re
import string
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import example, given
from hypothesis import strategies as st

from ragsite.core.server_settings import MilvusSettings
from retrieval.engine.search.milvus.filters import (
    MAX_ENCODED_CHARS,
    encode_value,
    identifier,
    in_collections,
)
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.milvus.writing import only_writer
from retrieval.engine.values import SearchFilters, Vocabulary
from tests.milvus import COLLECTION, SPACE, ids, row, unit_vector


@pytest_asyncio.fixture
async def index(
    milvus_settings: MilvusSettings, uri_of_each_kind: str
) -> AsyncIterator[MilvusIndex]:
    """Tests that take it run on every kind of Milvus."""
    index = MilvusIndex(
        milvus_settings.replace(uri=uri_of_each_kind), uri=uri_of_each_kind, writer_lock=only_writer
    )
    yield index
    await index.close()


HOSTILE = [
    'a" or 1 == 1 or "a" == "a',
    "' or '1'='1",
    '"] or collection_id != "',
    "back\\slash",
    'quote\\"escaped',
    "two\nlines",
    "tab\tand\rreturn\x00zero",
    "100%",
    "%22",
    "a_c",
    "图书馆",
    "圖書館",
    "\u202eright to left",
    "e\u0301",
    "é",
    "\ud800",
    "😀",
    "a" * 600,
    "a" * 599 + "b",
    "Library",
    "library",
    " Library",
    "$meta",
    "{tag}",
]


@given(
    st.text(alphabet=st.characters(), max_size=700), st.text(alphabet=st.characters(), max_size=700)
)
@example("%22", '"')
@example("a" * 700, "a" * 699 + "b")
def test_encoding_is_harmless_and_one_to_one(one: str, other: str) -> None:
    assert set(encode_value(one)) <= set(string.ascii_letters + string.digits + " %-._~")
    assert len(encode_value(one)) <= MAX_ENCODED_CHARS
    assert (encode_value(one) == encode_value(other)) == (one == other)


@given(
    st.text(alphabet=st.characters(), min_size=1, max_size=200),
    st.lists(st.text(max_size=50), max_size=4),
)
def test_an_expression_always_has_the_same_form(value: str, tags: list[str]) -> None:
    filters = SearchFilters(department=value, doc_type=value, policy_year=2025, tags=tuple(tags))
    without_values = re.sub(r'"[^"]*"', "V", in_collections([COLLECTION], filters))
    expected = "collection_id in [V] and department == V and doc_type == V and policy_year == 2025"
    if tags:
        expected += f" and array_contains_any(tags, [{', '.join('V' * len(tags))}])"
    assert without_values == expected


@pytest.mark.parametrize("value", ['x" or "', "", "a b", "a\n", "ü", "x" * 101])
def test_what_is_not_an_identifier_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="not an identifier"):
        identifier(value)


def test_an_expression_without_collections_can_not_be_made() -> None:
    with pytest.raises(ValueError, match="without collections"):
        in_collections([])


async def test_hostile_values_match_exactly_the_rows_that_hold_them(index: MilvusIndex) -> None:
    rows = [
        row("x", 1, department=value, doc_type=value, policy_year=year, tags=(value, "common"))
        for year, value in enumerate(HOSTILE)
    ]
    await index.upsert(SPACE, rows)
    for year, (stored, value) in enumerate(zip(rows, HOSTILE, strict=True)):
        for filters in (
            SearchFilters(department=value), SearchFilters(doc_type=value), SearchFilters(policy_year=year),
            SearchFilters(tags=(value, "of no row")),
            SearchFilters(preferred=Vocabulary(departments=(value, "of no row"), policy_years=(year,))),
            SearchFilters(preferred=Vocabulary(doc_types=(value,), tags=(value,))),
        ):  # fmt: skip
            assert await matching(index, filters) == {stored.chunk_id}
    assert len(await matching(index, SearchFilters(tags=("common",)))) == len(HOSTILE)


async def test_filters_do_not_apply_to_spared_collections(index: MilvusIndex) -> None:
    other = "22222222-2222-2222-2222-222222222222"
    inside, outside = row("a", 1, department="HR"), row("b", 1, department="Finance")
    attached = replace(row("c", 1), collection_id=other)
    await index.upsert(SPACE, [inside, outside, attached])
    filters = SearchFilters(department="HR", spared=frozenset([other]))
    assert await matching(index, filters) == {inside.chunk_id}
    assert await matching(index, filters, COLLECTION, other) == {inside.chunk_id, attached.chunk_id}
    assert await matching(index, filters, other) == {attached.chunk_id}
    assert await matching(index, SearchFilters(department="HR"), COLLECTION, other) == {
        inside.chunk_id
    }


async def matching(index: MilvusIndex, filters: SearchFilters, *collections: str) -> set[str]:
    """Of the collections named, or of COLLECTION."""
    vectors = np.stack([unit_vector(1)])
    found = await index.search_dense(
        SPACE, vectors, collection_ids=collections or [COLLECTION], filters=filters, limit=100
    )
    return set(ids(found[0]))
