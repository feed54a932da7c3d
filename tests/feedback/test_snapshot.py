"""A revision as searches use it: nearness of questions, multipliers, what is told about them."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
import pytest

from feedback.ranking.boosts import QueryTallies
from feedback.ranking.question_similarity import QuestionSimilarity, TermIndex
from feedback.ranking.snapshot import Content, DocumentPrior, ManualRule, RatedQuestions, Snapshot
from retrieval.values import Boost, EmbeddingSpace

THRESHOLDS = {"cosine_from": 0.7, "cosine_full": 0.9, "overlap_from": 0.4, "overlap_full": 0.8}
PARAMETERS = {"full_votes": 3.0, **THRESHOLDS}
SPACE = EmbeddingSpace("test", 2)
DOCUMENT = UUID(int=7)


@dataclass(frozen=True)
class Hit:
    chunk_id: str
    document_id: str = str(DOCUMENT)


def tallies(*rows: tuple[int, int, float, float], normalized_score: float = np.nan) -> QueryTallies:
    """(question, passage, up, down)"""
    table = np.asarray(rows, dtype=np.float64).reshape(-1, 4)
    whole = table.astype(np.int64)
    raters = np.ceil(table).astype(np.int64)
    return QueryTallies(
        question=whole[:, 0], passage=whole[:, 1], up=table[:, 2], down=table[:, 3],
        raters_up=raters[:, 2], raters_down=raters[:, 3], normalized_score=np.full(len(table), normalized_score),
    )  # fmt: skip


def snapshot(
    rows: QueryTallies,
    *,
    terms: dict[int, str] | None = None,
    vectors: dict[int, tuple[float, float]] | None = None,
    documents: dict[UUID, DocumentPrior] | None = None,
    chunks: dict[int, str] | None = None,
    manual: dict[str, ManualRule] | None = None,
) -> Snapshot:
    ids = sorted(set(rows.question.tolist()))
    terms = terms or {}
    stored = np.asarray([(vectors or {}).get(key, (np.nan, np.nan)) for key in ids], dtype=np.float32)
    questions = RatedQuestions(
        ids=np.asarray(ids, dtype=np.int64),
        terms=[terms.get(key, "").split() for key in ids],
        vectors={SPACE: stored.reshape(-1, 2)} if vectors else {},
    )
    content = Content(queries=rows, documents=documents or {}, parameters=PARAMETERS)
    return Snapshot(content, questions, chunks or {1: "a", 2: "b"}, revision="r", manual=manual)


def multiplier(one: Snapshot, terms: str, chunk: str = "a", vector: tuple[float, float] | None = None) -> float:
    vectors = {SPACE: np.asarray(vector, dtype=np.float32)} if vector else {}
    boost = one.boosts(terms.split(), vectors, [Hit(chunk)]).by_chunk.get(chunk)
    return boost.multiplier if boost else 1.0


LOANS = {1: "borrow book loan undergraduate"}


def test_the_very_question_feels_the_whole_boost() -> None:
    assert multiplier(snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS), LOANS[1]) == pytest.approx(2 ** (2 / 3))


def test_a_boost_fades_to_nothing_with_distance() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS)
    words = ["borrow book loan undergraduate", "borrow book loan", "borrow book exam fee", "exam fee hall"]
    found = [multiplier(one, text) for text in words]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[1] > 1.0
    assert found[-1] == 1.0


def test_meaning_makes_questions_near_that_share_no_word() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS, vectors={1: (1.0, 0.0)})
    assert multiplier(one, "lend volume", vector=(0.95, 0.312)) > 1.4
    assert multiplier(one, "lend volume", vector=(0.6, 0.8)) == 1.0


def test_a_question_without_its_vector_is_compared_by_words() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS, vectors={1: (np.nan, np.nan)})
    assert multiplier(one, LOANS[1], vector=(1.0, 0.0)) > 1.4


def test_another_number_is_another_question() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0)), terms={1: "deposit lakeside 2024"}, vectors={1: (1.0, 0.0)})
    assert multiplier(one, "deposit lakeside 2024", vector=(1.0, 0.0)) > 1.4
    assert multiplier(one, "deposit lakeside 2025", vector=(1.0, 0.0)) == 1.0


def test_votes_against_lower() -> None:
    assert multiplier(snapshot(tallies((1, 1, 0.0, 2.0)), terms=LOANS), LOANS[1]) == pytest.approx(2 ** (-2 / 3))


def test_what_several_near_questions_say_is_put_together_within_the_bounds() -> None:
    rows = tallies(*((key, 1, 5.0, 0.0) for key in range(1, 40)))
    one = snapshot(rows, terms=dict.fromkeys(range(1, 40), LOANS[1]))
    assert 1.9 < multiplier(one, LOANS[1]) <= 2.0


def test_a_boost_touches_its_own_passage_alone() -> None:
    assert multiplier(snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS), LOANS[1], chunk="b") == 1.0


def test_a_documents_prior_holds_whatever_is_asked() -> None:
    prior = DocumentPrior(multiplier=1.2, raters_up=8, raters_down=1)
    found = snapshot(tallies(), documents={DOCUMENT: prior}).boosts([], {}, [Hit("z")])
    assert found.by_chunk["z"].multiplier == pytest.approx(1.2)
    assert found.by_chunk["z"].origin == "its document is rated better than others, by 9 people"


def test_the_audit_trail_tells_how_many_people_said_so() -> None:
    one = snapshot(tallies((1, 1, 3.0, 1.0)), terms=LOANS)
    origin = one.boosts(LOANS[1].split(), {}, [Hit("a")]).by_chunk["a"].origin
    assert origin == (
        "3 people found this useful for similar questions; 1 person did not find this useful for similar questions"
    )


def test_a_passage_whose_text_is_gone_and_a_question_that_is_deleted_do_nothing() -> None:
    rows = tallies((1, 1, 2.0, 0.0), (1, 99, 2.0, 0.0))
    one = snapshot(rows, terms=LOANS)
    assert multiplier(one, LOANS[1]) > 1.0
    assert one.boosts(LOANS[1].split(), {}, [Hit("gone")]).by_chunk == {}


def test_staff_can_hide_a_document_until_a_day() -> None:
    rule = ManualRule(multiplier=1.0, hide=True, expires_at=1000.0)
    one = snapshot(tallies(), manual={str(DOCUMENT): rule})
    assert one.boosts([], {}, [Hit("a")], now=999.0).by_chunk["a"].hide
    assert one.boosts([], {}, [Hit("a")], now=1000.0).by_chunk == {}


def test_a_chunks_own_rule_goes_before_its_documents() -> None:
    rules = {
        str(DOCUMENT): ManualRule(multiplier=1.0, hide=True, expires_at=None),
        "a": ManualRule(multiplier=1.5, hide=False, expires_at=None),
    }
    found = snapshot(tallies(), manual=rules).boosts([], {}, [Hit("a"), Hit("b")]).by_chunk
    assert (found["a"].hide, found["a"].multiplier) == (False, 1.5)
    assert found["b"].hide


def test_a_content_survives_being_stored() -> None:
    content = Content(
        queries=tallies((1, 1, 2.0, 0.5), (2, 1, 0.0, 1.0)),
        documents={DOCUMENT: DocumentPrior(multiplier=0.9, raters_up=1, raters_down=4)},
        parameters=PARAMETERS,
    )
    again = Content.decode(content.encode())
    assert again.digest() == content.digest()
    assert again.multipliers().tolist() == pytest.approx(content.multipliers().tolist())
    assert again.documents[DOCUMENT].raters_down == 4
    assert again.parameters == PARAMETERS


def test_an_empty_content_survives_being_stored() -> None:
    again = Content.decode(Content.empty(PARAMETERS).encode())
    assert (len(again.queries), again.documents) == (0, {})


def test_similarity_by_terms_ignores_their_order_and_is_1_for_the_same() -> None:
    similarity = QuestionSimilarity(cosine_from=0.7, cosine_full=0.9, overlap_from=0.4, overlap_full=0.8)
    overlap, numbers = TermIndex([["a", "b"], ["c"]]).compare(["b", "a"])
    assert overlap.tolist() == pytest.approx([1.0, 0.0])
    assert similarity.combined(None, overlap, numbers).tolist() == [1.0, 0.0]


def test_a_model_with_high_cosines_everywhere_gets_a_higher_threshold() -> None:
    similarity = QuestionSimilarity(cosine_from=0.7, cosine_full=0.9, overlap_from=0.4, overlap_full=0.8)
    draw = np.random.default_rng(1)
    apart = draw.normal(size=(200, 64)).astype(np.float32)
    alike = apart + 16.0 * np.ones(64, dtype=np.float32) / 8.0
    for vectors in (apart, alike):
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert similarity.calibrated(apart) == similarity
    assert similarity.calibrated(alike).cosine_from > float(np.median(alike @ alike.T))
    assert similarity.calibrated(alike[:10]) == similarity  # too few to tell


# ------------------------------------------------------------------------------------------------ normalized scores
def boost_of(one: Snapshot, terms: str, chunk: str = "a") -> Boost:
    return one.boosts(terms.split(), {}, [Hit(chunk)]).by_chunk.get(chunk, Boost())


LOAN, SAME, OTHER = "loan period book library", "period loan library book", "loan parking fee garage"


def test_what_searches_for_the_same_question_found_comes_with_the_boost() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0), normalized_score=0.8), terms={1: LOAN})
    assert boost_of(one, SAME).normalized_score == pytest.approx(0.8)
    assert boost_of(one, SAME).similar_questions == pytest.approx(1.0)


def test_it_counts_also_where_ratings_cancel_each_other() -> None:
    one = snapshot(tallies((1, 1, 1.0, 1.0), normalized_score=0.8), terms={1: LOAN})
    found = boost_of(one, SAME)
    assert (found.multiplier, found.similar_questions) == (1.0, pytest.approx(1.0))
    assert "same question in other words" in found.origin


def test_for_another_question_it_says_nothing() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0), normalized_score=0.8), terms={1: LOAN})
    assert boost_of(one, OTHER) == Boost()


def test_several_searches_for_the_same_question_give_their_mean() -> None:
    rows = tallies((1, 1, 2.0, 0.0), (2, 1, 2.0, 0.0), (3, 1, 2.0, 0.0))
    rows = replace(rows, normalized_score=np.asarray([0.9, 0.5, np.nan]))
    found = boost_of(snapshot(rows, terms=dict.fromkeys((1, 2, 3), LOAN)), SAME)
    assert found.normalized_score == pytest.approx(0.7)
    assert found.similar_questions == pytest.approx(2.0)


def test_a_revision_keeps_normalized_scores() -> None:
    content = Content(queries=tallies((1, 1, 2.0, 0.0), normalized_score=0.25), documents={}, parameters=PARAMETERS)
    assert Content.decode(content.encode()).queries.normalized_score.tolist() == [0.25]


def test_a_revision_from_before_normalized_scores_were_kept_is_read() -> None:
    content = Content(queries=tallies((1, 1, 2.0, 0.0)), documents={}, parameters={**THRESHOLDS, "prior": 1.0})
    with np.load(io.BytesIO(content.encode())) as stored:
        older = {name: stored[name] for name in stored.files if name != "standing"}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **older)
    read = Content.decode(buffer.getvalue())
    assert np.isnan(read.queries.normalized_score).all()
    assert read.multipliers().tolist() == pytest.approx([2 ** (2 / 3)])
