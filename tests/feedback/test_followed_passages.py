"""Evidence follows a rated passage into a document that is read anew and cut otherwise."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.base import ContentFile
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from feedback.models import Evidence, FeedbackState, PassageSketch, RatedPassage
from feedback.ranking.text_overlap import SKETCH_HASHES, Sketches, shingles, sketch
from feedback.rounds.evidence import evidence_gather
from feedback.rounds.live import content_of
from feedback.rounds.passages import COVERED, passages_relocate, passages_sketch
from feedback.rounds.proposals import ballot_load, proposal_make
from feedback.rounds.round import feedback_round
from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine import close_engine
from retrieval.models import Chunk, Document
from retrieval.services.documents import document_create, document_reingest
from retrieval.services.ingest import document_ingest
from tests.factories import ChunkFactory, CollectionFactory
from tests.feedback.rated import answered, liked, passage, rate, regular

QUESTION = "How many books may undergraduates borrow?"


def prose(seed: int, words: int = 120) -> str:
    letters = random.Random(seed)
    return " ".join("".join(letters.choices("abcdefghijklmnop", k=6)) for _ in range(words)) + "."


ONE, OTHER, THIRD = prose(1), prose(2), prose(3)


# ------------------------------------------------------------------------------------------------ overlap of texts
@given(st.text(min_size=1), st.text(), st.text())
def test_a_text_stands_whole_in_one_that_holds_it(text: str, before: str, after: str) -> None:
    inside = len("".join(text.split())) >= 12 or not before + after  # shorter ones have no whole shingle
    share = Sketches([sketch(text)]).shares_in(before + text + after)[0]
    assert share == 1.0 or not inside or not text.strip()


def test_white_space_does_not_count() -> None:
    assert Sketches([sketch("Ten books\nfor four weeks.")]).shares_in("Ten  booksfor four\tweeks.").tolist() == [1.0]


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
def test_the_share_that_is_left_is_told_within_a_few_points(kept: float) -> None:
    texts = [prose(seed, words=300) for seed in range(30)]
    shares = [Sketches([sketch(text)]).shares_in(text[: int(len(text) * kept)])[0] for text in texts]
    assert sum(shares) / len(shares) == pytest.approx(kept, abs=0.03)


def test_other_texts_share_next_to_nothing() -> None:
    assert max(Sketches([sketch(ONE), sketch(OTHER)]).shares_in(THIRD)) < 0.02


def test_a_sketch_is_small_however_long_the_text_is() -> None:
    assert len(sketch(prose(1, words=5000))) == 4 * SKETCH_HASHES
    assert len(shingles("")) == 0
    assert Sketches([sketch(""), sketch("Ten.")]).shares_in("").tolist() == [0.0, 0.0]


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
    passages_relocate(since=None)
    return chunk


@pytest.mark.django_db
def test_evidence_follows_to_the_chunk_that_holds_nearly_all_of_its_passage() -> None:
    chunk = rated(ONE)
    _, holds, _ = read_anew(chunk.document, OTHER, f"{OTHER[-60:]} {ONE[:-40]}", f"{ONE[-40:]} {THIRD}")
    assert passages_relocate(since=None) == 1
    assert RatedPassage.objects.get().chunk_id == holds.pk


@pytest.mark.django_db
def test_evidence_on_a_passage_that_was_cut_in_two_is_left_out() -> None:
    chunk = rated(ONE)
    middle = len(ONE) // 2
    read_anew(chunk.document, ONE[:middle], ONE[middle:])
    passages_relocate(since=None)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_evidence_on_a_passage_that_was_rewritten_is_left_out() -> None:
    chunk = rated(ONE)
    read_anew(chunk.document, f"{ONE[: int(len(ONE) * (COVERED - 0.15))]} {OTHER}", THIRD)
    passages_relocate(since=None)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_the_very_text_goes_before_one_that_holds_it() -> None:
    chunk = rated(ONE)
    _, same = read_anew(chunk.document, f"{ONE} {OTHER}", ONE)
    passages_relocate(since=None)
    assert RatedPassage.objects.get().chunk_id == same.pk


@pytest.mark.django_db
def test_small_edits_one_after_the_other_do_not_lead_a_passage_away() -> None:
    chunk = rated(ONE)
    words, new = ONE.split(), OTHER.split()
    for edited in (12, 24, 36, 48):
        read_anew(chunk.document, " ".join(new[:edited] + words[edited:]))
        passages_relocate(since=None)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_a_passage_of_another_document_is_not_taken() -> None:
    chunk = rated(ONE)
    passage(f"{ONE} {OTHER}")
    read_anew(chunk.document, THIRD)
    passages_relocate(since=None)
    assert RatedPassage.objects.get().chunk_id is None


@pytest.mark.django_db
def test_a_text_that_has_changed_since_is_not_sketched() -> None:
    chunk = passage(ONE)
    rate(answered(QUESTION, [chunk]), 5)
    evidence_gather()
    Chunk.objects.filter(pk=chunk.pk).update(text=OTHER)
    assert passages_sketch() == 0
    assert not PassageSketch.objects.exists()


@pytest.mark.django_db
def test_a_voter_has_one_voice_on_a_chunk_that_two_passages_stand_in() -> None:
    chunk = passage(ONE)
    voter = regular()
    rate(answered(QUESTION, [chunk], user=voter), 5)
    evidence_gather()
    passages_relocate(since=None)
    (larger,) = read_anew(chunk.document, f"{ONE} {OTHER}")
    rate(answered(QUESTION, [larger], user=voter), 5)
    evidence_gather()
    passages_relocate(since=None)
    assert Evidence.objects.count() == 2
    proposal = proposal_make(ballot_load(), content_of(None))
    assert proposal.content.queries.raters_up.tolist() == [1]


@pytest.mark.django_db
def test_a_live_boost_moves_with_its_passage_without_another_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)  # so that the guard needs no index
    chunk = passage(ONE)
    liked(QUESTION, chunk, by=3)
    assert feedback_round().status == "live"
    version = FeedbackState.objects.get().version
    (larger,) = read_anew(chunk.document, f"{ONE} {OTHER}")
    assert feedback_round().status == "unchanged"
    assert FeedbackState.objects.get().version == version + 1
    assert RatedPassage.objects.get().chunk_id == larger.pk


@pytest.mark.django_db
def test_a_rating_of_before_the_document_was_read_anew_counts_for_the_chunk_that_holds_what_was_shown() -> None:
    chunk = passage(ONE)
    rate(answered(QUESTION, [chunk]), 5)
    _, holds = read_anew(chunk.document, OTHER, f"{OTHER[-60:]} {ONE}")
    evidence_gather()
    assert Evidence.objects.get().passage.chunk_id == holds.pk


@pytest.mark.django_db
def test_a_rating_of_what_is_in_no_chunk_any_more_gives_no_evidence() -> None:
    chunk = passage(ONE)
    rate(answered(QUESTION, [chunk]), 5)
    read_anew(chunk.document, OTHER, ONE[: len(ONE) // 2])
    evidence_gather()
    assert not Evidence.objects.exists()


@pytest.mark.django_db
def test_passages_are_found_again_as_soon_as_the_ingest_is_done(django_capture_on_commit_callbacks: Any) -> None:
    chunk = rated(ONE)
    _, holds = read_anew(chunk.document, OTHER, f"{ONE} {THIRD}")
    document = Document.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        document.save(update_fields=["status", "updated_at"])
    assert RatedPassage.objects.get().chunk_id == holds.pk


@pytest.mark.django_db(transaction=True)
async def test_evidence_outlives_another_size_of_chunks(
    rag_settings: Callable[..., None], milvus_settings: MilvusSettings, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"
    offline = {"milvus": milvus_settings, "ollama": {"offline": "1", "embed_model": ""}}
    rag_settings(**offline, ingest={"chunk_tokens": 120, "chunk_overlap_tokens": 10})
    document = await sync_to_async(added)("\n\n".join(prose(seed, words=50) for seed in range(20)))
    await document_ingest(document.pk)
    chunk = await Chunk.objects.select_related("document").aget(seq=7)
    await sync_to_async(liked)(QUESTION, chunk)
    await sync_to_async(evidence_gather)()
    await sync_to_async(passages_sketch)()
    rag_settings(**offline, ingest={"chunk_tokens": 400, "chunk_overlap_tokens": 40})
    await sync_to_async(document_reingest)(document=document)
    assert await document_ingest(document.pk) == "ready"
    rated_passage = await RatedPassage.objects.aget()
    holds = await Chunk.objects.aget(pk=rated_passage.chunk_id)
    assert holds.pk != chunk.pk
    assert chunk.text in holds.text
    await close_engine()


def added(text: str) -> Document:
    upload = ContentFile(text.encode(), name="rules.txt")
    return document_create(collection=CollectionFactory(), upload=upload, file_name="rules.txt", queue=False).document
