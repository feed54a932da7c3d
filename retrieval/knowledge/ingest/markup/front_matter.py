"""The fields before a Markdown text, in YAML or TOML, as they are written there."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

FENCES = {"---": "yaml", "+++": "toml"}
MAX_HEAD_CHARS = 64_000
MAX_FIELDS = 200
MAX_VALUE_CHARS = 2000
MAX_DEPTH = 4


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields by name, nested ones as `outer.inner`, lists joined by ", "; and the text after them.

    ({}, text) where there are none; what is no YAML or TOML is read line by line.
    """
    fence = text[:3]
    if fence not in FENCES or text[3:4] != "\n":
        return {}, text
    head, end, rest = text[4:].partition(f"\n{fence}\n")
    if not end and text.rstrip("\n").endswith(f"\n{fence}"):
        head = text[4:].rstrip("\n").removesuffix(f"\n{fence}")
        end = fence
        rest = ""
    if not end or len(head) > MAX_HEAD_CHARS:
        return {}, text
    fields: dict[str, str] = {}
    for name, value in _flat(_loaded(head, FENCES[fence]), ""):
        if value and len(fields) < MAX_FIELDS:
            fields[name] = value[:MAX_VALUE_CHARS]
    return fields, rest


def _loaded(head: str, language: str) -> Mapping[str, Any]:
    try:
        if language == "toml":
            loaded = tomllib.loads(head, parse_float=str)
        elif "&" in head and "*" in head:  # what refers to itself may be endless
            loaded = _lines(head)
        else:
            loaded = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506  texts, lists and mappings alone
    except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError):
        loaded = _lines(head)
    return loaded if isinstance(loaded, Mapping) else _lines(head)


def _lines(head: str) -> dict[str, str]:
    pairs = (line.partition(":" if ":" in line else "=")[::2] for line in head.split("\n"))
    return {name.strip(): value.strip().strip("\"'") for name, value in pairs}


def _flat(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        for inner, field in value.items():
            yield from _flat(field, f"{name}.{inner}" if name else str(inner), depth + 1)
    elif isinstance(value, list):
        parts = [", ".join(text for _, text in _flat(item, "", depth + 1)) for item in value]
        yield name, ", ".join(filter(None, parts))
    else:
        yield name, " ".join(str("" if value is None else value).split())
