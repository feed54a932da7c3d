"""A dry run does all that a round does, and keeps nothing of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from feedback.models import RatedQuestion
from feedback.rounds.round import RoundOutcome, feedback_round
from retrieval.models import Chunk
from tests.factories import CollectionFactory
from tests.feedback.rated import passage, rate_chunk
from tests.ollama_server import EMBED_DIM, EMBED_MODEL, OllamaServer

# Without the session's Milvus Lite each engine would start one of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("milvus")]
QUESTION = "How many books may I borrow?"


@pytest.fixture(autouse=True)
def site(online: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


@pytest.fixture
def chunk() -> Chunk:
    return passage(
        "Ten books.",
        collection=CollectionFactory(embedding_model=EMBED_MODEL, embedding_dim=EMBED_DIM),
    )


def contents() -> dict[str, list[tuple[Any, ...]]]:
    return {
        model.__name__: list(model._base_manager.order_by("pk").values_list())
        for model in apps.get_models(include_auto_created=True)
    }


def compared(outcome: RoundOutcome) -> dict[str, Any]:
    told = outcome.as_dict()
    told["guard"].pop("duration_ms", None)
    return {
        name: value
        for name, value in told.items()
        if name not in ("dry_run", "revision", "number", "timings_ms", "duration_ms", "notes")
    }


def test_the_database_is_as_it_was_and_the_round_that_follows_does_what_was_said(
    chunk: Chunk,
) -> None:
    rate_chunk(QUESTION, chunk, by=2)
    feedback_round()
    rate_chunk(QUESTION, chunk, by=2, score=1, tags=("wrong_source",))
    rate_chunk("Who may borrow?", chunk)
    before = contents()
    outcome = feedback_round(dry_run=True)
    assert contents() == before
    assert (outcome.ratings, outcome.status) == (3, "live")
    assert compared(outcome) == compared(feedback_round())
    assert RatedQuestion.objects.exclude(embedding_model="").count() == 2
