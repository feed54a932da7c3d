"""The end of an answer: what its run stores, and what a reader finds."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from chat import selectors
from chat.errors import AnswerFailedError
from chat.messages.data import message_data
from chat.models import Message
from chat.runs.answers import Outcome, answer_finish, answer_lease, answer_save_partial
from ragsite.core.wording import worded
from retrieval.trace import StepRecord
from retrieval.values import Answer, Clarification, Scores
from tests.chat.conftest import source
from tests.factories import DecisionStepFactory, MessageFactory, RatingFactory, SourceFactory

pytestmark = pytest.mark.django_db

STEPS = (
    StepRecord(seq=1, name="retrieve", summary="Found 2", detail={"score": float("nan"), "text": "a\0b\ud800"}),
    StepRecord(seq=2, name="generate", summary=worded("{count} passages", count=2), detail={"ids": ("a", 1.5)}),
)
ANSWER = Answer(
    decision="ANSWER",
    text="Undergraduates may borrow ten books [1].\0 \ud800",
    sources=(source(2, scores=Scores(final=float("inf"))), source(1)),
)
OUTCOME = Outcome(status="complete", answer=ANSWER, steps=STEPS, usage={"llm_calls": 1, "total_ms": 20})


def being_written() -> tuple[Message, uuid.UUID]:
    question = MessageFactory(question=True)
    answer = MessageFactory(session=question.session, reply_to=question, status="streaming", text="")
    run_id = uuid.uuid4()
    assert answer_lease(answer.pk, run_id=run_id).take()
    return answer, run_id


def ended(outcome: Outcome, answer: Message, run_id: uuid.UUID) -> dict[str, Any]:
    assert answer_finish(message_id=answer.pk, run_id=run_id, outcome=outcome)
    stored = selectors.message_find(answer.pk)
    assert stored is not None and stored.lease_token is None
    return message_data(stored)


def test_what_no_column_holds_is_left_out() -> None:
    shown = ended(OUTCOME, *being_written())
    assert (shown["status"], shown["decision"]) == ("complete", "ANSWER")
    assert shown["answer"] == "Undergraduates may borrow ten books [1]. ?"
    assert [step["name"] for step in shown["decision_path"]] == ["retrieve", "generate"]
    assert shown["decision_path"][0]["detail"] == {"score": None, "text": "ab?"}


def test_what_the_options_of_a_clarification_stand_for_is_not_shown() -> None:
    clarification = Clarification(question="Which?", options=("a\0", "b"), documents=("x", "y"))
    asked_back = Answer(decision="CLARIFY", text="Which?", clarification=clarification)
    shown = ended(replace(OUTCOME, answer=asked_back), *being_written())
    assert shown["clarification"] == {"question": "Which?", "options": ["a", "b"]}


def test_a_failed_answer_has_its_text_and_no_decision() -> None:
    failure = AnswerFailedError(code="timeout", message=worded("Late."), status=503)
    shown = ended(replace(OUTCOME, status="failed", failure=failure), *being_written())
    assert (shown["status"], shown["decision"], shown["status_reason"]) == ("failed", None, "Late.")
    assert shown["answer"] and shown["error"]["code"] == "timeout"


@pytest.mark.parametrize("continued", [False, True])
def test_an_earlier_run_leaves_its_path_only_to_an_answer_that_goes_on(continued: bool) -> None:
    answer, run_id = being_written()
    DecisionStepFactory(message=answer, seq=1, name="route")
    kept = SourceFactory(message=answer, marker=1, chunk_id="chunk-1")
    SourceFactory(message=answer, marker=2, chunk_id="another")
    RatingFactory(message=answer, source=kept, score=5, user=answer.session.user)
    shown = ended(replace(OUTCOME, continued=continued), answer, run_id)
    names = [step["name"] for step in shown["decision_path"]]
    assert names == [*(["route"] if continued else []), "retrieve", "generate"]
    assert [(entry["marker"], entry["chunk_id"]) for entry in shown["sources"]] == [(1, "chunk-1"), (2, "chunk-2")]
    assert shown["sources"][0]["rating"]["score"] == 5


def test_sources_that_were_stored_on_the_way_are_shown_with_the_rest() -> None:
    answer, run_id = being_written()
    assert answer_save_partial(message_id=answer.pk, run_id=run_id, text="Ten", sources=(source(1, cited=False),))
    shown = ended(OUTCOME, answer, run_id)["sources"]
    assert [(entry["marker"], entry["cited"]) for entry in shown] == [(1, True), (2, True)]


def test_an_answer_of_another_run_is_not_finished() -> None:
    answer, _ = being_written()
    assert not answer_finish(message_id=answer.pk, run_id=uuid.uuid4(), outcome=OUTCOME)
