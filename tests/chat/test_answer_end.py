"""The end of an answer: what its run has just stored is shown, and taken in by the desk, without being read again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chat import selectors
from chat.messages.data import message_data
from chat.models import Message
from chat.runs.answers import Failure, Outcome, answer_finish, answer_lease, answer_save_partial
from ragsite.core.wording import worded
from retrieval.trace import StepRecord
from retrieval.values import Clarification, CuratedBy, GroundedSentence, Scores
from tests.chat.conftest import source
from tests.factories import (
    DecisionStepFactory,
    DocumentFactory,
    MessageFactory,
    RatingFactory,
    SourceFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db

STEPS = (
    StepRecord(seq=2, name="generate", summary=worded("{count} passages", count=2), detail={"ids": ("a", 1.5)}),
    StepRecord(seq=1, name="retrieve", summary="Found 2", detail={"score": float("nan"), "text": "a\0b\ud800"}),
)
ANSWER = Outcome(
    status="complete",
    text="Undergraduates may borrow ten books [1].\0 \ud800",
    decision="ANSWER",
    reason=worded("It is there."),
    sources=(source(2, scores=Scores(final=float("inf"))), source(1)),
    grounding=(GroundedSentence(sentence="Ten [1].", start=0, end=8, markers=(1,), score=0.9, supported=True),),
    curated=CuratedBy(id="7", by="Ann", on="2025-01-02"),
    steps=STEPS,
    usage={"llm_calls": 1, "total_ms": 20},
    degraded=[{"step": "rerank", "reason": worded("late")}],
    again=False,
)
OUTCOMES = {
    "answer": ANSWER,
    "nothing": Outcome(status="stopped", text="", again=False),
    "asked back": Outcome(
        status="complete",
        text="Which?",
        decision="CLARIFY",
        clarification=Clarification(question="Which?", options=("a\0", "b")),
        again=False,
    ),
    "failed": Outcome(
        status="failed", text="Ten", failure=Failure(code="timeout", message=worded("Late.")), steps=STEPS
    ),
    "again": replace(ANSWER, again=True),
    "continued": replace(ANSWER, again=True, continued=True),
}


def being_written(**fields: Any) -> tuple[Message, uuid.UUID]:
    question = MessageFactory(question=True)
    answer = MessageFactory(session=question.session, reply_to=question, status="streaming", text="", **fields)
    run_id = uuid.uuid4()
    assert answer_lease(answer.pk, run_id=run_id).take()
    return answer, run_id


def with_an_earlier_run(answer: Message) -> None:
    """What an earlier run, and people, have left."""
    DecisionStepFactory(message=answer, seq=1)
    for marker, chunk_id in ((1, "chunk-1"), (2, "another"), (9, "chunk-9")):
        kept = SourceFactory(message=answer, marker=marker, chunk_id=chunk_id)
        RatingFactory(message=answer, source=kept, score=marker % 5 + 1)
    RatingFactory(message=answer, score=2)
    RatingFactory(message=answer, score=1, user=UserFactory())


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_was_stored_is_what_a_reader_would_find(name: str) -> None:
    answer, run_id = being_written()
    if OUTCOMES[name].again:
        with_an_earlier_run(answer)
        MessageFactory(session=answer.session, reply_to=answer.reply_to, superseded=True)
    stored = answer_finish(message_id=answer.pk, run_id=run_id, outcome=OUTCOMES[name])
    assert stored is not None
    found = selectors.message_find(answer.pk)
    assert found is not None
    assert json.dumps(message_data(selectors.message_ended(stored))) == json.dumps(message_data(found))
    assert stored.wordings == found.wordings


def test_sources_that_were_stored_on_the_way_are_shown_with_the_rest() -> None:
    answer, run_id = being_written()
    assert answer_save_partial(message_id=answer.pk, run_id=run_id, text="Ten", sources=(source(1, cited=False),))
    stored = answer_finish(message_id=answer.pk, run_id=run_id, outcome=ANSWER)
    assert stored is not None
    shown = message_data(selectors.message_ended(stored))["sources"]
    assert [(one["marker"], one["cited"]) for one in shown] == [(1, True), (2, True)]


def test_an_answer_of_another_run_is_not_finished() -> None:
    answer, _ = being_written()
    assert answer_finish(message_id=answer.pk, run_id=uuid.uuid4(), outcome=ANSWER) is None


def test_the_end_of_an_answer_takes_few_queries(
    django_assert_max_num_queries: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    DocumentFactory(pk=source().chunk.document_id)
    answer, run_id = being_written()
    with django_assert_max_num_queries(20), django_capture_on_commit_callbacks(execute=True):  # 28, savepoints included
        stored = answer_finish(message_id=answer.pk, run_id=run_id, outcome=ANSWER)
    assert stored is not None
    with django_assert_max_num_queries(2):
        selectors.message_ended(stored)
