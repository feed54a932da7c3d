"""Docstrings name errors that exist: a renamed class leaves its former name there, where no tool looks."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("ragsite", "chat", "retrieval", "feedback", "benchmarks")
ERROR = re.compile(r"\b_?[A-Z]\w*Error\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def errors_of_docstrings(module: ast.Module) -> set[str]:
    named: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED):
            named.update(ERROR.findall(ast.get_docstring(node, clean=False) or ""))
    return named


def errors_of_code(module: ast.Module) -> set[str]:
    """Defined, imported or used."""
    known = set()
    for node in ast.walk(module):
        match node:
            case ast.ClassDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                known.add(name)
            case ast.alias(name=name, asname=asname):
                known.add(asname or name)
    return known


def test_each_error_that_a_docstring_names_exists() -> None:
    read = list(modules())
    known = set(dir(builtins))
    for _, module in read:
        known |= errors_of_code(module)
    unknown = [
        f"{path}: {name}"
        for path, module in read
        for name in sorted(errors_of_docstrings(module) - known)
    ]
    assert unknown == []
    assert len(read) > 400
