"""The workflows by name: `get_workflow("corrective", engine=get_engine())`.

A workflow's class has, beside `answer`,

- `graph`: the compiled graph, as a class attribute; the page's picture and docs/workflows.md are drawn from it;
- `rounds`: a `Rounds` of `retrieval.workflows.base`, how many model rounds come before the first token.

After a change of either, `manage.py workflows_doc` writes docs/workflows.md anew; a test compares.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from langgraph.graph.state import CompiledStateGraph

from ragsite.core.errors import InvalidInputError
from retrieval.ports import Workflow
from retrieval.steps.toolbox import Toolbox
from retrieval.workflows.base import Rounds
from retrieval.workflows.corrective import CorrectiveWorkflow
from retrieval.workflows.dual_loop.workflow import DualLoopWorkflow
from retrieval.workflows.planned.workflow import PlannedWorkflow
from retrieval.workflows.react import ReactWorkflow
from retrieval.workflows.self_corrective import SelfCorrectiveWorkflow

DEFAULT_WORKFLOW = "corrective"
WORKFLOW_NAMES = ("corrective", "self_corrective", "dual_loop", "planned", "react")


class WorkflowClass(Protocol):
    """What is registered here."""

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]: ...
    @property
    def rounds(self) -> Rounds: ...
    def __call__(self, tools: Toolbox) -> Workflow: ...


_WORKFLOWS: Mapping[str, WorkflowClass] = {
    "corrective": CorrectiveWorkflow,
    "self_corrective": SelfCorrectiveWorkflow,
    "dual_loop": DualLoopWorkflow,
    "planned": PlannedWorkflow,
    "react": ReactWorkflow,
}


def available_workflows() -> tuple[str, ...]:
    """The names that can be chosen now, in the contract's order."""
    return tuple(name for name in WORKFLOW_NAMES if name in _WORKFLOWS)


def workflow_class(name: str) -> WorkflowClass:
    """For measuring: on a toolbox of one's own. Raises KeyError."""
    return _WORKFLOWS[name]


def workflow_graph(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph of a workflow that can be chosen. Raises KeyError."""
    return _WORKFLOWS[name].graph


def workflow_rounds(name: str) -> Rounds:
    """Raises KeyError."""
    return _WORKFLOWS[name].rounds


def workflow_module_doc(name: str) -> str:
    """The docstring of the module that a workflow is in: what it does, with its diagram. Raises KeyError."""
    return inspect.cleandoc(sys.modules[str(_WORKFLOWS[name].__module__)].__doc__ or "")


def get_workflow(name: str, *, engine: Toolbox) -> Workflow:
    """Raises InvalidInputError, which says which workflows there are."""
    if name not in _WORKFLOWS:
        known = ", ".join(available_workflows())
        raise InvalidInputError(
            f"There is no workflow '{name[:40]}' here; choose one of: {known}.",
            fields={"workflow": [f"one of {known}"]},
        )
    return _WORKFLOWS[name](engine)
