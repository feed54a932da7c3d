from dataclasses import replace

from retrieval.steps.retrieve import boosted
from tests.retrieval.steps.fakes import scored


def with_fused(number: int, fused: float):
    candidate = scored(number, f"text {number}")
    return replace(candidate, scores=replace(candidate.scores, fused=fused))


def test_a_boost_lifts_and_lowers_whatever_the_sign_of_the_fused_score() -> None:
    candidates = [with_fused(1, 1.0), with_fused(2, -0.9), with_fused(3, -1.0)]
    lifted = boosted(candidates, {"k3": 2.0})
    lowered = boosted(candidates, {"k1": 0.1})
    assert [candidate.chunk_id for candidate in lifted] == ["k1", "k3", "k2"]
    assert [candidate.scores.final for candidate in lowered if candidate.chunk_id == "k1"] == [0.1]
    assert lifted[0].scores.boost == 1.0


def test_without_boosts_the_order_stays() -> None:
    candidates = [with_fused(1, 0.5), with_fused(2, 0.5), with_fused(3, 0.1)]
    assert [candidate.chunk_id for candidate in boosted(candidates, {})] == ["k1", "k2", "k3"]
    assert boosted([], {}) == ()
