"""Pairs of rated questions are decided once, in a round, and what was decided counts in votes and in searches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from feedback.models import Boost, QuestionPair, QuestionVector, RatedQuestion
from feedback.ranking.question_similarity import AskedQuestion
from feedback.rounds import question_pairs
from feedback.rounds.live import snapshot_load, vector_encode
from feedback.rounds.question_pairs import Decided, decided_pairs, question_pairs_decide
from feedback.rounds.questions import QuestionReader
from feedback.rounds.round import feedback_round
from retrieval.text.analysis import query_terms
from tests.feedback.rated import answered, liked, passage, rate, regular
from tests.ollama_server import OllamaServer

pytestmark = pytest.mark.django_db
BEGIN, START = "When does the semester begin?", "When does the semester start?"
FULL, PART = "What is the notice period for full-time staff?", "What is the notice period for part-time staff?"


@pytest.fixture(autouse=True)
def no_questions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)


def rated(*texts: str) -> list[int]:
    return list(QuestionReader().questions(texts).values())


def similarity(text: str) -> float:
    return snapshot_load().highest_similarity(AskedQuestion(text=text, terms=query_terms(text)))


# ------------------------------------------------------------------------------------------------ decided
def test_rewordings_are_decided_to_be_the_same_and_contrasts_are_not() -> None:
    begin, start, full, part = rated(BEGIN, START, FULL, PART)
    question_pairs_decide()
    pair = QuestionPair.objects.get()
    assert ((pair.first_id, pair.second_id), pair.decided_by) == ((begin, start), "words")
    assert pair.same >= 0.5
    assert len(decided_pairs([full, part])) == 0


def test_questions_are_compared_once() -> None:
    rated(BEGIN, START)
    assert question_pairs_decide().questions == 2
    QuestionPair.objects.update(same=0.9)
    assert question_pairs_decide() == Decided()
    assert QuestionPair.objects.get().same == 0.9


def test_a_later_question_is_compared_with_earlier_ones() -> None:
    rated(BEGIN)
    question_pairs_decide()
    rated(START)
    assert question_pairs_decide().questions == 1
    assert QuestionPair.objects.count() == 1


def test_a_round_takes_so_many_new_questions_and_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_pairs, "MOST_NEW", 1)
    rated(BEGIN, START)
    assert question_pairs_decide().waiting == 1
    assert question_pairs_decide().waiting == 0
    assert QuestionPair.objects.count() == 1


def test_without_vectors_that_are_to_come_questions_are_compared_again() -> None:
    rated(BEGIN, START)
    question_pairs_decide(wait_for_vectors=True)
    assert QuestionPair.objects.count() == 1
    assert RatedQuestion.objects.filter(compared=False).count() == 2


def test_pairs_go_with_their_questions() -> None:
    rated(BEGIN, START)
    question_pairs_decide()
    RatedQuestion.objects.filter(text=BEGIN).delete()
    assert not QuestionPair.objects.exists()


def test_vectors_count_where_both_questions_have_one() -> None:
    for question in rated(BEGIN, START):
        vector = vector_encode(np.asarray([1.0, 0.0], dtype=np.float32))
        QuestionVector.objects.create(question_id=question, embedding_model="m", embedding_dim=2, vector=vector)
    question_pairs_decide()
    assert QuestionPair.objects.get().decided_by == "vectors"


# ------------------------------------------------------------------------------------------------ the model's word
def open_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions that their words leave open."""
    monkeypatch.setattr(question_pairs, "OPEN_TO", 1.0)
    rated(BEGIN, START)


@pytest.mark.parametrize("said", [True, False])
def test_the_fast_model_is_asked_where_words_leave_it_open(
    online: OllamaServer, monkeypatch: pytest.MonkeyPatch, said: bool
) -> None:
    open_pair(monkeypatch)
    question_pairs_decide(wait_for_vectors=True)
    plain = QuestionPair.objects.get().same
    online.reset()
    online.reply("exactly the same answer", text=json.dumps({"same": said}))
    assert question_pairs_decide().asked == 1
    pair = QuestionPair.objects.get()
    assert pair.decided_by not in ("words", "vectors")
    assert (pair.same > plain) is said


def test_a_pair_that_its_words_decide_is_not_asked_about(online: OllamaServer) -> None:
    rated(FULL, PART)
    assert question_pairs_decide().asked == 0
    assert online.chats == []


def test_a_model_that_fails_leaves_the_words(online: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    open_pair(monkeypatch)
    online.reply("exactly the same answer", text="no idea")
    assert question_pairs_decide().asked == 0
    assert QuestionPair.objects.get().decided_by == "words"


def test_a_model_that_says_the_same_to_everything_counts_as_none(
    online: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_pairs, "FEWEST_WORDS", 1)
    open_pair(monkeypatch)
    online.reply("exactly the same answer", text=json.dumps({"same": True}))
    assert question_pairs_decide().asked == 1
    assert QuestionPair.objects.get().decided_by == "words"


# ------------------------------------------------------------------------------------------------ what it is for
def test_one_voter_has_one_vote_whatever_the_wording() -> None:
    chunk, user = passage("In October."), regular()
    for question in (BEGIN, START):
        rate(answered(question, [chunk], user=user), 5, "accurate")
    feedback_round()
    assert Boost.objects.filter(kind="query").count() == 1


def test_votes_for_one_question_count_for_another_that_was_decided_the_same() -> None:
    chunk = passage("In October.")
    liked(BEGIN, chunk, by=3)
    feedback_round()
    assert similarity(BEGIN) == 1.0
    assert similarity(START) >= 0.6
    assert similarity("When does the semester end?") == 0.0


def test_what_was_decided_carries_votes_on_in_searches() -> None:
    chunk = passage("In October.")
    unlike = "first day of lectures"
    liked(BEGIN, chunk, by=2)
    liked(unlike, passage("On a Monday."), by=2)
    feedback_round()
    first, second = RatedQuestion.objects.order_by("pk")
    QuestionPair.objects.create(first=first, second=second, same=0.8, decided_by="words", decided_at=timezone.now())
    liked(BEGIN, passage("Another."), by=2)
    feedback_round()
    snapshot = snapshot_load()
    asked = AskedQuestion(text=unlike, terms=query_terms(unlike))
    found: Any = snapshot.similarities(asked).of(np.arange(2))
    assert sorted(found.tolist()) == pytest.approx([0.8, 1.0])
