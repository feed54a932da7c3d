"""Runs of evaluations as jobs: golden questions where they are, imported sets apart, and the figures of the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from chat.review.roles import desk_access
from chat.review.settings.revisions import draft_save, draft_try
from feedback.evaluation import run as run_module
from feedback.evaluation.benches import trial_settings
from feedback.evaluation.run import evaluations_work
from feedback.evaluation.runs import (
    RunOpenError,
    open_alarms,
    run_cancel,
    run_create,
    run_take,
    runs_of_the_night,
    runs_tidy,
)
from feedback.evaluation.sets import evaluation_set_change, evaluation_set_import, set_folder
from feedback.evaluation.trials import trial_result
from feedback.models import (
    ALL_GOLDEN,
    EvaluationOutcome,
    EvaluationRun,
    EvaluationSet,
    GoldenQuestion,
    GoldenRelevance,
)
from ragsite.core.errors import InvalidInputError
from ragsite.core.rag_settings import MilvusSettings, OllamaSettings
from retrieval.engine import close_engine
from retrieval.errors import IndexUnavailableError
from retrieval.models import Chunk, Collection
from retrieval.providers.lexical import SPACE
from retrieval.services.index_sync import index_repair
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.labelled import files
from tests.review.people import person

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {
    "How many books may undergraduates borrow?": "Undergraduates may borrow ten books for four weeks.",
    "When does the swimming pool open?": "The swimming pool opens at seven in the morning.",
    "Who signs a leave of absence?": "A leave of absence is signed by the dean of the faculty.",
}


@pytest.fixture
def offline(milvus: MilvusSettings, rag_settings: Callable[..., Any], tmp_path: Path, settings: Any) -> None:
    """No model server, the session's Milvus, a data folder of one's own."""
    settings.DATA_DIR = tmp_path / "data"
    settings.MEDIA_ROOT = tmp_path / "uploads"
    rag_settings(ollama=OllamaSettings(offline="1"), milvus=milvus)


@pytest.fixture
def chunks(offline: None) -> list[Chunk]:
    """Golden questions in one indexed collection, each with its document."""
    collection: Collection = CollectionFactory(embedding_model=SPACE.model, embedding_dim=SPACE.dim)
    made: list[Chunk] = []
    for question, text in TEXTS.items():
        chunk: Chunk = ChunkFactory(text=text, document=DocumentFactory(collection=collection, status="ready"))
        golden = GoldenQuestion.objects.create(text=question, collection=collection)
        GoldenRelevance.objects.create(question=golden, document=chunk.document)
        made.append(chunk)
    _indexed()
    return made


def _indexed() -> None:
    async def repair() -> None:
        try:
            await index_repair()
        finally:
            await close_engine()

    async_to_sync(repair)()


@pytest.fixture
def golden(chunks: list[Chunk]) -> EvaluationSet:
    return EvaluationSet.objects.get(golden=ALL_GOLDEN)


@pytest.fixture
def imported(offline: None) -> EvaluationSet:
    curator: User = UserFactory()
    return evaluation_set_import(by=curator, name="tiny", files=files())


def measured(chosen: EvaluationSet, **wanted: Any) -> EvaluationRun:
    run = run_create(chosen=chosen, by=None, **wanted)
    assert evaluations_work() == "ended"
    return EvaluationRun.objects.get(pk=run.pk)


def test_golden_questions_are_measured_where_their_documents_are(golden: EvaluationSet) -> None:
    run = measured(golden, stages=["bm25", "hybrid"])
    assert (run.status, run.error, run.questions) == ("complete", None, 3)
    assert run.figures["bm25"]["ndcg@10"] == 1.0
    assert (run.done, run.total, run.lease_token) == (6, 6, None)
    assert run.setup["embedding_model"] == SPACE.model
    assert run.setup["documents"] == 3
    assert not run.alarm


def test_an_imported_set_has_the_figures_of_the_command(imported: EvaluationSet) -> None:
    run = measured(imported, stages=["dense", "bm25", "hybrid", "+rerank"], workflow="corrective")
    out = StringIO()
    call_command("evaluate", str(set_folder(imported)), "--stages", "dense,bm25,hybrid,rerank", "--json",
                 stdout=out, stderr=StringIO())  # fmt: skip
    told = json.loads(out.getvalue())
    assert run.status == "complete", run.error
    assert {stage: _without_times(values) for stage, values in run.figures.items()} == {
        stage: _without_times(values) for stage, values in told["stages"].items()
    }
    assert (run.decisions, run.questions) == (told["decisions"], told["queries"])
    assert run.figures["bm25"]["p50_ms"] > 0
    assert run.fallbacks["+rerank"]


def _without_times(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if not name.endswith("_ms")}


def test_a_run_that_was_broken_off_goes_on_where_it_was(
    imported: EvaluationSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_create(chosen=imported, by=None, stages=["bm25", "hybrid"])
    stored = run_module._store
    measured_twice: list[str] = []

    def killed(lease: Any, row: EvaluationRun, batch: Any, ids: Any) -> None:
        if batch.stage == "hybrid":
            raise IndexUnavailableError
        measured_twice.append(batch.stage)
        stored(lease, row, batch, ids)

    monkeypatch.setattr(run_module, "_store", killed)
    assert evaluations_work() == "ended"
    run.refresh_from_db()
    assert (run.status, run.done, run.attempts) == ("queued", 3, 0)
    monkeypatch.setattr(run_module, "_store", stored)
    assert evaluations_work() == "ended"
    run.refresh_from_db()
    assert (run.status, run.done) == ("complete", 6)
    assert measured_twice == ["bm25"]
    assert EvaluationOutcome.objects.filter(run=run).count() == 6


def test_it_gives_way_to_documents_that_wait(golden: EvaluationSet, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_create(chosen=golden, by=None, stages=["bm25", "hybrid"])
    waiting = [[None]]
    monkeypatch.setattr(run_module, "turns", lambda: waiting)
    assert evaluations_work(slice_s=0.0) == "gave way"
    run.refresh_from_db()
    assert (run.status, run.done, run.lease_token) == ("queued", 3, None)
    waiting.clear()
    assert evaluations_work(slice_s=0.0) == "ended"
    run.refresh_from_db()
    assert (run.status, run.figures["hybrid"]["ndcg@10"]) == ("complete", 1.0)


def test_a_worker_that_dies_again_and_again_ends_the_run(golden: EvaluationSet) -> None:
    run = run_create(chosen=golden, by=None)
    for _ in range(3):
        assert run_take() is not None
        EvaluationRun.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert run_take() is None
    run.refresh_from_db()
    assert (run.status, run.error["code"]) == ("failed", "internal")


def test_one_run_at_a_time(golden: EvaluationSet, imported: EvaluationSet) -> None:
    run_create(chosen=golden, by=None)
    run_create(chosen=imported, by=None)
    assert run_take() is not None
    assert run_take() is None
    with pytest.raises(RunOpenError):
        run_create(chosen=golden, by=None)


def test_a_cancelled_run_stops_and_keeps_no_figures(golden: EvaluationSet, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_create(chosen=golden, by=None, stages=["bm25", "hybrid"])
    stored = run_module._store

    def cancel_then(lease: Any, row: EvaluationRun, batch: Any, ids: Any) -> None:
        run_cancel(row)
        stored(lease, row, batch, ids)

    monkeypatch.setattr(run_module, "_store", cancel_then)
    evaluations_work()
    run.refresh_from_db()
    assert (run.status, run.figures) == ("cancelled", {})
    assert not EvaluationOutcome.objects.exists()


def test_an_index_that_is_away_is_no_empty_result(golden: EvaluationSet, rag_settings: Callable[..., Any]) -> None:
    rag_settings(ollama=OllamaSettings(offline="1"), milvus=MilvusSettings(uri="http://127.0.0.1:9", prefix="gone"))
    run = run_create(chosen=golden, by=None, stages=["bm25"])
    for _ in range(3):
        evaluations_work()
    run.refresh_from_db()
    assert (run.status, run.figures) == ("failed", {})
    assert run.error["code"] == "index_unavailable"


# ------------------------------------------------------------------------------------------------ nights and alarms
def test_a_night_without_questions_measures_nothing() -> None:
    assert EvaluationSet.objects.get(golden=ALL_GOLDEN).nightly
    assert runs_of_the_night() == 0


def test_a_night_measures_the_sets_that_are_to_be(golden: EvaluationSet, imported: EvaluationSet) -> None:
    assert runs_of_the_night() == 1
    assert runs_of_the_night() == 0  # the first one has not ended
    assert EvaluationRun.objects.get().trigger == "night"


def test_a_fall_rings_once_and_a_good_run_ends_it(
    golden: EvaluationSet, chunks: list[Chunk], sent: list[tuple[str, dict[str, Any]]]
) -> None:
    evaluation_set_change(chosen=golden, changes={"margin": 0.05})
    good = measured(golden, stages=["bm25"])
    for chunk in chunks:
        Chunk.objects.filter(pk=chunk.pk).delete()  # as if they had been read wrongly
    worse = measured(golden, stages=["bm25"])
    assert worse.alarm and worse.baseline_id == good.pk
    assert worse.worse[0]["stage"] == "bm25"
    assert [run.pk for run in open_alarms()] == [worse.pk]
    still = measured(golden, stages=["bm25"])
    assert still.alarm and still.baseline_id == good.pk
    assert [run.pk for run in open_alarms()] == [still.pk]


def test_questions_of_old_runs_are_forgotten_but_not_those_of_the_last_good_one(
    golden: EvaluationSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.evaluation.runs.KEPT_OUTCOMES", 1)
    first, second = (measured(golden, stages=["bm25"]) for _ in range(2))
    EvaluationRun.objects.filter(pk=second.pk).update(alarm=True)
    third = measured(golden, stages=["bm25"])
    kept = set(EvaluationOutcome.objects.values_list("run", flat=True))
    assert (first.pk in kept, second.pk in kept, third.pk in kept) == (False, False, True)
    EvaluationRun.objects.filter(pk=third.pk).update(alarm=True)
    runs_tidy(golden)
    assert not EvaluationOutcome.objects.filter(run=first).exists()


def test_what_would_not_be_measured_is_refused(golden: EvaluationSet, imported: EvaluationSet) -> None:
    for chosen, wanted in (
        (golden, {"stages": ["magic"]}),
        (golden, {"stages": []}),
        (imported, {"workflow": "magic"}),
    ):
        with pytest.raises(InvalidInputError):
            run_create(chosen=chosen, by=None, **wanted)
    GoldenQuestion.objects.all().delete()
    with pytest.raises(InvalidInputError, match="no question"):
        run_create(chosen=golden, by=None)


# ------------------------------------------------------------------------------------------------ drafts of settings
def test_a_draft_is_measured_by_stage_beside_the_present_settings(golden: EvaluationSet) -> None:
    before = measured(golden, stages=["bm25", "hybrid"])
    access = desk_access(person("Administrators"))
    draft_save(access=access, values={"search.formula": "seed"})
    tried = draft_try(access=access, set_name=None, answers=False).revision.pk
    present, draft = EvaluationRun.objects.filter(tried=tried).order_by("with_draft")
    assert [trial_settings(run).search.formula for run in (present, draft)] == ["zscore", "seed"]
    while evaluations_work() != "idle":
        pass
    result = trial_result(tried)
    assert result and result.complete and result.questions == 3
    assert [stage.name for stage in result.stages] == ["dense", "bm25", "hybrid", "+boosts"]
    words = result.stages[1]
    assert words.metrics["ndcg@10"] == (before.figures["bm25"]["ndcg@10"],) * 2
    assert (words.change, words.worse, words.is_worse, words.problem) == (0.0, 0, False, "")
    assert (result.state.open, result.state.done, result.state.total) == (False, 24, 24)
