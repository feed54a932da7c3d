"""Evidence follows a rated passage by its text, into a document that is read anew."""

from __future__ import annotations

import random

import pytest
from django.utils import timezone

from feedback.models import FeedbackState, RatedPassage
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk, Document
from tests.factories import ChunkFactory
from tests.feedback.rated import passage, rate_chunk

QUESTION = "How many books may undergraduates borrow?"


def prose(seed: int, words: int = 120) -> str:
    letters = random.Random(seed)
    return " ".join("".join(letters.choices("abcdefghijklmnop", k=6)) for _ in range(words)) + "."


ONE, OTHER, THIRD = prose(1), prose(2), prose(3)


# ------------------------------------------------------------------------------------------------ documents read anew
def read_anew(document: Document, *texts: str) -> list[Chunk]:
    document.chunks.all().delete()
    Document.objects.filter(pk=document.pk).update(updated_at=timezone.now())
    return [ChunkFactory(document=document, seq=seq, text=text) for seq, text in enumerate(texts)]


@pytest.mark.django_db
def test_a_live_boost_moves_with_its_passage_without_another_revision(
    no_questions_to_measure: None,
) -> None:
    chunk = passage(ONE)
    rate_chunk(QUESTION, chunk, by=3)
    assert feedback_round().status == "live"
    version = FeedbackState.objects.get().version
    _, same = read_anew(chunk.document, OTHER, ONE)
    assert feedback_round().status == "unchanged"
    assert FeedbackState.objects.get().version == version + 1
    assert RatedPassage.objects.get().chunk_id == same.pk
