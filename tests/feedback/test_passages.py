"""Evidence follows a rated passage by its text, into a document that is read anew."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.utils import timezone

from feedback.models import FeedbackState, RatedPassage
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.passages import document_relocate
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk, Document
from tests.factories import ChunkFactory
from tests.feedback.rated import answered, liked, passage, rate

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


def rated(text: str) -> Chunk:
    """A passage whose evidence a round has drawn."""
    chunk = passage(text)
    rate(answered(QUESTION, [chunk]), 5)
    evidence_gather()
    document_relocate(chunk.document_id)
    return chunk


@pytest.mark.django_db
def test_the_chunk_with_the_very_text_is_found() -> None:
    chunk = rated(ONE)
    _, same = read_anew(chunk.document, f"{ONE} {OTHER}", ONE)
    document_relocate(chunk.document_id)
    assert RatedPassage.objects.get().chunk_id == same.pk


@pytest.mark.django_db
def test_evidence_on_a_text_that_no_chunk_has_any_more_is_left_out() -> None:
    chunk = rated(ONE)
    read_anew(chunk.document, f"{ONE} {OTHER}", THIRD)
    document_relocate(chunk.document_id)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_a_passage_of_another_document_is_not_taken() -> None:
    chunk = rated(ONE)
    passage(f"{ONE} {OTHER}")
    read_anew(chunk.document, THIRD)
    document_relocate(chunk.document_id)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_a_live_boost_moves_with_its_passage_without_another_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)  # so that the guard needs no index
    chunk = passage(ONE)
    liked(QUESTION, chunk, by=3)
    assert feedback_round().status == "live"
    version = FeedbackState.objects.get().version
    _, same = read_anew(chunk.document, OTHER, ONE)
    assert feedback_round().status == "unchanged"
    assert FeedbackState.objects.get().version == version + 1
    assert RatedPassage.objects.get().chunk_id == same.pk


@pytest.mark.django_db
def test_passages_are_found_again_as_soon_as_the_ingest_is_done(django_capture_on_commit_callbacks: Any) -> None:
    chunk = rated(ONE)
    _, same = read_anew(chunk.document, OTHER, ONE)
    document = Document.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        document.save(update_fields=["status", "updated_at"])
    assert RatedPassage.objects.get().chunk_id == same.pk
