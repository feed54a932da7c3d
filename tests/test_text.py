"""`ragsite.core.text`: what becomes of odd characters."""

from __future__ import annotations

import json
import re
import sqlite3

import numpy as np
import pytest

from ragsite.core import text


@pytest.mark.parametrize(
    ("given", "kept"), [("a\0b", "ab"), ("a\ud800b", "a?b"), ("深圳 é 😀\n\t", "深圳 é 😀\n\t"), ("", "")]
)
def test_text_for_the_database_has_no_nul_and_no_lone_surrogate(given: str, kept: str) -> None:
    assert text.clean_text(given) == kept
    assert sqlite3.connect(":memory:").execute("SELECT ?", [text.clean_text(given)]).fetchone() == (kept,)


def test_a_nul_may_leave_a_mark_so_that_two_names_stay_two() -> None:
    assert text.clean_text("po\0licies", nul="\ufffd") == "po\ufffdlicies"


def test_a_json_value_is_cleaned_all_the_way_down() -> None:
    value = {"a\0": [float("nan"), np.float32(0.5), {"b": ("\ud800", None, True, 3)}], "set": {1}}
    clean = text.clean_json(value)
    assert clean == {"a": [None, 0.5, {"b": ["?", None, True, 3]}], "set": [1]}
    assert json.loads(json.dumps(clean, allow_nan=False)) == clean


def test_a_line_has_single_spaces() -> None:
    assert text.clean_line(" a\0\n\tb \u3000c\r\n") == "a b c"
    assert text.clean_line("\u200b \u3164\u2060") == ""
    assert text.clean_line("می\u200cخواهم") == "می\u200cخواهم"
    assert text.clean_line("\u202ea\u202c \u2066b\x1b\u2069\x85c \u05d0\u200f") == "a b c \u05d0\u200f"


@pytest.mark.parametrize("code", [0x07, 0x7F, 0x85, 0xAD, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xE0041])
def test_characters_that_are_not_seen_are_taken_out(code: int) -> None:
    assert text.without_hidden(f"a{chr(code)}b") == "ab"
    assert text.without_hidden(f"a{chr(code)}b", by=" ") == "a b"


def test_tabs_and_line_feeds_are_seen() -> None:
    assert text.without_hidden("a\tb\nc") == "a\tb\nc"


def test_the_class_of_control_characters_has_the_two_of_a_layout_left_out() -> None:
    controls = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
    assert set(re.findall(f"[{text.CONTROL}]", "".join(map(chr, range(0x100))))) == controls - {"\t", "\n"}


def test_all_line_ends_become_one_kind() -> None:
    assert text.unix_lines("a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize(("most", "kept"), [(9, "long text"), (6, "long…"), (1, "…")])
def test_a_text_is_cut_with_a_mark(most: int, kept: str) -> None:
    assert text.shortened("long text", most) == kept
