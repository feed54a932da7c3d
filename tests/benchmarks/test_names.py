"""Benchmarks are called by their names alone, whichever room they are in."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import benchmarks

FOLDER = Path(benchmarks.__file__ or "").parent


def test_every_benchmark_is_found_by_its_name_alone() -> None:
    modules = [path for room in benchmarks.ROOMS for path in (FOLDER / room).glob("[!_]*.py")]
    commands = [path for path in modules if "python -m benchmarks." in path.read_text(encoding="utf-8")]
    assert len(commands) > 20
    for path in commands:
        spec = find_spec(f"benchmarks.{path.stem}")
        assert spec is not None
        assert spec.origin == str(path)


def test_no_two_modules_of_the_rooms_have_one_name() -> None:
    names = Counter(path.stem for room in benchmarks.ROOMS for path in (FOLDER / room).glob("[!_]*.py"))
    assert [name for name, count in names.items() if count > 1] == []
