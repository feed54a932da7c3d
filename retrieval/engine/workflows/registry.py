"""The workflows by name: which there are, and which can be chosen on this site."""

from __future__ import annotations

import importlib

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.rag_settings import RagSettings
from retrieval.engine.workflows.base import Workflow

DEFAULT_WORKFLOW = "corrective"
NAMES = (
    "corrective",
    "self_corrective",
    "dual_loop",
    "planned",
    "react",
)  # in the contract's order


def available_workflows() -> tuple[str, ...]:
    """The names that there are."""
    return NAMES


def offered_workflows(settings: RagSettings) -> tuple[str, ...]:
    """The names that can be chosen on this site."""
    return tuple(name for name in NAMES if name != "planned" or settings.planned.enabled)


def require_offered(name: str, settings: RagSettings) -> None:
    """Raises InvalidInputError for a workflow that is switched off here."""
    offered = offered_workflows(settings)
    if name in NAMES and name not in offered:
        known = ", ".join(offered)
        raise InvalidInputError(
            worded(
                "The workflow '{name}' is switched off here; choose one of: {known}.",
                name=name,
                known=known,
            ),
            fields={"workflow": [worded("one of {known}", known=known)]},
        )


def get_workflow(name: str) -> Workflow:
    """LangGraph takes half a second to load, so a workflow is loaded when it is asked for.

    Raises InvalidInputError, which says which workflows there are.
    """
    if name not in NAMES:
        known = ", ".join(NAMES)
        raise InvalidInputError(
            worded(
                "There is no workflow '{name}' here; choose one of: {known}.",
                name=name[:40],
                known=known,
            ),
            fields={"workflow": [worded("one of {known}", known=known)]},
        )
    workflow: Workflow = importlib.import_module(f"retrieval.engine.workflows.{name}").WORKFLOW
    return workflow
