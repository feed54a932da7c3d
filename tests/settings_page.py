"""docs/settings.md: every variable, its default, its meaning. `python -m tests.settings_page` writes it anew."""

from __future__ import annotations

import inspect
from pathlib import Path

from pydantic.fields import FieldInfo

from ragsite.core.rag_settings import GROUPS
from ragsite.core.site_settings import SiteSettings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEAD = """# Settings

Made by `python -m tests.settings_page` from the groups of settings in `ragsite/core`; a test compares
them. Set a variable in the environment or in a `.env` file beside manage.py. A wrong value is refused at start, with
the variable's name; so is a variable `RAG_…` or `RAGSITE_…` that is none of these, with the nearest name. Numbers that
nobody would change are constants in the code, beside their use.

| variable | default | meaning |
|---|---|---|
"""


def render() -> str:
    """The whole page, as Markdown: one table, in which each group begins with a row of its own."""
    rows = []
    for name, group in ({"site": SiteSettings} | GROUPS).items():
        if not group.variables():
            continue
        written = " ".join(inspect.cleandoc(group.__doc__ or "").split())
        rows.append(f"| **{name.replace('_', ' ').capitalize()}** | | {written} |")
        rows += [
            _row(variable, group.model_fields[field])
            for field, variable in group.variables().items()
        ]
    return HEAD + "\n".join(rows) + "\n"


def _row(variable: str, field: FieldInfo) -> str:
    default = int(field.default) if isinstance(field.default, bool) else field.default
    default_cell = "" if default in ("", [], {}, None) else f"`{default}`"
    meaning = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `{variable}` | {default_cell} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
