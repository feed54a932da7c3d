"""Details are read back from JSON by their type."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from retrieval.engine.path_details.answers import (
    ClarifyDetails,
    ConsolidateDetails,
    GenerateDetails,
    ReflectDetails,
    VerifyDetails,
)
from retrieval.engine.path_details.base import StepDetails, StepName
from retrieval.engine.path_details.passages import (
    AssessDetails,
    CompressDetails,
    DedupeDetails,
    GradeDetails,
    OrderDetails,
    RerankDetails,
)
from retrieval.engine.path_details.questions import (
    AssistantDetails,
    CondenseDetails,
    MemoryDetails,
    PlanDetails,
    RouteDetails,
)
from retrieval.engine.path_details.searches import (
    BoostDetails,
    CountDetails,
    DecomposeDetails,
    HydeDetails,
    RefineDetails,
    RetrieveDetails,
    RewriteDetails,
    StepBackDetails,
    WebSearchDetails,
)

logger = logging.getLogger(__name__)
Json = Mapping[str, Any]
D = TypeVar("D", bound=StepDetails)
KINDS: tuple[type[StepDetails], ...] = (
    AssistantDetails,
    MemoryDetails,
    CondenseDetails,
    RouteDetails,
    PlanDetails,
    RewriteDetails,
    StepBackDetails,
    DecomposeDetails,
    HydeDetails,
    RetrieveDetails,
    BoostDetails,
    DedupeDetails,
    RerankDetails,
    AssessDetails,
    GradeDetails,
    RefineDetails,
    WebSearchDetails,
    CountDetails,
    CompressDetails,
    OrderDetails,
    ClarifyDetails,
    GenerateDetails,
    VerifyDetails,
    ReflectDetails,
    ConsolidateDetails,
)
DETAILS: Mapping[str, type[StepDetails]] = {kind.step: kind for kind in KINDS}


def from_json(kind: type[D], detail: Json) -> D:
    """The details of a stored or sent entry. What stands there besides them (`reason`, `model_calls`) is left out.

    Of an entry whose JSON is of another shape nothing is known; the log says so.
    """
    try:
        details: D = _reader(kind.step).validate_python(dict(detail))
    except ValidationError as error:
        logger.warning("a %s entry of a decision path can't be read: %s", kind.step, error)
        return kind()
    return details


@cache
def _reader(step: StepName) -> TypeAdapter[Any]:
    return TypeAdapter(DETAILS[step])


def details_of(entry: Json) -> StepDetails:
    """Of an entry of a `decision_path`, in the contract's shape; none of a step that is not known."""
    kind = DETAILS.get(entry["name"])
    return from_json(kind, entry["detail"]) if kind else StepDetails()


def details_in(path: Iterable[Json], kind: type[D]) -> list[D]:
    """Of the steps of this kind that did something."""
    entries = [
        entry for entry in path if entry["name"] == kind.step and entry["status"] != "skipped"
    ]
    return [from_json(kind, entry["detail"]) for entry in entries]
