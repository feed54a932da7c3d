"""All regular expressions of our packages: compiled ones, those that are built at a call, and the text splitter's."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("ragsite", "chat", "retrieval", "feedback")
SEARCHES = frozenset(("search", "sub", "subn", "split", "findall", "finditer"))  # try a match at every place
ANCHORED = frozenset(("match", "fullmatch"))  # try one at the first place alone
NOT_IMPORTED = re.compile(r"\.(?:migrations|settings|asgi|wsgi)\b|__main__|reader_process")


@dataclass(frozen=True, slots=True)
class Found:
    """`methods`: how it is used; with `match` and `fullmatch` alone it is tried at one place."""

    where: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]


def our_patterns(*, built_at_run: Collection[str]) -> list[Found]:
    """Raises AssertionError for a pattern that is built of local values, but in the modules `built_at_run`."""
    modules = [importlib.import_module(name) for name in _names()]
    trees = {module.__name__: ast.parse(Path(module.__file__ or "").read_text()) for module in modules}
    used = _methods_by_name(trees)
    found: dict[tuple[str | bytes, int], Found] = {}
    for module in modules:
        for candidate in (*_compiled(module, used), *_at_calls(module, trees[module.__name__], built_at_run)):
            key = (candidate.pattern, candidate.flags)
            before = found.get(key)
            methods = candidate.methods | (before.methods if before else frozenset())
            found[key] = Found(before.where if before else candidate.where, *key, methods)
    return list(found.values())


def _names() -> Iterator[str]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        for entry in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not NOT_IMPORTED.search(entry.name):
                yield entry.name


def _compiled(module: ModuleType, used: Mapping[tuple[str, str], set[str]]) -> Iterator[Found]:
    for name, value in vars(module).items():
        if name in ("SEPARATORS",):  # RecursiveCharacterTextSplitter searches and splits by them
            for text in filter(None, value):
                yield Found(f"{module.__name__}.{name}", text, 0, SEARCHES)
        for pattern in _patterns_in(value, depth=4):
            owner = module.__name__ if name.startswith("_") else "*"
            methods = used.get((owner, name), set()) or SEARCHES
            yield Found(f"{module.__name__}.{name}", pattern.pattern, pattern.flags, frozenset(methods))


def _patterns_in(value: Any, *, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple | set | frozenset) and depth:
        for entry in (*value.values(), *value) if isinstance(value, dict) else value:
            yield from _patterns_in(entry, depth=depth - 1)


def _methods_by_name(trees: Mapping[str, ast.Module]) -> dict[tuple[str, str], set[str]]:
    """(module, or `*` for a public name, name) → methods that are taken from it."""
    used: dict[tuple[str, str], set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in SEARCHES | ANCHORED:
                name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
                used.setdefault((module if name.startswith("_") else "*", name), set()).add(node.attr)
    return used


def _at_calls(module: ModuleType, tree: ast.Module, built_at_run: Collection[str]) -> Iterator[Found]:
    inside = [
        call for function in ast.walk(tree) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function) if isinstance(call, ast.Call)
    ]  # fmt: skip
    for call in inside:
        method = call.func
        if not (isinstance(method, ast.Attribute) and getattr(method.value, "id", "") == "re" and call.args):
            continue
        if method.attr not in SEARCHES | ANCHORED | {"compile"}:
            continue
        where = f"{module.__name__}:{call.lineno}"
        flags = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "flags")]
        try:
            pattern = _value(call.args[0], module)
        except NameError as error:
            if module.__name__ in built_at_run:
                continue
            raise AssertionError(f"{where}: a pattern that is built of local values can't be checked") from error
        known = sum(flag for flag in (_flag(node, module) for node in flags) if flag)
        methods = SEARCHES if method.attr == "compile" else frozenset((method.attr,))
        yield Found(where, pattern, known, methods)


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), dict(vars(module)))


def _flag(node: ast.expr, module: ModuleType) -> int:
    try:
        value = _value(node, module)
    except NameError:
        return 0
    return int(value) if isinstance(value, re.RegexFlag) else 0
