"""docs/settings.md, made from the settings themselves: every variable, its default, its meaning."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from typing import Any

from ragsite.core.rag_settings import SECTIONS, variable_of

HEAD = """# Settings of retrieval and answering

Made by `python manage.py settings_doc` from `ragsite/core/rag_settings/`; a test compares the two. Set a variable in
the environment or in a `.env` file beside manage.py. A wrong value is refused at start, with the variable's name. The
variables of the site itself (port, data folder, database …) are in the [README](../README.md#environment).
"""
TITLES = {
    "ollama": "Ollama",
    "milvus": "Milvus",
    "hyde": "HyDE",
    "web_search": "Web search",
    "react": "ReAct",
}


def render() -> str:
    """The whole page, as Markdown."""
    notes = _notes()
    parts = [HEAD]
    for section, (kind, prefix) in SECTIONS.items():
        title = TITLES.get(section, section.replace("_", " ").capitalize())
        parts.append(f"## {title}\n")
        if written := _written_doc(kind):
            parts.append(written + "\n")
        rows = [_row(field, prefix, notes.get((kind.__name__, field.name), "")) for field in dataclasses.fields(kind)]
        parts.append("| variable | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    parts.append("## Prompts\n")
    parts.append("`RAG_PROMPTS_DIR`: a folder; a file there replaces the shipped prompt of the same name.\n")
    return "\n".join(parts)


def _row(field: dataclasses.Field[Any], prefix: str, note: str) -> str:
    default = field.default if field.default is not dataclasses.MISSING else ""
    shown = "" if default == "" else f"`{int(default) if isinstance(default, bool) else default}`"
    meaning = note or field.name.replace("_", " ")
    return f"| `{variable_of(field, prefix)}` | {shown} | {meaning.replace('|', chr(92) + '|')} |"


def _written_doc(kind: type) -> str:
    """The class's docstring, unless it is the signature that dataclasses make up."""
    written = inspect.cleandoc(kind.__doc__ or "")
    return "" if written.startswith(f"{kind.__name__}(") else written


def _notes() -> dict[tuple[str, str], str]:
    """(class, field) → the comment at the end of its line, or on lines of its own above it."""
    found = {}
    for module in dict.fromkeys(kind.__module__ for kind, _ in SECTIONS.values()):
        source = inspect.getsource(sys.modules[module])
        lines = source.splitlines()
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                for item in node.body:
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                        found[node.name, item.target.id] = _comment(lines, item)
    return found


def _comment(lines: list[str], item: ast.AnnAssign) -> str:
    _, sign, beside = lines[(item.end_lineno or item.lineno) - 1].partition("  # ")
    if sign:
        return beside.strip()
    above: list[str] = []
    for line in reversed(lines[: item.lineno - 1]):
        if not line.strip().startswith("# "):
            break
        above.insert(0, line.strip().removeprefix("# "))
    return " ".join(above)
