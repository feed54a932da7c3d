"""A draft of settings on golden questions, beside what is live."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from chat.models import Replay
from chat.review.replay.replays import replays_work
from chat.review.roles import DeskAccess, desk_access
from chat.review.settings.revisions import NothingChangedError, draft_save, draft_try
from feedback.evaluation.runs import evaluation_runs, open_alarms, run_create
from feedback.models import (
    ALL_GOLDEN,
    EvaluationOutcome,
    EvaluationQuestion,
    EvaluationRun,
    EvaluationSet,
    GoldenQuestion,
    GoldenRelevance,
)
from ragsite.core.errors import InvalidInputError
from ragsite.models import SettingRevision
from retrieval.models import Chunk
from tests.chat.test_end_to_end import library  # noqa: F401
from tests.factories import CollectionFactory, DocumentFactory
from tests.ollama_server import OllamaServer
from tests.review.people import client_of, person

QUESTION = "How many books may undergraduates borrow from the library?"


def access_of() -> DeskAccess:
    return desk_access(person("Administrators"))


@pytest.mark.django_db(transaction=True)
async def test_golden_questions_are_answered_with_both_settings(
    online: OllamaServer,
    library: Chunk,  # noqa: F811
    settings: Any,
) -> None:
    golden = await GoldenQuestion.objects.acreate(text=QUESTION, collection=library.document.collection)
    await GoldenRelevance.objects.acreate(question=golden, document=library.document)
    online.reply(structured=False, text="Undergraduates may borrow ten books for four weeks [1].")
    access = await sync_to_async(access_of)()
    change = {"answer.workflow": "react", "search.top_k": 9}
    await sync_to_async(draft_save)(access=access, values=change)
    made = await sync_to_async(draft_try)(access=access, set_name=None, search=False)
    tried = made.revision
    await sync_to_async(draft_save)(access=access, values={"search.top_k": 7})  # what is tried is a copy
    await replays_work(within_s=30)
    replay = await Replay.objects.aget()
    assert replay.status == "complete", replay.error
    assert [replay.original["workflow"], replay.result["workflow"]] == ["corrective", "react"]
    assert (replay.summary["found"], replay.summary["rank"]) == ([True, True], [1, 1])
    assert (settings.RAG.answer.workflow, settings.RAG.revision) == ("corrective", 0)

    def page() -> str:
        return client_of(access.user).get(reverse("review_settings_try", args=[tried.pk])).text

    text = await sync_to_async(page)()
    assert "As expected" in text and "Nothing so far." in text and "stage by stage" not in text
    assert "Your draft has changed since" in text


@pytest.mark.django_db
def test_without_golden_questions_nothing_is_tried(offline: None) -> None:
    access = access_of()
    draft_save(access=access, values={"search.top_k": 9})
    with pytest.raises(InvalidInputError):
        draft_try(access=access, set_name=None)
    assert list(SettingRevision.objects.values_list("state", flat=True)) == ["draft"]


@pytest.mark.django_db
def test_a_draft_that_changes_nothing_is_not_tried(offline: None) -> None:
    access = access_of()
    draft_save(access=access, values={"search.top_k": 5})
    with pytest.raises(NothingChangedError):
        draft_try(access=access, set_name=None)


# ------------------------------------------------------------------------------------------------ stage by stage
def tried_by_stage(access: DeskAccess, before: list[float], after: list[float]) -> int:
    """As two runs end that gave these scores at hybrid search; the number of what was tried."""
    draft_save(access=access, values={"search.zscore_dense_weight": 2.0})
    for place in range(len(before)):
        question = GoldenQuestion.objects.create(text=f"Question {place}?", collection=CollectionFactory())
        GoldenRelevance.objects.create(question=question, document=DocumentFactory(collection=question.collection))
    tried = draft_try(access=access, set_name=None, answers=False).revision.pk
    for with_draft, scores in ((False, before), (True, after)):
        run = EvaluationRun.objects.get(tried=tried, with_draft=with_draft)
        figures = {"ndcg@10": sum(scores) / len(scores), "recall@10": 1.0, "recall@100": 1.0, "mrr": 1.0, "p50_ms": 3.0}
        EvaluationRun.objects.filter(pk=run.pk).update(
            status="complete", stages=["hybrid"], figures={"hybrid": figures}, questions=len(scores)
        )
        for place, score in enumerate(scores):
            asked, _ = EvaluationQuestion.objects.get_or_create(
                set=run.set, key=str(place), defaults={"text": f"Question {place}?"}
            )
            EvaluationOutcome.objects.create(run=run, question=asked, stage="hybrid", score=score, first=1)
    return tried


@pytest.mark.django_db
def test_the_page_says_where_the_draft_ranks_worse(offline: None) -> None:
    access = access_of()
    tried = tried_by_stage(access, [1.0] * 12, [1.0] * 6 + [0.5] * 6)
    client = client_of(access.user)
    text = client.get(reverse("review_settings_try", args=[tried])).text
    assert "Hybrid: worse with the draft beyond chance, nDCG -25.00 points; 6 of 12 questions fell." in text
    data = client.get(f"/api/review/settings/tries/{tried}").json()
    (stage,) = data["search"]["stages"]
    assert (stage["change"], stage["worse"], stage["is_worse"], data["open"]) == (-0.25, 6, True, False)
    assert stage["low"] < -0.25 < stage["high"] < 0
    assert len(data["search"]["fell"]) == 6


@pytest.mark.django_db
def test_one_question_that_falls_is_shown_and_not_called_worse(offline: None) -> None:
    access = access_of()
    tried = tried_by_stage(access, [1.0, 1.0, 1.0], [1.0, 1.0, 0.5])
    data = client_of(access.user).get(f"/api/review/settings/tries/{tried}").json()
    (stage,) = data["search"]["stages"]
    assert (stage["worse"], stage["is_worse"]) == (1, False)


@pytest.mark.django_db
def test_trials_tell_nothing_of_the_site_over_time(offline: None) -> None:
    access = access_of()
    tried_by_stage(access, [1.0] * 12, [0.0] * 12)
    every = EvaluationSet.objects.get(golden=ALL_GOLDEN)
    assert not evaluation_runs(every).exists() and not open_alarms().exists()
    assert run_create(chosen=every, by=None).tried_id is None


@pytest.mark.django_db
def test_questions_without_a_document_are_not_searched(offline: None) -> None:
    access = access_of()
    GoldenQuestion.objects.create(text="What?", collection=CollectionFactory(), expects="NO_ANSWER")
    draft_save(access=access, values={"search.top_k": 9})
    with pytest.raises(InvalidInputError, match="None of these golden questions"):
        draft_try(access=access, set_name=None, answers=False)
    assert draft_try(access=access, set_name=None).trial is None


@pytest.mark.django_db
def test_a_trial_is_cancelled_with_its_answers(offline: None) -> None:
    access = access_of()
    question = GoldenQuestion.objects.create(text="What?", collection=CollectionFactory())
    GoldenRelevance.objects.create(question=question, document=DocumentFactory(collection=question.collection))
    draft_save(access=access, values={"search.top_k": 9})
    client = client_of(access.user)
    told = client.post("/api/review/settings/draft/try", {}, content_type="application/json").json()
    data = client.post(f"/api/review/settings/tries/{told['tried']}/cancel", {}, content_type="application/json").json()
    assert (data["open"], data["answers"], data["search"]["cancelled"]) == (False, told["id"], True)
