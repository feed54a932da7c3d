"""Evaluations at the desk: who may look and who may measure, imports with clear errors, runs compared, alarms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from feedback.evaluation.letters import alarm_letters
from feedback.evaluation.runs import good_run_before, runs_erase, runs_over
from feedback.evaluation.sets import set_folder
from feedback.models import (
    ALL_GOLDEN,
    EvaluationOutcome,
    EvaluationQuestion,
    EvaluationRun,
    EvaluationSet,
    GoldenQuestion,
    GoldenRelevance,
)
from feedback.urls import evaluation
from ragsite.core.retention import kinds, over
from retrieval.models import Document
from tests.factories import DocumentFactory, UserFactory
from tests.feedback.labelled import DOCUMENTS, QRELS, QUERIES, jsonl
from tests.review.people import ROLES, client_of, person

pytestmark = pytest.mark.django_db
API = "/api/review/evaluation"
AS_JSON: dict[str, Any] = {"content_type": "application/json"}


@pytest.fixture(autouse=True)
def queue_away(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """No worker takes a run; uploads lie apart."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)


@pytest.fixture
def golden() -> EvaluationSet:
    document: Document = DocumentFactory()
    question = GoldenQuestion.objects.create(text="How many books?", collection=document.collection)
    GoldenRelevance.objects.create(question=question, document=document)
    return EvaluationSet.objects.get(golden=ALL_GOLDEN)


def complete(chosen: EvaluationSet, scores: dict[str, float], **fields: Any) -> EvaluationRun:
    """A run as it ends. scores: of the questions at the stage `hybrid`."""
    mean = sum(scores.values()) / len(scores)
    figures = {
        "hybrid": {"ndcg@10": mean, "recall@10": 1.0, "recall@100": 1.0, "mrr": 1.0, "p50_ms": 3.0, "p95_ms": 5.0}
    }
    run = EvaluationRun.objects.create(
        set=chosen, status="complete", stages=["hybrid"], figures=figures, questions=len(scores), **fields
    )
    for key, score in scores.items():
        question, _ = EvaluationQuestion.objects.get_or_create(
            set=chosen, key=key, defaults={"text": f"Question {key}"}
        )
        EvaluationOutcome.objects.create(run=run, question=question, stage="hybrid", score=score, first=1)
    return run


@pytest.fixture
def two(golden: EvaluationSet) -> tuple[EvaluationRun, EvaluationRun]:
    good = complete(golden, {"a": 1.0, "b": 1.0, "c": 0.5})
    worse = complete(
        golden, {"a": 0.2, "b": 1.0, "c": 0.9}, baseline=good, alarm=True,
        worse=[{"stage": "hybrid", "drop": 0.1, "before": 0.83, "after": 0.7, "worse": 1, "questions": 3}],
    )  # fmt: skip
    return good, worse


def uploads(**changed: Any) -> dict[str, Any]:
    content = {"corpus": jsonl(DOCUMENTS), "queries": jsonl(QUERIES), "qrels": QRELS.encode()}
    sent: dict[str, Any] = {name: SimpleUploadedFile(name, data) for name, data in content.items()}
    return {"name": "Tiny", **sent, **changed}


# ------------------------------------------------------------------------------------------------ who may do what
Call = Callable[[Client], HttpResponse]


def calls(runs: tuple[EvaluationRun, EvaluationRun]) -> dict[str, Call]:
    """One of each page and call; names ending in "!" change something."""
    good, worse = runs
    chosen, pair = f"{API}/sets/{worse.set_id}", f"a={good.pk}&b={worse.pk}"
    run = f"{API}/runs/{worse.pk}"
    return {
        "review_evaluation": lambda client: client.get("/review/evaluation/"),
        "review_evaluation_new!": lambda client: client.get("/review/evaluation/new/"),
        "review_evaluation_compare": lambda client: client.get(f"/review/evaluation/compare/?{pair}"),
        "review_evaluation_set": lambda client: client.get(f"/review/evaluation/sets/{worse.set_id}/"),
        "review_evaluation_run": lambda client: client.get(f"/review/evaluation/runs/{worse.pk}/"),
        "api-review-evaluation-sets": lambda client: client.get(f"{API}/sets"),
        "api-review-evaluation-sets!": lambda client: client.post(f"{API}/sets", {"golden": "none"}, **AS_JSON),
        "api-review-evaluation-import!": lambda client: client.post(f"{API}/sets/import", uploads()),
        "api-review-evaluation-set": lambda client: client.get(chosen),
        "api-review-evaluation-set!": lambda client: client.patch(chosen, {"margin": 0.1}, **AS_JSON),
        "api-review-evaluation-set delete!": lambda client: client.delete(chosen),
        "api-review-evaluation-runs": lambda client: client.get(f"{chosen}/runs"),
        "api-review-evaluation-runs!": lambda client: client.post(f"{chosen}/runs", {}, **AS_JSON),
        "api-review-evaluation-run": lambda client: client.get(run),
        "api-review-evaluation-questions": lambda client: client.get(f"{run}/questions"),
        "api-review-evaluation-cancel!": lambda client: client.post(f"{run}/cancel", {}, **AS_JSON),
        "api-review-evaluation-acknowledge!": lambda client: client.post(f"{run}/acknowledge", {}, **AS_JSON),
        "api-review-evaluation-compare": lambda client: client.get(f"{API}/compare?before={good.pk}&after={worse.pk}"),
    }


