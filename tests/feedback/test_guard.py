"""What may not go live: measured on golden and on recent questions."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User

from feedback.models import GoldenQuestion, GoldenRelevance, Revision
from feedback.ranking.guard import Compared, churn, judge
from feedback.rounds.guard import golden_questions, recent_questions
from feedback.rounds.round import feedback_round
from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine import close_engine, get_engine
from retrieval.models import Chunk, Collection
from retrieval.providers.lexical import SPACE
from retrieval.services.index_sync import index_repair
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.rated import answered, liked, rate

QUESTION = "How many books may undergraduates borrow?"
TEN, TWENTY = "Undergraduates may borrow ten", "Undergraduates may borrow twenty"


def compared(before: str, after: str, relevant: str = "") -> Compared:
    return Compared(
        question="q", before=before.split(), after=after.split(), relevant=dict.fromkeys(relevant.split(), 1)
    )


# ------------------------------------------------------------------------------------------------ the judgement
def test_a_drop_beyond_the_margin_holds_and_names_the_questions() -> None:
    report = judge([compared("a b", "b a", "a")], [], margin=0.01, max_churn=1.0)
    assert not report.passed
    assert "golden" in report.reason
    assert [(one.before, one.after) for one in report.worse] == [(1.0, pytest.approx(0.6309, abs=1e-4))]


def test_a_drop_within_the_margin_passes() -> None:
    assert judge([compared("a b", "b a", "a")], [], margin=0.5, max_churn=1.0).passed


def test_one_question_that_got_worse_is_weighed_against_all() -> None:
    untouched = [Compared(question="other", relevant={"a": 1}, untouched=True)] * 99
    report = judge([compared("a b", "b a", "a"), *untouched], [], margin=0.01, max_churn=1.0)
    assert report.passed
    assert (report.golden, report.measured) == (100, 1)


def test_too_much_churn_holds() -> None:
    report = judge([], [compared("a b c d", "a x y z")], margin=0.01, max_churn=0.5)
    assert not report.passed
    assert report.churn == 0.75
    assert report.notes == ("there are no golden questions: only the churn was measured",)


def test_another_order_of_the_same_results_is_no_churn() -> None:
    assert churn(["a", "b"], ["b", "a"]) == 0.0


def test_churn_is_the_share_of_the_first_ten_that_were_not_there() -> None:
    ten = [f"c{number}" for number in range(10)]
    assert churn(ten, [*ten[:9], "new"]) == 0.1
    assert churn([*ten, "late"], [*ten[:9], "late"]) == 0.1
    assert churn(ten, [*ten, "new"]) == 0.0
    assert churn(["a"], []) == 0.0


def test_a_report_tells_what_was_measured_and_why_the_revision_is_held() -> None:
    same = Compared(question="same", untouched=True)
    report = judge(
        [compared("a b", "b a", "a"), same], [compared("a b c d", "a x y z"), same], margin=0.01, max_churn=0.2
    )
    assert report.as_dict() == {
        "golden": 2, "recent": 2, "measured": 2, "ndcg_before": 1.0, "ndcg_after": 0.6309, "drop": 0.1845,
        "churn": 0.375, "worse": [{"question": "q", "before": 1.0, "after": 0.6309}], "notes": [], "passed": False,
        "not_measured": False,
        "reason": "nDCG@10 on the golden questions drops by 0.1845, more than 0.01; 38% of the top results of recent"
        " questions would change, more than 20%",
    }  # fmt: skip


def test_a_report_without_questions_has_no_figures() -> None:
    report = judge([], [], margin=0.01, max_churn=0.5)
    assert (report.ndcg_before, report.ndcg_after, report.drop, report.churn) == (None, None, None, None)
    assert report.passed


def test_a_change_of_just_the_bound_passes() -> None:
    assert judge([], [compared("a b c d", "a x y z")], margin=0.01, max_churn=0.75).passed
    worse = Compared(question="q", before=["a"], after=["x"], relevant={"a": 1})
    assert judge([worse, compared("a", "a", "a")], [], margin=0.5, max_churn=1.0).passed


def test_a_better_question_makes_up_for_a_worse_one_and_is_not_named() -> None:
    report = judge([compared("a b", "b a", "a"), compared("a b", "b a", "b")], [], margin=0.0, max_churn=1.0)
    assert report.passed
    assert len(report.worse) == 1


def test_of_the_questions_that_got_worse_the_twenty_worst_are_named() -> None:
    slightly = [compared("a b", "b a", "a")] * 20
    lost = Compared(question="lost", before=["a"], after=["x"], relevant={"a": 1})
    report = judge([*slightly, lost], [], margin=1.0, max_churn=1.0)
    assert len(report.worse) == 20
    assert report.worse[0].question == "lost"


# ------------------------------------------------------------------------------------------------ on a real index
@pytest.fixture
def library(offline: None, milvus: MilvusSettings, db: None) -> Collection:
    collection: Collection = CollectionFactory(embedding_model=SPACE.model, embedding_dim=SPACE.dim)
    texts = [
        "Undergraduates may borrow ten books for four weeks.",
        "Undergraduates may borrow twenty books for eight weeks, said the rules of 2001.",
        "The swimming pool opens at seven.",
    ]
    for text in texts:
        ChunkFactory(document=DocumentFactory(collection=collection), text=text, seq=0, indexed=False)

    async def fill() -> None:
        await index_repair()
        await close_engine()

    async_to_sync(fill)()
    return collection


def chunk_of(collection: Collection, begin: str) -> Chunk:
    return Chunk.objects.get(document__collection=collection, text__startswith=begin)


def golden(collection: Collection, chunk: Chunk, text: str = QUESTION) -> GoldenQuestion:
    question = GoldenQuestion.objects.create(text=text, collection=collection)
    GoldenRelevance.objects.create(question=question, document=chunk.document, grade=1)
    return question


def test_votes_for_the_wrong_passage_are_held_with_the_questions_that_got_worse(library: Collection) -> None:
    right, wrong = (
        chunk_of(library, TEN),
        chunk_of(library, "Undergraduates may borrow twenty"),
    )
    golden(library, right)
    liked(QUESTION, wrong, by=4)
    liked(QUESTION, right, by=4, score=1, tags=["wrong_source"])
    outcome = feedback_round()
    assert outcome.status == "held", outcome.guard
    assert "nDCG@10 on the golden questions" in outcome.reason
    assert [one["question"] for one in outcome.guard["worse"]] == [QUESTION]
    assert Revision.objects.get().guard == outcome.guard


def test_votes_for_the_right_passage_go_live(library: Collection) -> None:
    right, wrong = (
        chunk_of(library, TEN),
        chunk_of(library, "Undergraduates may borrow twenty"),
    )
    golden(library, right)
    liked(QUESTION, right, by=4)
    liked(QUESTION, wrong, by=4, score=1, tags=["outdated"])
    outcome = feedback_round()
    assert outcome.status == "live", outcome.guard
    assert outcome.guard["golden"] == outcome.guard["measured"] - outcome.guard["recent"] == 1
    assert outcome.guard["ndcg_after"] == 1.0


def test_questions_that_nothing_changes_for_are_not_searched(library: Collection) -> None:
    pool = chunk_of(library, "The swimming")
    golden(library, pool, "When does the swimming pool open?")
    rate(answered(QUESTION, [chunk_of(library, TEN)]), 5)
    outcome = feedback_round()
    assert (outcome.status, outcome.guard["golden"], outcome.guard["measured"]) == ("live", 1, 1)
    assert outcome.guard["recent"] == 1


def test_an_index_that_is_away_holds_the_revision(
    library: Collection, rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = chunk_of(library, TEN)
    golden(library, right)
    liked(QUESTION, right, by=2)
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.search.index.connection.CONNECT_TIMEOUT_S", 0.2)
        patch.setattr("retrieval.search.index.connection.TIMEOUT_S", 0.5)
        rag_settings(milvus={"uri": "http://127.0.0.1:9"})
        outcome = feedback_round()
    assert outcome.status == "held"
    assert outcome.reason.startswith("it could not be measured")
    assert outcome.guard["not_measured"]


@pytest.mark.django_db
def test_recent_questions_are_asked_in_the_users_own_scope(rag_settings: Any) -> None:
    owner: User = UserFactory()
    private = CollectionFactory(owner=owner, visibility="private", embedding_model=SPACE.model, embedding_dim=SPACE.dim)
    chunk = ChunkFactory(document=DocumentFactory(collection=private), text="Ten books.", seq=0)
    answered(QUESTION, [chunk], user=owner)
    answered("Not mine?", [chunk])
    scopes = {asked.text: asked.scope.ids for asked in recent_questions(10)}
    assert str(private.pk) in scopes[QUESTION]
    assert str(private.pk) not in scopes["Not mine?"]


@pytest.mark.django_db
def test_golden_questions_that_are_off_or_empty_are_left_out() -> None:
    collection = CollectionFactory()
    chunk = ChunkFactory(document=DocumentFactory(collection=collection))
    on = golden(collection, chunk, "On?")
    GoldenQuestion.objects.filter(pk=golden(collection, chunk, "Off?").pk).update(enabled=False)
    GoldenQuestion.objects.create(text="Empty?", collection=collection)
    assert [asked.text for asked in golden_questions(10)] == [on.text]


async def test_the_engine_asks_the_live_ratings(offline: None) -> None:
    assert type(get_engine().boosts).__name__ == "LiveBoosts"
