"""Counts by day, comparisons: what they say, and to whom."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chat.models import Message
from chat.review.records import answers_record
from tests.clients import client_of, person
from tests.factories import (
    CollectionFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    answered,
)

pytestmark = pytest.mark.django_db
TODAY = "2026-03-10"


def given_answer(
    *, day: str = TODAY, score: int | None = None, collections: Any = (), **fields: Any
) -> Message:
    """An answer of that day, at noon, with its row at the desk."""
    answer = answered(
        request={"collection_ids": [str(collection.pk) for collection in collections]}, **fields
    )
    noon = timezone.make_aware(
        datetime.combine(date.fromisoformat(day), datetime.min.time())
    ) + timedelta(hours=12)
    Message.objects.filter(pk=answer.pk).update(created_at=noon)
    if score:
        RatingFactory(message=answer, score=score)
    answers_record([answer.pk])
    return answer


def got(client: Client, path: str, **query: str) -> Any:
    response = client.get(
        f"/api/review/{path}", {"from": "2026-03-01", "to": "2026-03-31", **query}
    )
    assert response.status_code == 200, response.content
    return response.json()


def test_workflows_are_compared_by_the_answers_rating_not_by_that_of_a_source() -> None:
    answer = given_answer(score=5)
    source = SourceFactory(message=answer)
    RatingFactory(message=answer, source=source, score=1)
    unrated = given_answer(workflow="react")
    RatingFactory(message=unrated, source=SourceFactory(message=unrated), score=1)
    answers_record([answer.pk, unrated.pk])
    rows = {
        row["key"]: row
        for row in got(client_of(person("Reviewers")), "compare", by="workflow")["rows"]
    }
    assert (
        rows["corrective"]["rates"]["good"]["rate"],
        rows["corrective"]["rates"]["bad"]["rate"],
    ) == (1.0, 0.0)
    assert rows["react"]["rates"]["bad"]["count"] == 0


def test_a_day_counts_each_answer_once() -> None:
    two = [CollectionFactory(), CollectionFactory()]
    session = SessionFactory()
    given_answer(score=5, collections=two, session=session)
    given_answer(score=1, decision="NO_ANSWER", session=session)
    given_answer(workflow="react", degraded=[{"step": "rerank", "reason": "late"}])
    given_answer(day="2026-03-12")
    data = got(client_of(person("Reviewers")), "stats", by="day")
    day = next(row for row in data["rows"] if row["key"] == TODAY)
    assert (day["answers"], day["users"], day["no_answer"], day["degraded"]) == (3, 2, 1, 1)
    assert (day["rated"], day["rated_good"], day["rated_bad"]) == (2, 1, 1)
    assert len(data["rows"]) == 31
    assert (data["totals"]["answers"], data["totals"]["users"]) == (4, 3)
    assert data["totals"]["llm_calls"] == 12
    assert data["totals"]["total_ms"]["p50"] == 1500
    by_workflow = got(client_of(person("Reviewers")), "stats", by="workflow")["rows"]
    assert {row["key"]: row["answers"] for row in by_workflow} == {"corrective": 3, "react": 1}
    by_collection = got(client_of(person("Reviewers")), "stats", by="collection")["rows"]
    assert [row["answers"] for row in by_collection] == [1, 1]


def test_who_sees_no_names_sees_a_private_collection_as_another_one() -> None:
    private = CollectionFactory(name="zebedees-drawer", visibility="private", owner=person())
    given_answer(collections=[private])
    rows = got(client_of(person("Reviewers")), "stats", by="collection")["rows"]
    assert [(row["key"], row["answers"]) for row in rows] == [("", 1)]
    assert "zebedee" not in str(rows)
    assert got(client_of(person("Administrators")), "stats", by="collection")["rows"][0][
        "key"
    ] == str(private.pk)


def test_a_comparison_has_rates_with_intervals_and_says_what_they_are_of() -> None:
    for score in (5, 5, 4, 1):
        given_answer(score=score)
    given_answer(workflow="react", score=2)
    data = got(client_of(person("Reviewers")), "compare", by="workflow")
    good = {row["key"]: row["rates"]["good"] for row in data["rows"]}
    assert (
        good["corrective"]["hits"],
        good["corrective"]["count"],
        good["corrective"]["rate"],
    ) == (3, 4, 0.75)
    assert 0 < good["corrective"]["low"] < 0.75 < good["corrective"]["high"] < 1
    assert good["react"]["rate"] == 0
    assert "choose the workflow" in data["notes"][0]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("stats", {"by": "user"}), ("stats", {"from": "x"}), ("stats", {"from": "2026-03-02", "to": "2026-03-01"}),
        ("stats", {"from": "1980-01-01", "to": "2026-01-01"}), ("compare", {"by": "day"}),
        ("stats", {"collection": "x"}), ("stats", {"to": ""}), ("stats", {"by": "model"}),
        ("stats", {"from": "9999-12-31"}),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(path: str, query: dict[str, str]) -> None:
    assert client_of(person("Reviewers")).get(f"/api/review/{path}", query).status_code == 400


def test_the_dashboard_with_and_without_answers() -> None:
    client = client_of(person("Reviewers"))
    assert client.get("/review/dashboard/").status_code == 200
    given_answer(score=1)
    page = client.get(
        "/review/dashboard/", {"from": "2026-03-01", "to": "2026-03-31"}
    ).content.decode()
    assert "0 / 1" in page and "100.0 %" in page
