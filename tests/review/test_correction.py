"""Rates on like questions: what was chosen for hard questions is not made out to be worse."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chat.review.figures.correction import Corrected, RatedAnswer, corrected_rates, mantel_haenszel
from chat.review.figures.rollups import rollups_refresh
from ragsite.core.wording import Sentence
from tests.review.people import client_of, person
from tests.review.test_stats import given_answer, got

GOOD = {"easy": 0.9, "hard": 0.4}


def traffic(chosen: dict[str, float], *, better: float = 0.0, seed: int = 1, each: int = 400) -> list[RatedAnswer]:
    """chosen: of each workflow the share of hard questions. better: how much likelier `deep` is rated well."""
    rng = random.Random(seed)
    rows = []
    for side, hard in chosen.items():
        for n in range(each):
            kind = "hard" if rng.random() < hard else "easy"
            good = rng.random() < GOOD[kind] + (better if side == "deep" else 0)
            rows.append(RatedAnswer(side=side, stratum=(kind,), person=n % 300, score=5 if good else 1))
    return rows


def raw(rows: list[RatedAnswer], side: str) -> float:
    scores = [row.score for row in rows if row.side == side]
    return sum(score == 5 for score in scores) / len(scores)


def rate_of(rows: list[RatedAnswer], side: str = "deep") -> Corrected:
    found = corrected_rates(rows)[side]["good"]
    assert isinstance(found, Corrected)
    return found


def test_a_workflow_that_is_chosen_for_hard_questions_is_not_made_out_to_be_worse() -> None:
    covered = 0
    for seed in range(40):
        rows = traffic({"deep": 0.9, "quick": 0.2}, seed=seed)
        assert raw(rows, "deep") < raw(rows, "quick") - 0.2  # as it looks
        found = rate_of(rows)
        assert abs(found.rate - found.others) < 0.16
        covered += found.low <= found.others <= found.high
    assert covered >= 35  # 95 % of 40, with room for chance


def test_one_that_is_better_on_every_kind_of_question_comes_out_better() -> None:
    rows = traffic({"deep": 0.9, "quick": 0.2}, better=0.1, each=4000)
    found = rate_of(rows)
    assert raw(rows, "deep") < raw(rows, "quick")
    assert found.low > found.others


def test_where_the_kinds_of_questions_do_not_meet_nothing_is_said() -> None:
    found = corrected_rates(traffic({"deep": 1.0, "quick": 0.0}))["deep"]
    assert all(isinstance(said, Sentence) and "0 %" in said for said in found.values())


def test_few_people_say_nothing_however_much_they_rate() -> None:
    rows = traffic({"deep": 0.5, "quick": 0.5})
    few = [RatedAnswer(side=row.side, stratum=row.stratum, person=row.person % 5, score=row.score) for row in rows]
    assert "Too few people" in str(corrected_rates(few)["deep"]["good"])


def test_without_ratings_there_is_nothing_to_correct() -> None:
    assert corrected_rates([]) == {}
    assert mantel_haenszel([((3, 4), (0, 0))]) is None


def test_one_stratum_has_the_rates_and_the_error_of_two_proportions() -> None:
    found = mantel_haenszel([((50, 100), (50, 100))])
    assert found is not None
    assert found == pytest.approx((0.5, 0.5, (0.25 / 50) ** 0.5))


@pytest.mark.django_db
def test_the_comparison_shows_the_corrected_rate_beside_the_raw_one() -> None:
    for n in range(25):
        given_answer(score=5 if n % 2 else 1)
        given_answer(score=5, workflow="react")
    given_answer(score=5, workflow="planned")
    rollups_refresh(within_s=9)
    client = client_of(person("Reviewers"))
    rows: dict[str, Any] = {row["key"]: row for row in got(client, "compare", by="workflow")["rows"]}
    good = rows["react"]["corrected"]["good"]
    assert good["rate"] == 1.0 and good["others"] == pytest.approx(13 / 26, abs=0.03) and good["shared"] == 1.0
    assert rows["planned"]["corrected"]["good"]["rate"] is None
    assert "Too few people" in rows["planned"]["corrected"]["good"]["reason"]
    assert all(row["corrected"] == {} for row in got(client, "compare", by="language")["rows"])
    page = client.get("/review/compare/", {"from": "2026-03-01", "to": "2026-03-31"}).content.decode()
    assert "Corrected" in page and "Too few people" in page
