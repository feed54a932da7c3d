"""What may not go live: measured on golden and on recent questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User

from feedback.models import GoldenQuestion, Revision
from feedback.ranking.guard import Compared, judge, rank_biased_overlap
from feedback.rounds.guard import recent_questions
from feedback.rounds.round import feedback_round
from ragsite.core.server_settings import MilvusSettings
from retrieval.compose import close_engine
from retrieval.knowledge.index_sync.repair import index_repair
from retrieval.models import Chunk, Collection
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.rated import make_answer, rate_chunk

QUESTION = "How many books may undergraduates borrow?"
TEN = "Undergraduates may borrow ten"


def compared(before: str, after: str, relevant: str = "") -> Compared:
    return Compared(
        question="q",
        before=before.split(),
        after=after.split(),
        relevant=dict.fromkeys(relevant.split(), 1),
    )


# ------------------------------------------------------------------------------------------------ the judgement


def test_other_lists_for_most_recent_questions_hold_it() -> None:
    assert "overlap" in judge([compared("a b c", "x y z")] * 4).reason


def test_rank_biased_overlap_follows_the_definition_summed_without_end() -> None:
    """Agreement beyond what is seen stays as it was at the end: the extrapolation of lists of one length."""
    left, right, p = "abcdefghij", "badcxeghyj", 0.9
    agreement = [len(set(left[:depth]) & set(right[:depth])) / depth for depth in range(1, 11)]
    endless = (1 - p) * sum(
        p ** (depth - 1) * agreement[min(depth, 10) - 1] for depth in range(1, 2000)
    )
    assert rank_biased_overlap(left, right) == pytest.approx(endless)


# ------------------------------------------------------------------------------------------------ on a real index
def indexed(texts: Sequence[str]) -> Collection:
    collection: Collection = CollectionFactory(builtin=True)
    for text in texts:
        ChunkFactory(
            document=DocumentFactory(collection=collection, chunk_count=1),
            text=text,
            seq=0,
            indexed=False,
        )

    async def fill() -> None:
        await index_repair()
        await close_engine()

    async_to_sync(fill)()
    return collection


@pytest.fixture
def library(offline: None, milvus: MilvusSettings, db: None) -> Collection:
    return indexed(
        (
            "Undergraduates may borrow ten books for four weeks.",
            "Undergraduates may borrow twenty books for eight weeks, said the rules of 2001.",
            "The swimming pool opens at seven.",
        )
    )


def chunk_of(collection: Collection, begin: str) -> Chunk:
    return Chunk.objects.get(document__collection=collection, text__startswith=begin)


def golden(collection: Collection, chunk: Chunk, text: str = QUESTION) -> GoldenQuestion:
    question = GoldenQuestion.objects.create(text=text, collection=collection)
    question.documents.add(chunk.document)
    return question


def test_votes_for_the_wrong_passage_are_held_with_the_questions_that_got_worse(
    library: Collection,
) -> None:
    right, wrong = (
        chunk_of(library, TEN),
        chunk_of(library, "Undergraduates may borrow twenty"),
    )
    golden(library, right)
    rate_chunk(QUESTION, wrong, by=4)
    rate_chunk(QUESTION, right, by=4, score=1, tags=["wrong_source"])
    outcome = feedback_round()
    assert outcome.status == "held", outcome.guard
    assert "nDCG@10 drops" in outcome.reason
    assert [one["question"] for one in outcome.guard["worse"]] == [QUESTION]
    assert Revision.objects.get().guard == outcome.guard


def test_votes_for_the_right_passage_go_live(library: Collection) -> None:
    right, wrong = (
        chunk_of(library, TEN),
        chunk_of(library, "Undergraduates may borrow twenty"),
    )
    golden(library, right)
    rate_chunk(QUESTION, right, by=4)
    rate_chunk(QUESTION, wrong, by=4, score=1, tags=["outdated"])
    outcome = feedback_round()
    assert outcome.status == "live", outcome.guard
    assert outcome.guard["golden"] == 1


def test_an_index_that_is_away_holds_the_revision(
    library: Collection, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = chunk_of(library, TEN)
    golden(library, right)
    rate_chunk(QUESTION, right, by=2)
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.engine.search.milvus.connection.CONNECT_TIMEOUT_S", 0.2)
        patch.setattr("retrieval.engine.search.milvus.connection.TIMEOUT_S", 0.5)
        rag_settings(milvus={"uri": "http://127.0.0.1:9"})
        outcome = feedback_round()
    assert outcome.status == "held"
    assert outcome.reason.startswith("it could not be measured")
    assert outcome.guard["measured"] is False


@pytest.mark.django_db
def test_recent_questions_are_asked_in_the_users_own_scope(rag_settings: Any) -> None:
    owner: User = UserFactory()
    private = CollectionFactory(owner=owner, visibility="private", builtin=True)
    chunk = ChunkFactory(document=DocumentFactory(collection=private), text="Ten books.", seq=0)
    make_answer(QUESTION, [chunk], user=owner)
    make_answer("Not mine?", [chunk])
    scopes = {asked.text: asked.scope.ids for asked in recent_questions()}
    assert str(private.pk) in scopes[QUESTION]
    assert str(private.pk) not in scopes["Not mine?"]


def test_test_questions_without_documents_are_not_denied() -> None:
    assert "there are no test questions yet" in str(judge([]).notes)
    assert "the one test question names no document" in str(judge([], other_golden=1).notes)
    assert "none of the 3 test questions names a document" in str(judge([], other_golden=3).notes)
