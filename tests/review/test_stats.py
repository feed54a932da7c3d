"""Counts by day, comparisons: what they say, and to whom."""

from __future__ import annotations

import html
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chat.models import Message
from chat.review.records import answers_record
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
)
from tests.review.people import client_of, person

pytestmark = pytest.mark.django_db
TODAY = "2026-03-10"


def given_answer(*, day: str = TODAY, score: int | None = None, collections: Any = (), **fields: Any) -> Message:
    """An answer of that day, at noon, with its row at the desk."""
    fields.setdefault("session", SessionFactory())
    request = {"collection_ids": [str(collection.pk) for collection in collections]}
    question = MessageFactory(question=True, session=fields["session"])
    answer: Message = MessageFactory(reply_to=question, request=request, **fields)
    noon = timezone.make_aware(datetime.combine(date.fromisoformat(day), datetime.min.time())) + timedelta(hours=12)
    Message.objects.filter(pk=answer.pk).update(created_at=noon)
    if score:
        RatingFactory(message=answer, score=score)
    answers_record([answer.pk])
    return answer


def got(client: Client, path: str, **query: str) -> Any:
    response = client.get(f"/api/review/{path}", {"from": "2026-03-01", "to": "2026-03-31", **query})
    assert response.status_code == 200, response.content
    return response.json()


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


def test_a_later_rating_counts_at_once() -> None:
    answer = given_answer()
    RatingFactory(message=answer, score=1)
    answers_record([answer.pk])
    assert got(client_of(person("Reviewers")), "stats")["totals"]["rated_bad"] == 1


def test_times_are_told_as_percentiles_of_each_group() -> None:
    for ms in (100, 200, 300, 400):
        given_answer(usage={"total_ms": ms})
    given_answer(workflow="react", usage={})
    rows = got(client_of(person("Reviewers")), "stats", by="workflow")["rows"]
    times = {row["key"]: row["total_ms"] for row in rows}
    assert times == {"corrective": {"p50": 200, "p95": 400}, "react": {"p50": None, "p95": None}}


def test_filters_leave_what_they_do_not_name_together() -> None:
    given_answer(workflow="corrective", model="qwen")
    given_answer(workflow="corrective", model="llama", score=1)
    given_answer(workflow="react", model="llama")
    client = client_of(person("Reviewers"))

    def answers(**query: str) -> dict[str, int]:
        return {row["key"]: row["answers"] for row in got(client, "stats", **query)["rows"] if row["answers"]}

    assert answers(by="day", model="llama") == {TODAY: 2}
    assert answers(by="workflow", model="llama") == {"corrective": 1, "react": 1}
    assert answers(by="workflow", workflow="corrective", model="llama") == {"corrective": 1}
    assert answers(by="model") == {"llama": 2, "qwen": 1}
    assert got(client, "stats", by="day", workflow="react")["totals"]["answers"] == 1
    assert answers(by="day", language="th") == {}


@pytest.mark.parametrize("query", [{"model": "lama"}, {"language": "zh-hnat"}])
@pytest.mark.parametrize("path", ["stats", "compare"])
def test_figures_of_what_there_is_not_are_refused_by_name(path: str, query: dict[str, str]) -> None:
    given_answer(model="llama")
    answer = client_of(person("Reviewers")).get(f"/api/review/{path}", query)
    assert answer.status_code == 400
    assert set(answer.json()["error"]["fields"]) == set(query)


