"""What rings, and what noise does not."""

from __future__ import annotations

import random

from feedback.evaluation.alarm import Scored, stage_change, what_is_worse

MARGIN = 0.02


def scored(*values: float, fallback: bool = False) -> dict[str, Scored]:
    return {f"q{number}": Scored(score=value, fallback=fallback) for number, value in enumerate(values)}


def rings(before: dict[str, Scored], after: dict[str, Scored], margin: float = MARGIN) -> bool:
    return bool(what_is_worse({"hybrid": before}, {"hybrid": after}, margin=margin))


def test_one_or_two_questions_that_fell_ring_nothing() -> None:
    good = scored(*[1.0] * 40)
    assert not rings(good, scored(0.0, *[1.0] * 39))
    assert not rings(good, scored(0.0, 0.0, *[1.0] * 38))


def test_several_that_fell_ring() -> None:
    assert rings(scored(*[1.0] * 40), scored(*[0.0] * 4, *[1.0] * 36))


def test_where_a_model_has_a_part_more_have_to_fall() -> None:
    good, fallen = scored(*[1.0] * 40), scored(*[0.0] * 4, *[1.0] * 36)
    worse = what_is_worse(dict.fromkeys(["hybrid", "+rerank", "decisions"], good),
                          dict.fromkeys(["hybrid", "+rerank", "decisions"], fallen), margin=MARGIN)  # fmt: skip
    assert [change.stage for change in worse] == ["hybrid"]


def test_a_fall_within_the_margin_rings_nothing() -> None:
    assert not rings(scored(*[1.0] * 100), scored(*[0.9] * 10, *[1.0] * 90))


def test_as_many_that_rose_as_fell_ring_nothing() -> None:
    assert not rings(scored(*[1.0, 0.0] * 20), scored(*[0.0, 1.0] * 20))


def test_three_questions_alone_are_weighed_as_if_there_were_ten() -> None:
    change = stage_change("hybrid", scored(1.0, 1.0, 1.0), scored(0.0, 1.0, 1.0))
    assert round(change.drop, 3) == 0.1
    assert not change.is_worse(MARGIN)


def test_questions_where_a_fallback_served_in_one_run_alone_are_left_out() -> None:
    change = stage_change("hybrid", scored(*[1.0] * 40), scored(*[0.0] * 40, fallback=True))
    assert (change.questions, change.left_out, change.is_worse(MARGIN)) == (0, 40, False)


def test_only_questions_and_stages_of_both_are_compared() -> None:
    before = {"hybrid": scored(1.0, 1.0), "dense": scored(*[1.0] * 40)}
    after = {"hybrid": {"other": Scored(score=0.0)}, "bm25": scored(*[0.0] * 40)}
    assert what_is_worse(before, after, margin=MARGIN) == []


def test_noise_rings_seldom() -> None:
    """Each question swings by chance, without getting worse: 200 nights, 60 questions."""
    drawn = random.Random(1)
    rung = 0
    for _ in range(200):
        before = [drawn.random() for _ in range(60)]
        after = [min(1.0, max(0.0, value + drawn.gauss(0.0, 0.15))) for value in before]
        rung += bool(what_is_worse({"+rerank": scored(*before)}, {"+rerank": scored(*after)}, margin=MARGIN))
    assert rung <= 6
