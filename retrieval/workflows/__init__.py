"""The workflows by name: `get_workflow("corrective", engine=get_engine())`.

After a change of a workflow's `graph` or `rounds`, `manage.py workflows_doc` writes docs/workflows.md anew; a test
compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.steps.toolbox import Toolbox
from retrieval.workflows.base import GraphWorkflow
from retrieval.workflows.corrective import CorrectiveWorkflow
from retrieval.workflows.dual_loop.workflow import DualLoopWorkflow
from retrieval.workflows.planned.workflow import PlannedWorkflow
from retrieval.workflows.react import ReactWorkflow
from retrieval.workflows.self_corrective import SelfCorrectiveWorkflow

DEFAULT_WORKFLOW = "corrective"
WORKFLOWS: Mapping[str, type[GraphWorkflow]] = {
    "corrective": CorrectiveWorkflow,
    "self_corrective": SelfCorrectiveWorkflow,
    "dual_loop": DualLoopWorkflow,
    "planned": PlannedWorkflow,
    "react": ReactWorkflow,
}


def available_workflows() -> tuple[str, ...]:
    """The names that can be chosen, in the contract's order."""
    return tuple(WORKFLOWS)


def workflow_graph(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Raises KeyError."""
    return WORKFLOWS[name].graph


def get_workflow(name: str, *, engine: Toolbox) -> GraphWorkflow:
    """Raises InvalidInputError, which says which workflows there are."""
    if name not in WORKFLOWS:
        known = ", ".join(WORKFLOWS)
        raise InvalidInputError(
            worded("There is no workflow '{name}' here; choose one of: {known}.", name=name[:40], known=known),
            fields={"workflow": [worded("one of {known}", known=known)]},
        )
    return WORKFLOWS[name](engine)
