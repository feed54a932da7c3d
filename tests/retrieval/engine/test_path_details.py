"""Details of the decision path: what a step writes is read back by its type."""

from __future__ import annotations

import json
import logging

import pytest

from retrieval.engine.path_details import (
    DETAILS,
    FoundCandidate,
    PlanDetails,
    PlannedTask,
    RetrieveDetails,
    RewriteDetails,
    SearchedQuery,
    StepDetails,
    details_in,
    details_of,
    from_json,
)
from retrieval.engine.trace import Trace

SEARCH = RetrieveDetails(
    queries=(SearchedQuery(kind="original", text="What is the resit fee?"),),
    preferred={"policy_year": [2025]},
    candidates=(
        FoundCandidate(chunk_id="c-1", ranks={"original:dense": 1}, scores={"dense": 0.7}),
    ),
    found=1,
    documents=12,
)


@pytest.mark.parametrize(
    "details",
    [
        SEARCH,
        RewriteDetails(queries=("resit fee",), tried=("resit",), missing=""),
        PlanDetails(
            tasks=(
                PlannedTask(
                    id="t1",
                    type="retrieve",
                    input="resit fee",
                    depends_on=(),
                    priority=0,
                    state="done",
                    note="3",
                ),
            ),
        ),
    ],
)
def test_what_a_step_writes_is_read_back(details: StepDetails) -> None:
    stored = json.loads(json.dumps(details.as_json()))
    assert from_json(type(details), stored) == details


def test_what_was_not_said_is_not_stored() -> None:
    assert RewriteDetails(queries=()).as_json() == {"queries": []}


def test_reasons_and_model_calls_stand_beside_the_details() -> None:
    entry = {"name": "retrieve", "detail": SEARCH.as_json() | {"reason": "late", "model_calls": []}}
    assert details_of(entry) == SEARCH


def test_an_entry_of_another_shape_says_nothing_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert from_json(RetrieveDetails, {"queries": "resit fee"}) == RetrieveDetails()
    assert "retrieve entry" in caplog.text


def test_steps_that_did_nothing_are_left_out() -> None:
    path = [
        {"name": "retrieve", "status": "skipped", "detail": {}},
        {"name": "boost", "status": "ok", "detail": {}},
        {"name": "retrieve", "status": "ok", "detail": {"documents": 12}},
    ]
    assert details_in(path, RetrieveDetails) == [RetrieveDetails(documents=12)]


async def test_a_step_writes_details_of_its_own_alone() -> None:
    trace = Trace()
    async with trace.step("retrieve") as entry:
        entry.add(SEARCH)
        with pytest.raises(TypeError):
            entry.add(RewriteDetails(queries=()))
    assert entry.details == SEARCH


def test_every_step_has_details() -> None:
    assert all(kind.step == name for name, kind in DETAILS.items())