def test_the_day_is_the_sites_own(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Taipei"
    with timezone.override("Asia/Taipei"):
        answer = given_answer()
        Message.objects.filter(pk=answer.pk).update(created_at=datetime.fromisoformat("2026-03-09T23:00:00+00:00"))
        answers_record([answer.pk])
        rows = got(client_of(person("Reviewers")), "stats", by="day")["rows"]
    assert [row["key"] for row in rows if row["answers"]] == [TODAY]


def test_answers_of_a_collection_are_counted_once_beside_another_one() -> None:
    one, other = CollectionFactory(visibility="public"), CollectionFactory(visibility="public")
    given_answer(collections=[one, other])
    given_answer(collections=[other])
    client = client_of(person("Reviewers"))
    assert got(client, "stats", by="workflow", collection=str(one.pk))["totals"]["answers"] == 1
    rows = got(client, "stats", by="collection", collection=str(one.pk))["rows"]
    assert [(row["key"], row["answers"]) for row in rows] == [(str(one.pk), 1)]


def test_who_sees_no_names_sees_a_private_collection_as_another_one() -> None:
    private = CollectionFactory(name="zebedees-drawer", visibility="private", owner=person())
    given_answer(collections=[private])
    rows = got(client_of(person("Reviewers")), "stats", by="collection")["rows"]
    assert [(row["key"], row["answers"]) for row in rows] == [("", 1)]
    assert "zebedee" not in str(rows)
    assert got(client_of(person("Administrators")), "stats", by="collection")["rows"][0]["key"] == str(private.pk)
    query = {"collection": str(private.pk)}
    assert client_of(person("Reviewers")).get("/api/review/stats", query).status_code == 400


def test_a_comparison_has_rates_with_intervals_and_says_what_they_are_of() -> None:
    for score in (5, 5, 4, 1):
        given_answer(score=score)
    given_answer(workflow="react", score=2)
    data = got(client_of(person("Reviewers")), "compare", by="workflow")
    good = {row["key"]: row["rates"]["good"] for row in data["rows"]}
    assert (good["corrective"]["hits"], good["corrective"]["count"], good["corrective"]["rate"]) == (3, 4, 0.75)
    assert 0 < good["corrective"]["low"] < 0.75 < good["corrective"]["high"] < 1
    assert good["react"]["rate"] == 0
    assert "chosen traffic" in data["notes"][0]
    halves = got(client_of(person("Reviewers")), "compare", by="period")["rows"]
    assert [row["key"] for row in halves] == ["1"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("stats", {"by": "user"}), ("stats", {"from": "x"}), ("stats", {"from": "2026-03-02", "to": "2026-03-01"}),
        ("stats", {"from": "1980-01-01", "to": "2026-01-01"}), ("compare", {"by": "day"}),
        ("stats", {"collection": "x"}), ("stats", {"workflow": "zzz"}), ("stats", {"to": ""}), ("gaps", {"days": "0"}),
        ("stats", {"from": "9999-12-31"}),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(path: str, query: dict[str, str]) -> None:
    assert client_of(person("Reviewers")).get(f"/api/review/{path}", query).status_code == 400


def test_pages_with_and_without_answers() -> None:
    client = client_of(person("Reviewers"))
    for path in ("dashboard", "compare", "replays"):
        assert client.get(f"/review/{path}/").status_code == 200
    document = DocumentFactory()
    SourceFactory(message=given_answer(score=1, collections=[document.collection]), document_id=document.pk)
    query = {"from": "2026-03-01", "to": "2026-03-31"}
    page = client.get("/review/dashboard/", query).content.decode()
    assert document.title in page
    for by in ("workflow", "model", "collection", "language", "period"):
        assert client.get("/review/compare/", {"by": by, **query}).status_code == 200
    empty = {"workflow": "", "collection": "", **query}
    assert document.title in client.get("/review/dashboard/", empty).content.decode()


@pytest.mark.parametrize("page", ["dashboard", "compare"])
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"from": "nonsense"}, "from: Date has wrong format."), ({"wokflow": "react"}, "no parameter “wokflow”"),
        ({"workflow": "zzz"}, 'workflow: "zzz" is not a valid choice.'),
    ],
)  # fmt: skip
def test_a_page_says_which_filter_is_wrong(page: str, query: dict[str, str], problem: str) -> None:
    answer = client_of(person("Reviewers")).get(f"/review/{page}/", query)
    assert answer.status_code == 400
    assert problem in html.unescape(answer.content.decode())


# ------------------------------------------------------------------------------------------------ roles
NOTHING = "00000000-0000-4000-8000-000000000000"
PAGES = [
    "/review/dashboard/", "/review/compare/", "/review/replays/", "/review/replays/new/",
    f"/review/replays/{NOTHING}/", f"/review/replays/batches/{NOTHING}/",
]  # fmt: skip
READS = [
    "stats", "compare", "gaps", "replays", "replay-batches", f"replays/{NOTHING}",
    f"replay-batches/{NOTHING}", f"replay-batches/{NOTHING}/replays",
]  # fmt: skip
WRITES = [
    f"answers/{NOTHING}/replay", "replay-batches", f"replays/{NOTHING}/cancel", f"replay-batches/{NOTHING}/cancel",
]  # fmt: skip


@pytest.mark.parametrize(("staff", "status"), [(True, 403), (False, 404)])
def test_who_has_no_role_gets_nothing(staff: bool, status: int) -> None:
    client = client_of(person(is_staff=staff))
    assert {path: client.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, status)
    assert {path: client.get(f"/api/review/{path}").status_code for path in READS} == dict.fromkeys(READS, status)
    for path in WRITES:
        assert client.post(f"/api/review/{path}", {}, content_type="application/json").status_code == status, path


def test_strangers_sign_in_first() -> None:
    client = client_of(None)
    assert all("/accounts/login/" in client.get(path).headers["Location"] for path in PAGES)
    assert {client.get(f"/api/review/{path}").status_code for path in READS} == {401}


@pytest.mark.parametrize("role", ["Reviewers", "Curators", "Administrators"])
def test_every_role_reads(role: str) -> None:
    client = client_of(person(role))
    there = [path for path in PAGES + [f"/api/review/{path}" for path in READS] if NOTHING not in path]
    assert {path: client.get(path).status_code for path in there} == dict.fromkeys(there, 200)