def test_every_address_is_walked(two: tuple[EvaluationRun, EvaluationRun]) -> None:
    named = {pattern.name for pattern in evaluation if isinstance(pattern, URLPattern)}
    assert {name.split()[0].removesuffix("!") for name in calls(two)} == named


@pytest.mark.parametrize("who", ["user", "staff", "anonymous"])
def test_who_has_no_business_there_learns_nothing(two: tuple[EvaluationRun, EvaluationRun], who: str) -> None:
    people: dict[str, Callable[[], User | None]] = {"user": UserFactory, "staff": person, "anonymous": lambda: None}
    client = client_of(people[who]())
    for name, call in calls(two).items():
        status = call(client).status_code
        if who == "anonymous":
            assert status == (401 if name.startswith("api") else 302), name
        else:
            assert status == (403 if who == "staff" else 404), name
    assert not EvaluationSet.objects.filter(golden=None).exists()


@pytest.mark.parametrize("role", ROLES)
def test_reviewers_look_and_curators_measure(two: tuple[EvaluationRun, EvaluationRun], role: str) -> None:
    client = client_of(person(role))
    for name, call in calls(two).items():
        response = call(client)
        if name.endswith("!") and role == "Reviewers":
            assert response.status_code == 403, name
        else:
            assert response.status_code in (200, 201, 202, 400, 409), (name, response.content.decode()[:500])
    page = client.get("/review/evaluation/").content.decode()
    assert ("data-measure" in page or "data-cancel" in page) is (role != "Reviewers")


# ------------------------------------------------------------------------------------------------ sets
@pytest.fixture
def curator() -> Client:
    return client_of(person("Curators"))


def test_a_set_is_imported_changed_and_deleted(curator: Client) -> None:
    made = curator.post(f"{API}/sets/import", uploads())
    assert made.status_code == 201, made.content
    data = made.json()
    assert (data["kind"], data["documents"], data["questions"], data["may_decide"]) == (
        "imported",
        4,
        4 if data["workflow"] else 3,
        True,
    )
    chosen = EvaluationSet.objects.get(pk=data["id"])
    assert {file.name for file in set_folder(chosen).iterdir()} == {"corpus.jsonl", "queries.jsonl", "qrels.tsv"}
    one = f"{API}/sets/{data['id']}"
    changed = curator.patch(one, {"name": " Other ", "stages": ["hybrid", "bm25"], "nightly": True}, **AS_JSON).json()
    assert (changed["name"], changed["stages"], changed["nightly"]) == ("Other", ["bm25", "hybrid"], True)
    assert curator.post(f"{API}/sets/import", uploads(name="Other")).status_code == 409
    folder = set_folder(chosen)
    assert curator.delete(one).status_code == 204
    assert not EvaluationSet.objects.filter(pk=chosen.pk).exists()
    assert folder.exists()  # until the transaction, here the test's, is committed


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"name": "  "}, "name", ""),
        (
            {"corpus": SimpleUploadedFile("c", b'{"id": "a", "text": "b"}\n{broken\n')},
            "corpus",
            "corpus.jsonl line 2 is not JSON",
        ),
        ({"queries": SimpleUploadedFile("q", b'{"id": "q1"}\n')}, "queries", "queries.jsonl line 1 has no 'text'"),
        ({"qrels": SimpleUploadedFile("r", b"q1\tleave\t1\nnonsense\n")}, "qrels", "qrels.tsv line 2 is not a query"),
        ({"qrels": SimpleUploadedFile("r", b"q1\tnowhere\t1\n")}, "qrels", "none of the documents"),
        ({"queries": SimpleUploadedFile("q", '{"id": "q1", "text": "é"}'.encode("latin-1"))}, "queries", "not UTF-8"),
    ],
)
def test_what_is_wrong_with_an_import_is_said_beside_its_file(
    curator: Client, changed: dict[str, Any], field: str, said: str
) -> None:
    for value in changed.values():
        if not isinstance(value, str):
            value.seek(0)
    response = curator.post(f"{API}/sets/import", uploads(**changed))
    assert response.status_code == 400
    error = response.json()["error"]
    assert list(error["fields"]) == [field]
    assert said in str(error["fields"][field])
    assert "/tmp" not in response.content.decode()
    assert not EvaluationSet.objects.filter(golden=None).exists()


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.evaluation.sets.MAX_MIB", {"corpus.jsonl": 0, "queries.jsonl": 8, "qrels.tsv": 8})
    assert curator.post(f"{API}/sets/import", uploads()).status_code == 413


