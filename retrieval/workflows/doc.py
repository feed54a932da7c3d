"""docs/workflows.md, made from the workflows themselves: what each does, its graph, its model rounds."""

from __future__ import annotations

import inspect

from retrieval.workflows import DEFAULT_WORKFLOW, NAMES, get_workflow

HEAD = """# Workflows

Made by `python manage.py workflows_doc` from `retrieval/workflows/`; a test compares the two.

A workflow is chosen per question (`workflow` in `POST /api/chat`, the picker on the chat page). Rounds are model calls
that wait for each other before the answer's first token; calls that run side by side are one round. `usage.llm_rounds`
of every answer says how many it took. Without a model every workflow answers in none.

A task on whole documents (`task`: summarise, list, compare) is answered alike in each: one round where they fit a
prompt, else one more for their parts, which are read side by side as far as the server lets them; a list takes one for
the parts and one to check it (`retrieval/workflows/documents.py`).
"""


def render() -> str:
    """The whole page, as Markdown."""
    rows = "\n".join(map(_row, NAMES))
    table = f"| workflow | rounds, best | rounds, worst | what makes the difference |\n|---|---|---|---|\n{rows}\n"
    return "\n".join([HEAD, table, *map(_section, NAMES)])


def _row(name: str) -> str:
    rounds = get_workflow(name).rounds
    title = f"`{name}` (default)" if name == DEFAULT_WORKFLOW else f"`{name}`"
    return f"| {title} | {rounds.best} | {rounds.worst} | {rounds.notes.replace('|', chr(92) + '|')} |"


def _section(name: str) -> str:
    """The workflow's module docstring without its diagram, which is drawn from the code instead."""
    workflow = get_workflow(name)
    paragraphs = inspect.cleandoc(workflow.about).split("\n\n")
    text = "\n\n".join(part.strip("\n") for part in paragraphs if part.strip() and not part.startswith("    "))
    graph = workflow.graph.get_graph().draw_mermaid(with_styles=False).strip()
    return f"## {name}\n\n{text}\n\n```mermaid\n{graph}\n```\n"
