"""docs/workflows.md, made from the workflows themselves: what each does, its graph, its model rounds."""

from __future__ import annotations

from retrieval.workflows import DEFAULT_WORKFLOW, available_workflows, workflow_graph, workflow_module_doc
from retrieval.workflows import workflow_rounds as rounds_of

HEAD = """# Workflows

Made by `python manage.py workflows_doc` from `retrieval/workflows/`; a test compares the two.

A workflow is chosen per question (`workflow` in `POST /api/chat`, the picker on the chat page). Rounds are model calls
that wait for each other before the answer's first token; calls that run side by side are one round. `usage.llm_rounds`
of every answer says how many it took. Without a model every workflow answers in none.
"""


def render() -> str:
    """The whole page, as Markdown."""
    rows = [_row(name) for name in available_workflows()]
    table = "| workflow | rounds, best | rounds, worst | what makes the difference |\n|---|---|---|---|\n"
    return "\n".join([HEAD, table + "\n".join(rows) + "\n", *map(_section, available_workflows())])


def _row(name: str) -> str:
    rounds = rounds_of(name)
    shown = f"`{name}` (default)" if name == DEFAULT_WORKFLOW else f"`{name}`"
    return f"| {shown} | {rounds.best} | {rounds.worst} | {rounds.notes.replace('|', chr(92) + '|')} |"


def _section(name: str) -> str:
    drawn = workflow_graph(name).get_graph().draw_mermaid().strip()
    return f"## {name}\n\n{_described(name)}\n\n```mermaid\n{drawn}\n```\n"


def _described(name: str) -> str:
    """The module's docstring without its diagram, which is drawn from the code instead."""
    paragraphs = workflow_module_doc(name).split("\n\n")
    return "\n\n".join(text.strip("\n") for text in paragraphs if text.strip() and not text.startswith("    "))