def test_a_golden_set_is_measured_by_itself(curator: Client, golden: EvaluationSet) -> None:
    GoldenQuestion.objects.update(set_name="loans")
    assert "data-add-golden" in curator.get("/review/evaluation/").content.decode()
    made = curator.post(f"{API}/sets", {"golden": "loans"}, **AS_JSON)
    assert (made.status_code, made.json()["name"], made.json()["questions"]) == (201, "loans", 1)
    assert curator.post(f"{API}/sets", {"golden": "loans"}, **AS_JSON).status_code == 409
    assert curator.post(f"{API}/sets", {"golden": "empty"}, **AS_JSON).status_code == 400
    assert curator.delete(f"{API}/sets/{golden.pk}").status_code == 409


def test_questions_that_expect_no_document_need_a_workflow(curator: Client, golden: EvaluationSet) -> None:
    asked = GoldenQuestion.objects.get()
    GoldenRelevance.objects.all().delete()
    GoldenQuestion.objects.filter(pk=asked.pk).update(expects="NO_ANSWER")
    one = f"{API}/sets/{golden.pk}"
    assert curator.post(f"{one}/runs", {}, **AS_JSON).status_code == 400
    assert curator.post(f"{one}/runs", {"workflow": "corrective"}, **AS_JSON).status_code == 202


# ------------------------------------------------------------------------------------------------ runs
def test_two_runs_are_compared_question_by_question(curator: Client, two: tuple[EvaluationRun, EvaluationRun]) -> None:
    good, worse = two
    data = curator.get(f"{API}/compare?before={good.pk}&after={worse.pk}").json()
    assert [(row["key"], row["before"], row["after"]) for row in data["questions"]] == [
        ("a", 1.0, 0.2),
        ("c", 0.5, 0.9),
    ]
    (stage,) = data["stages"]
    assert (stage["better"], stage["worse"], stage["questions"]) == (1, 1, 3)
    page = curator.get(f"/review/evaluation/compare/?a={worse.pk}&b={good.pk}").content.decode()
    assert page.index("Question a") < page.index("Question c")


def test_runs_of_different_sets_are_not_compared(curator: Client, two: tuple[EvaluationRun, EvaluationRun]) -> None:
    other = complete(EvaluationSet.objects.create(name="Other"), {"a": 1.0})
    pair = f"before={two[0].pk}&after={other.pk}"
    assert curator.get(f"{API}/compare?{pair}").status_code == 400
    assert curator.get(f"/review/evaluation/compare/?a={two[0].pk}&b={other.pk}").status_code == 400
    assert curator.get(f"{API}/compare?before={uuid4()}&after={other.pk}").status_code == 404
    assert curator.get("/review/evaluation/compare/?a=x").status_code == 404


def test_an_alarm_is_shown_at_the_desk_until_somebody_has_seen_it(
    curator: Client, two: tuple[EvaluationRun, EvaluationRun]
) -> None:
    address = f"/review/evaluation/runs/{two[1].pk}/"
    for page in ("/review/", "/review/dashboard/", "/review/evaluation/"):
        assert address in curator.get(page).content.decode(), page
    seen = curator.post(f"{API}/runs/{two[1].pk}/acknowledge", {"accept": False}, **AS_JSON).json()
    assert (seen["alarm"], seen["accepted"], bool(seen["acknowledged_by"])) == (True, False, True)
    assert address not in curator.get("/review/").content.decode()
    assert curator.post(f"{API}/runs/{two[0].pk}/acknowledge", {}, **AS_JSON).status_code == 409


