"""The workflows by name: `await get_workflow("corrective").answer(question, engine=get_engine(), trace=trace)`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded

if TYPE_CHECKING:
    from retrieval.workflows.workflow import Workflow

DEFAULT_WORKFLOW = "corrective"
NAMES = ("corrective", "self_corrective", "dual_loop", "planned", "react")  # in the contract's order


def available_workflows() -> tuple[str, ...]:
    """The names that can be chosen."""
    return NAMES


def get_workflow(name: str) -> Workflow:
    """LangGraph takes half a second to load, so a workflow is loaded when it is asked for.

    Raises InvalidInputError, which says which workflows there are.
    """
    if name not in NAMES:
        known = ", ".join(NAMES)
        raise InvalidInputError(
            worded("There is no workflow '{name}' here; choose one of: {known}.", name=name[:40], known=known),
            fields={"workflow": [worded("one of {known}", known=known)]},
        )
    workflow: Workflow = importlib.import_module(f"retrieval.workflows.{name}").WORKFLOW
    return workflow
