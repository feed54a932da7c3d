"""What may not go live: measured on golden, recent, rated and contrast questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from feedback.models import GoldenQuestion, GoldenRelevance, Revision
from feedback.ranking import guard as limits
from feedback.ranking.guard import NO_GOLDEN, TOP, Compared, GuardReport, Outcome, churn, judge, rank_biased_overlap
from feedback.rounds.guard import golden_questions, recent_questions
from feedback.rounds.round import feedback_round
from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine import close_engine, get_engine
from retrieval.models import Chunk, Collection
from retrieval.ports import SearchRequest
from retrieval.providers.lexical import SPACE
from retrieval.search.boosting import rank_with_boosts
from retrieval.selectors import collection_ref
from retrieval.services.index_sync import index_repair
from retrieval.values import Query, SearchScope
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory, UserFactory
from tests.feedback.rated import answered, liked, passage, rate

QUESTION = "How many books may undergraduates borrow?"
MARGIN = limits.GOLDEN_MARGIN
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
    assert report.notes == (NO_GOLDEN,)


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
    known = report.as_dict()
    assert list(known.pop("wordings")) == [known["reason"]]  # what it is said with in other languages
    assert known == {
        "golden": 2, "recent": 2, "contrast": 0, "measured": 2, "ndcg_without": None, "ndcg_before": 1.0,
        "ndcg_after": 0.6309, "drop": 0.0369, "drop_interval": [0.0, 0.1107], "drop_without": None,
        "drop_without_interval": None, "churn": 0.375, "overlap": pytest.approx(0.6771, abs=1e-4), "first_changed": 0,
        "first_measured": 1, "worse_count": 1, "moved_count": 0, "moved": [],
        "worse": [{"question": "q", "before": 1.0, "after": 0.6309}],
        "notes": [], "passed": False, "outcome": "worse", "not_measured": False, "duration_ms": 0,
        "reason": "nDCG@10 on the 2 golden questions, counted as 10, drops by 0.0369 (90% interval 0.0000 to 0.1107)"
        " against the live revision, more than 0.02; 38% of the top results of recent questions would change, more than"
        " 20%",
    }  # fmt: skip


def test_a_report_without_questions_has_no_figures() -> None:
    report = judge([], [], margin=0.01, max_churn=0.5)
    assert (report.ndcg_before, report.ndcg_after, report.drop, report.churn) == (None, None, None, None)
    assert report.passed


def test_a_change_of_just_the_bound_passes() -> None:
    assert judge([], [compared("a b c d", "a x y z")], margin=0.01, max_churn=0.75).passed
    worse = Compared(question="q", before=["a"], after=["x"], relevant={"a": 1})
    assert judge([worse, compared("a", "a", "a")], [], margin=0.5, max_churn=1.0).passed


def test_among_many_golden_questions_a_better_one_makes_up_for_a_worse_one() -> None:
    same = [compared("a b", "a b", "a")] * 38
    report = judge([compared("a b", "b a", "a"), compared("a b", "b a", "b"), *same], [], margin=0.0, max_churn=1.0)
    assert report.passed
    assert len(report.worse) == 1


def test_among_three_golden_questions_a_better_one_makes_up_for_nothing() -> None:
    three = [compared("a b", "b a", "a"), compared("a b", "b a", "b"), compared("a b", "a b", "a")]
    report = judge(three, [], margin=MARGIN, max_churn=1.0)
    assert report.outcome is Outcome.WORSE
    assert "3 golden questions" in report.reason


def test_of_the_questions_that_got_worse_the_twenty_worst_are_named() -> None:
    slightly = [compared("a b", "b a", "a")] * 20
    lost = Compared(question="lost", before=["a"], after=["x"], relevant={"a": 1})
    report = judge([*slightly, lost], [], margin=1.0, max_churn=1.0)
    assert len(report.worse) == 20
    assert report.worse[0].question == "lost"


# ------------------------------------------------------------------------------------------------ order
def test_rank_biased_overlap_of_equal_rankings_is_one() -> None:
    assert rank_biased_overlap("abcdefghij", "abcdefghij") == pytest.approx(1.0)
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1.0)
    assert rank_biased_overlap([], []) == 1.0


def test_rank_biased_overlap_of_rankings_with_nothing_in_common_is_zero() -> None:
    assert rank_biased_overlap("abc", "xyz") == 0.0
    assert rank_biased_overlap("abc", []) == 0.0


def test_rank_biased_overlap_follows_the_definition_summed_without_end() -> None:
    """Agreement beyond what is seen stays as it was at the end: the extrapolation of lists of one length."""
    left, right, p = "abcdefghij", "badcxeghyj", 0.9
    agreement = [len(set(left[:depth]) & set(right[:depth])) / depth for depth in range(1, 11)]
    endless = (1 - p) * sum(p ** (depth - 1) * agreement[min(depth, 10) - 1] for depth in range(1, 2000))
    assert rank_biased_overlap(left, right) == pytest.approx(endless)


def test_rank_biased_overlap_weighs_the_top_most() -> None:
    assert rank_biased_overlap("abcdefghij", "bacdefghij") < rank_biased_overlap("abcdefghij", "abcdefghji")


@given(st.lists(st.integers(0, 15), unique=True, max_size=12), st.lists(st.integers(0, 15), unique=True, max_size=12))
def test_rank_biased_overlap_is_symmetric_and_between_0_and_1(left: list[int], right: list[int]) -> None:
    one, other = list(map(str, left)), list(map(str, right))
    assert 0.0 <= rank_biased_overlap(one, other) <= 1.0
    assert rank_biased_overlap(one, other) == pytest.approx(rank_biased_overlap(other, one))


# ------------------------------------------------------------------------------------------------ what is attempted
def ten(first: str = "a") -> list[str]:
    return [first, *(f"p{place}" for place in range(TOP - 1))]


def swapped(ids: list[str]) -> list[str]:
    return [ids[1], ids[0], *ids[2:]]


def recent(swaps: int, of: int) -> list[Compared]:
    """So many questions near a changed boost, of which so many get another first result."""
    return [
        Compared(question=f"q{number}", before=ten(), after=swapped(ten()) if number < swaps else ten())
        for number in range(of)
    ]


def judged(**questions: list[Compared]) -> GuardReport:
    kinds = {"golden": [], "recent": [], "contrast": [], **questions}
    return judge(kinds["golden"], kinds["recent"], kinds["contrast"], margin=MARGIN, max_churn=limits.MAX_CHURN)


def test_votes_that_swap_the_first_places_of_18_questions_are_held_without_golden_questions() -> None:
    elsewhere = [Compared(question=f"other {number}", untouched=True) for number in range(42)]
    report = judged(recent=[*recent(18, 18), *elsewhere])
    assert report.outcome is Outcome.WORSE
    assert report.churn == 0.0
    assert "the first result of 18 of 18 recent questions" in report.reason


def test_an_honest_revision_of_40_questions_passes() -> None:
    """Three in ten get a better first result, one in ten golden questions loses a place further down."""
    golden = [
        Compared(
            question=f"g{number}", before=swapped(ten()) if number % 3 == 0 else ten(), after=ten(),
            without=swapped(ten()) if number % 3 == 0 else ten(), relevant={"a": 1, "p3": 1},
        )
        for number in range(36)
    ]  # fmt: skip
    lost_a_place = [
        Compared(
            question="l", before=ten(), without=ten(), after=[*ten()[:4], "p4", "p3", *ten()[6:]],
            relevant={"a": 1, "p3": 1},
        )
    ] * 4  # fmt: skip
    report = judged(golden=[*golden, *lost_a_place], recent=recent(12, 40), contrast=contrasts(0, 60))
    assert report.outcome is Outcome.PASSED, report.reason
    assert len(report.worse) == 4


def test_a_few_first_results_may_change_on_a_new_site() -> None:
    assert judged(recent=recent(3, 3)).passed


def drifted(rounds: int, *, questions: int = 100) -> list[Compared]:
    """In each round one golden question more of 100 loses its first place: nDCG drops by .0037 a round."""
    return [
        Compared(
            question=f"g{number}", without=ten(), before=swapped(ten()) if number < rounds - 1 else ten(),
            after=swapped(ten()) if number < rounds else ten(), relevant={"a": 1},
        )
        for number in range(questions)
    ]  # fmt: skip


def test_a_drift_that_each_round_hides_from_the_live_revision_is_held_against_no_feedback() -> None:
    held = [bool(judged(golden=drifted(rounds)).reason) for rounds in range(1, 11)]
    assert held == [False, False, *[True] * 8]
    report = judged(golden=drifted(5))
    assert report.drop is not None
    assert report.drop < MARGIN
    assert "against no feedback" in report.reason
    assert "against the live revision" not in report.reason


def test_a_drift_of_every_question_by_less_than_the_margin_is_held_in_the_second_round() -> None:
    """Of the two relevant passages the one that counts little goes down by places, in all of 50 golden questions."""
    grades = {"a": 8, "b": 1}

    def lower(places: int) -> list[str]:
        return ["a", *(f"n{place}" for place in range(places)), "b"]

    rounds = [
        [
            Compared(question=f"g{n}", without=lower(3), before=lower(was), after=lower(was + 1), relevant=grades)
            for n in range(50)
        ]
        for was in (3, 4)
    ]
    first, second = (judged(golden=golden) for golden in rounds)
    assert first.drop is not None
    assert second.drop is not None
    assert max(first.drop, second.drop) < MARGIN
    assert first.passed
    assert "against no feedback" in second.reason
    assert "against the live revision" not in second.reason


def test_a_revision_that_mends_a_live_one_passes_though_it_is_not_yet_as_good_as_no_feedback() -> None:
    bad = [
        Compared(question=one.question, without=one.without, before=one.after, after=one.before, relevant=one.relevant)
        for one in drifted(8)
    ]
    assert judged(golden=bad).passed


def three_golden(noise: list[str]) -> list[Compared]:
    same = [Compared(question=f"g{n}", without=ten(), before=ten(), after=ten(), relevant={"a": 1}) for n in range(2)]
    return [*same, Compared(question="noisy", without=ten(), before=ten(), after=noise, relevant={"a": 2, "p7": 1})]


def test_of_three_golden_questions_a_place_lost_far_down_does_not_hold() -> None:
    report = judged(golden=three_golden([*ten()[:8], "p8", "p7"]))
    assert report.passed
    assert report.drop is not None
    assert 0.0 < report.drop < MARGIN


def test_of_three_golden_questions_a_lost_first_place_holds() -> None:
    report = judged(golden=three_golden(swapped(ten())))
    assert report.outcome is Outcome.WORSE


def contrasts(moved: int, of: int) -> list[Compared]:
    return [
        Compared(
            question=f"c{number}", without=ten(), after=swapped(ten()) if number < moved else ten(),
            contrast_of=f"q{number}", change="another number",
        )
        for number in range(of)
    ]  # fmt: skip


def test_boosts_that_leak_onto_contrast_questions_are_held_with_examples() -> None:
    report = judged(contrast=contrasts(12, 40))
    assert report.outcome is Outcome.WORSE
    assert "12 of 40 contrast questions" in report.reason
    assert "“c0” by those for “q0”" in report.reason
    assert (report.moved_count, len(report.moved)) == (12, 12)
    assert report.moved[0].change == "another number"


def test_one_contrast_question_of_many_may_move() -> None:
    report = judged(contrast=contrasts(1, 40))
    assert report.passed
    assert report.moved_count == 1


def test_a_contrast_question_that_no_boost_touches_has_not_moved() -> None:
    assert judged(contrast=[Compared(question="c", contrast_of="q", untouched=True)]).moved_count == 0


# ------------------------------------------------------------------------------------------------ on a real index
def indexed(texts: Sequence[str]) -> Collection:
    collection: Collection = CollectionFactory(embedding_model=SPACE.model, embedding_dim=SPACE.dim)
    for text in texts:
        ChunkFactory(document=DocumentFactory(collection=collection), text=text, seq=0, indexed=False)

    async def fill() -> None:
        await index_repair()
        await close_engine()

    async_to_sync(fill)()
    return collection


def first_found(collection: Collection, question: str) -> str:
    """The text that a search finds first, with the ratings that are live."""

    async def search() -> str:
        engine = get_engine()
        request = SearchRequest(
            queries=(Query(question),), scope=SearchScope((await sync_to_async(collection_ref)(collection),)), top_k=5
        )
        found = await engine.searcher.search(request)
        current = await engine.boosts.current()
        hits = (*found.candidates, *found.tail_hits)
        boosts = await current.boosts(question, hits)
        await close_engine()
        return next(iter(rank_with_boosts(hits, boosts, pool=hits))).chunk_id

    return Chunk.objects.get(pk=async_to_sync(search)()).text


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
    assert "nDCG@10 on the 1 golden question" in outcome.reason
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
    assert (outcome.guard["golden"], outcome.guard["recent"]) == (1, 1)
    assert outcome.guard["ndcg_after"] == 1.0


HANDBOOK = (
    "The reading room opens at eight on weekdays.",
    "On Sundays the reading room opens at noon.",
    "A lost card costs five euros, a new one is sent by post.",
    "Undergraduates may borrow ten books for four weeks.",
    "Undergraduates may borrow twenty books for eight weeks, said the rules of 2001.",
    "Fees for printing are 5 cents a page in 2024.",
    "Fees for printing were 3 cents a page until 2019.",
    "The swimming pool opens at seven.",
)


@pytest.fixture
def handbook(offline: None, milvus: MilvusSettings, db: None) -> Collection:
    return indexed(HANDBOOK)


def test_a_default_install_gets_its_first_boosts_live_by_itself(handbook: Collection) -> None:
    """Some ratings, no golden question, no model: from what users rate to what the next search finds first."""
    good = {
        "When does the reading room open on Sundays?": "On Sundays",
        "How many books may undergraduates borrow?": TEN,
        "What is the price of printing in 2024?": "Fees for printing are",
    }
    for question, begin in good.items():
        liked(question, chunk_of(handbook, begin), by=2)
    liked("How many books may undergraduates borrow?", chunk_of(handbook, TWENTY), by=2, score=1, tags=["outdated"])
    outcome = feedback_round()
    assert outcome.status == "live", outcome.reason
    assert outcome.guard["golden"] == 0
    assert outcome.guard["contrast"] > 0
    assert first_found(handbook, "How many books may undergraduates borrow?").startswith(TEN)


def test_a_revision_that_moves_its_contrast_questions_is_held_with_the_examples(
    handbook: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were all questions taken for the same one, votes for the one would count for every other."""
    monkeypatch.setattr(
        "feedback.ranking.snapshot.Snapshot._similarities",
        lambda self, asked: np.ones(len(self._terms), dtype=np.float32),
    )
    question = "Which books may undergraduates borrow?"
    liked(question, chunk_of(handbook, TWENTY), by=4)
    liked(question, chunk_of(handbook, TEN), by=4, score=1, tags=["wrong_source"])
    outcome = feedback_round()
    assert (outcome.status, outcome.guard["outcome"]) == ("held", "worse")
    assert "contrast questions" in outcome.reason
    assert [(one["contrast_of"], one["change"]) for one in outcome.guard["moved"]] == [(question, "negated")]


def test_without_any_question_to_measure_a_revision_is_held(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows then what it does to the first results."""
    monkeypatch.setattr("feedback.rounds.guard._sample", lambda rows, limit: [])
    liked(QUESTION, passage("Ten books."), by=2)
    outcome = feedback_round()
    assert (outcome.status, outcome.guard["outcome"]) == ("held", "nothing_to_measure")


def test_a_site_without_ratings_has_nothing_to_judge(db: None) -> None:
    assert feedback_round().status == "unchanged"


def test_questions_that_nothing_changes_for_are_not_searched(library: Collection) -> None:
    pool = chunk_of(library, "The swimming")
    golden(library, pool, "When does the swimming pool open?")
    rate(answered(QUESTION, [chunk_of(library, TEN)]), 5)
    outcome = feedback_round()
    guard = outcome.guard
    assert outcome.status == "live"
    assert (guard["golden"], guard["recent"], guard["ndcg_before"]) == (1, 1, None)
    assert guard["measured"] <= guard["recent"] + guard["contrast"]


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
    assert outcome.guard["outcome"] == "not_measured"


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
