"""Keys of many rows, packed."""

from __future__ import annotations

from uuid import UUID

import pytest

from feedback.rounds.bulk_rows import key_of, packed, unpacked

KEYS = [UUID(int=number << 120 | 1) for number in (9, 0, 5, 200)]


def test_packed_keys_come_back_as_the_database_has_them_each_once_in_their_order() -> None:
    keys = [key_of(key) for key in KEYS]
    assert unpacked(packed([*keys, keys[2], keys[0]])) == keys


def test_a_packed_key_takes_32_bytes() -> None:
    assert packed(map(key_of, KEYS)).nbytes == 32 * len(KEYS)


@pytest.mark.parametrize("part", [slice(0, 2), slice(2, 9), slice(4, 8)])
def test_a_part_of_packed_keys_is_that_part_of_the_keys(part: slice) -> None:
    keys = [key_of(key) for key in KEYS]
    assert unpacked(packed(keys)[part]) == keys[part]


def test_nothing_packed_is_nothing() -> None:
    assert unpacked(packed([])) == []
