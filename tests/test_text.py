"""`ragsite.core.text`: what becomes of odd characters."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

from ragsite.core import text


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a\0b", "ab"), ("a\ud800b", "a?b"), ("深圳 é 😀\n\t", "深圳 é 😀\n\t"), ("", "")],
)
def test_text_for_the_database_has_no_nul_and_no_lone_surrogate(given: str, kept: str) -> None:
    assert text.clean_text(given) == kept
    assert sqlite3.connect(":memory:").execute("SELECT ?", [text.clean_text(given)]).fetchone() == (
        kept,
    )


def test_a_json_value_is_cleaned_all_the_way_down() -> None:
    value = {"a\0": [float("nan"), np.float32(0.5), {"b": ("\ud800", None, True, 3)}], "set": {1}}
    clean = text.clean_json(value)
    assert clean == {"a": [None, 0.5, {"b": ["?", None, True, 3]}], "set": [1]}
    assert json.loads(json.dumps(clean, allow_nan=False)) == clean


@pytest.mark.parametrize("code", [0x07, 0x7F, 0x85, 0xAD, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xE0041])
def test_characters_that_are_not_seen_are_taken_out(code: int) -> None:
    assert text.replace_hidden(f"a{chr(code)}b") == "ab"
    assert text.replace_hidden(f"a{chr(code)}b", by=" ") == "a b"
