"""The workflows by name: `get_workflow("corrective", engine=get_engine())`.

After a change of a workflow's `graph` or `rounds`, `manage.py workflows_doc` writes docs/workflows.md anew; a test
compares.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.steps.toolbox import Toolbox

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from retrieval.workflows.base import GraphWorkflow

DEFAULT_WORKFLOW = "corrective"
_CLASSES = {
    "corrective": ("retrieval.workflows.corrective", "CorrectiveWorkflow"),
    "self_corrective": ("retrieval.workflows.self_corrective", "SelfCorrectiveWorkflow"),
    "dual_loop": ("retrieval.workflows.dual_loop.workflow", "DualLoopWorkflow"),
    "planned": ("retrieval.workflows.planned.workflow", "PlannedWorkflow"),
    "react": ("retrieval.workflows.react", "ReactWorkflow"),
}


class _LoadedWhenAskedFor(Mapping[str, "type[GraphWorkflow]"]):
    """LangGraph takes half a second to load, and every command and process knows the workflows' names."""

    def __getitem__(self, name: str) -> type[GraphWorkflow]:
        module, class_name = _CLASSES[name]
        workflow: type[GraphWorkflow] = getattr(importlib.import_module(module), class_name)
        return workflow

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


WORKFLOWS: Mapping[str, type[GraphWorkflow]] = _LoadedWhenAskedFor()


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