def test_administrators_with_a_confirmed_address_get_a_letter(two: tuple[EvaluationRun, EvaluationRun]) -> None:
    def with_address(user: User, email: str, *, verified: bool = True) -> None:
        EmailAddress.objects.create(user=user, email=email, verified=verified, primary=True)

    with_address(person("Administrators"), "admin@example.org")
    with_address(person("Administrators"), "nobody@example.org", verified=False)
    with_address(person("Curators"), "curator@example.org")
    (letter,) = alarm_letters(run_id=two[1].pk)
    assert letter.to == "admin@example.org" and str(two[1].pk) in letter.text
    EvaluationRun.objects.filter(pk=two[1].pk).update(acknowledged_at="2026-01-01T00:00:00Z")
    assert list(alarm_letters(run_id=two[1].pk)) == list(alarm_letters(run_id=uuid4())) == []


def test_pages_without_anything_say_so(curator: Client) -> None:
    page = curator.get("/review/evaluation/").content.decode()
    assert "There are no golden questions yet" in page
    chosen = EvaluationSet.objects.get(golden=ALL_GOLDEN)
    assert "None yet." in curator.get(f"/review/evaluation/sets/{chosen.pk}/").content.decode()
    assert curator.get(f"/review/evaluation/sets/{uuid4()}/").status_code == 404
    assert curator.get(f"/review/evaluation/sets/{chosen.pk}/?page=99999999999").status_code == 200


def test_forgotten_questions_are_told(curator: Client, two: tuple[EvaluationRun, EvaluationRun]) -> None:
    EvaluationOutcome.objects.filter(run=two[1]).delete()
    assert "latest 14 runs" in curator.get(f"/review/evaluation/runs/{two[1].pk}/").content.decode()


# ------------------------------------------------------------------------------------------------ kept
def test_runs_go_by_their_age_but_not_those_that_the_next_is_compared_with(golden: EvaluationSet) -> None:
    old = timezone.now() - timedelta(days=40)
    runs = [complete(golden, {"a": 1.0, "b": 0.5}) for _ in range(3)]
    worse = complete(golden, {"a": 0.1}, alarm=True, acknowledged_at=timezone.now())
    seen = complete(golden, {"a": 0.1}, alarm=True, acknowledged_at=timezone.now())
    unseen = complete(golden, {"c": 0.1}, alarm=True)
    failed = EvaluationRun.objects.create(set=golden, status="failed")
    waiting = EvaluationRun.objects.create(set=golden, status="queued")
    for number, run in enumerate([*runs, unseen, worse, failed, waiting, seen]):
        EvaluationRun.objects.filter(pk=run.pk).update(created_at=old + timedelta(hours=number))
    cutoff = timezone.now() - timedelta(days=30)
    assert set(runs_over(cutoff)) == {runs[0], runs[1], worse, failed}
    list(runs_erase(cutoff))
    assert set(EvaluationRun.objects.all()) == {runs[2], unseen, seen, waiting}
    assert good_run_before(seen) == runs[2]


def test_questions_of_which_nothing_is_left_go_too(golden: EvaluationSet) -> None:
    complete(golden, {"gone": 1.0})
    EvaluationRun.objects.update(created_at=timezone.now() - timedelta(days=40))
    complete(golden, {"a": 1.0})
    list(runs_erase(timezone.now() - timedelta(days=30)))
    assert list(EvaluationQuestion.objects.values_list("key", flat=True)) == ["a"]


def test_the_age_of_evaluations_is_a_kind_of_the_retention(golden: EvaluationSet, rag_settings: Any) -> None:
    complete(golden, {"a": 1.0})
    EvaluationRun.objects.update(created_at=timezone.now() - timedelta(days=40))
    complete(golden, {"a": 1.0})
    kind = next(kind for kind in kinds() if kind.name == "evaluations")
    assert over(kind, now=timezone.now()).count == 0
    rag_settings(retention={"ages": {"evaluations": 30}})
    assert over(kind, now=timezone.now()).count == 1
