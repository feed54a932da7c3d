"""Rankings that are made one, and the order of what scores alike."""

from __future__ import annotations

import pytest

from retrieval.engine.search.fusion import own_first


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"other": 0.50004, "own": 0.49996}, ["own", "other"]),
        ({"other": 0.50006, "own": 0.49994}, ["other", "own"]),
        ({"other": 0.5, "own": 0.5, "third": 0.2}, ["own", "other", "third"]),
        ({"third": 0.50009, "other": 0.50002, "own": 0.49995}, ["third", "other", "own"]),
    ],
    ids=["within the last digits", "further apart", "equal", "alike to the best of them alone"],
)
def test_of_passages_that_score_alike_ones_own_come_first(
    scores: dict[str, float], expected: list[str]
) -> None:
    assert own_first(list(scores), scores, own={"own"}) == expected
