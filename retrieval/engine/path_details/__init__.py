"""The details of the decision path: one class for each step, written by the step, read back by `from_json`.

    note("queries_made", RewriteDetails(queries=tuple(texts)))

    for search in details_in(message["decision_path"], RetrieveDetails):
        print(search.documents, search.found)

A field that is None was not said: it stands in no JSON. Times, scores and shares are as in `retrieval.engine.values`.
"""

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
from retrieval.engine.path_details.reading import (
    DETAILS,
    details_in,
    details_of,
    from_json,
)
from retrieval.engine.path_details.rows import (
    AppliedBoost,
    FoundCandidate,
    FoundPage,
    GradedDocument,
    NamedDocument,
    PlannedTask,
    RecalledFact,
    SearchedQuery,
)
from retrieval.engine.path_details.searches import (
    BoostDetails,
    CountDetails,
    DecomposeDetails,
    HydeDetails,
    QueriesDetails,
    RefineDetails,
    RetrieveDetails,
    RewriteDetails,
    StepBackDetails,
    WebSearchDetails,
)

__all__ = [
    "DETAILS",
    "AppliedBoost",
    "AssessDetails",
    "AssistantDetails",
    "BoostDetails",
    "ClarifyDetails",
    "CompressDetails",
    "CondenseDetails",
    "ConsolidateDetails",
    "CountDetails",
    "DecomposeDetails",
    "DedupeDetails",
    "FoundCandidate",
    "FoundPage",
    "GenerateDetails",
    "GradeDetails",
    "GradedDocument",
    "HydeDetails",
    "MemoryDetails",
    "NamedDocument",
    "OrderDetails",
    "PlanDetails",
    "PlannedTask",
    "QueriesDetails",
    "RecalledFact",
    "RefineDetails",
    "ReflectDetails",
    "RerankDetails",
    "RetrieveDetails",
    "RewriteDetails",
    "RouteDetails",
    "SearchedQuery",
    "StepBackDetails",
    "StepDetails",
    "StepName",
    "VerifyDetails",
    "WebSearchDetails",
    "details_in",
    "details_of",
    "from_json",
]
