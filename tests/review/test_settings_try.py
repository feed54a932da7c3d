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
from feedback.models import GoldenQuestion, GoldenRelevance
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
    made = await sync_to_async(draft_try)(access=access, set_name=None)
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
    assert "As expected" in text and "Nothing so far." in text
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


@pytest.mark.django_db
def test_a_trial_is_cancelled(offline: None) -> None:
    access = access_of()
    question = GoldenQuestion.objects.create(text="What?", collection=CollectionFactory())
    GoldenRelevance.objects.create(question=question, document=DocumentFactory(collection=question.collection))
    draft_save(access=access, values={"search.top_k": 9})
    client = client_of(access.user)
    told = client.post("/api/review/settings/draft/try", {}, content_type="application/json").json()
    data = client.post(f"/api/review/settings/tries/{told['tried']}/cancel", {}, content_type="application/json").json()
    assert (data["open"], data["answers"]) == (False, told["id"])
