"""No text that people, documents or models send makes a pattern of ours take more than the time of its length.

`re` holds the interpreter while it works: a pattern that takes exponential or quadratic time stops the whole process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from chat.review.export import name_pattern as masked_name
from retrieval.text.language import either_script
from tests.patterns.collect import SEARCHES, Found, our_patterns

LIMIT_S = 110
ROOT = Path(__file__).resolve().parents[2]
# Patterns that never meet a longer text than this, and where that is seen to.
MOST_CHARS: dict[str, int] = {}
# Patterns built of a value that a document or an administrator gives: one of each kind; and of lists of words: all.
BUILT_AT_RUN = {
    "chat.review.export": (masked_name("Ann Lee"),),
    "retrieval.text.language": (re.compile(either_script("臺灣研討室 a+"), re.IGNORECASE),),
}


def complaints_about(patterns: Iterable[Found]) -> list[str]:
    entries = [
        {
            "where": found.where,
            "pattern": found.pattern.decode("latin-1") if isinstance(found.pattern, bytes) else found.pattern,
            "bytes": isinstance(found.pattern, bytes),
            "flags": int(found.flags),
            "methods": sorted(found.methods),
            "most_chars": MOST_CHARS.get(found.where),
        }
        for found in patterns
    ]
    child = subprocess.run(
        [sys.executable, "-m", "tests.patterns.measure"],
        input=json.dumps(entries), capture_output=True, text=True, timeout=LIMIT_S, cwd=ROOT,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-2000:]
    return child.stdout.splitlines()


def test_every_pattern_takes_linear_time() -> None:
    built = [
        Found(module, pattern.pattern, pattern.flags, SEARCHES)
        for module, patterns in BUILT_AT_RUN.items()
        for pattern in patterns
        if pattern is not None
    ]
    patterns = our_patterns(built_at_run=BUILT_AT_RUN)
    assert len(patterns) > 100
    assert complaints_about([*patterns, *built]) == []


def test_what_backtracks_is_found() -> None:
    backtracking = {
        r"\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*\Z": "match",
        r"(?s)<!--.*?-->|</?[A-Za-z][^<>]*>": "sub",
        r"!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}|\s*\{#[^}]*\}\s*$": "sub",
        r"\d+(?:h|m)": "findall",
    }
    patterns = [Found(text, text, re.compile(text).flags, frozenset((used,))) for text, used in backtracking.items()]
    complaints = complaints_about(patterns)
    assert [any(line.startswith(text) for line in complaints) for text in backtracking] == [True] * len(backtracking)


def test_what_takes_the_time_of_its_text_is_left_alone() -> None:
    harmless = [r"[\s_-]+", r"(?<!\d)\d+(?:h|m)", r"(?s)\A<a>.*</a>\Z"]
    assert not complaints_about([Found("it", pattern, re.U.value, SEARCHES) for pattern in harmless])
