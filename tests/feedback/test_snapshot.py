"""A revision as searches use it: nearness of questions, multipliers, what is told about them."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields, replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.ranking.boosts import QueryTallies
from feedback.ranking.question_groups import DecidedPairs
from feedback.ranking.question_similarity import AskedQuestion, QuestionSimilarity, TermIndex
from feedback.ranking.snapshot import (
    Content,
    DocumentPrior,
    ManualRule,
    RatedQuestions,
    Snapshot,
    answers_too,
    parameters,
)
from retrieval.text.analysis import query_terms
from retrieval.values import Boost, EmbeddingSpace, Scores, TailHit

THRESHOLDS = {"cosine_from": 0.7, "cosine_full": 0.9, "overlap_from": 0.4, "overlap_full": 0.8}
PARAMETERS = {"full_votes": 3.0, **THRESHOLDS}
SPACE = EmbeddingSpace("test", 2)
DOCUMENT = UUID(int=7)


@dataclass(frozen=True)
class Hit:
    chunk_id: str
    document_id: str = str(DOCUMENT)
    scores: Scores = Scores()  # noqa: RUF009  it never changes


def tallies(*rows: tuple[int, int, float, float], normalized_score: float = np.nan) -> QueryTallies:
    """(question, passage, up, down)"""
    table = np.asarray(rows, dtype=np.float64).reshape(-1, 4)
    whole = table.astype(np.int64)
    raters = np.ceil(table).astype(np.int64)
    return QueryTallies(
        question=whole[:, 0], passage=whole[:, 1], up=table[:, 2], down=table[:, 3],
        raters_up=raters[:, 2], raters_down=raters[:, 3], normalized_score=np.full(len(table), normalized_score),
    )  # fmt: skip


def asked(text: str, vectors: dict[EmbeddingSpace, np.ndarray] | None = None) -> AskedQuestion:
    return AskedQuestion(text=text, terms=text.split(), vectors=vectors or {})


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
        texts=[terms.get(key, "") for key in ids],
        terms=[terms.get(key, "").split() for key in ids],
        vectors={SPACE: stored.reshape(-1, 2)} if vectors else {},
    )
    content = Content(queries=rows, documents=documents or {}, parameters=PARAMETERS)
    return Snapshot(content, questions, chunks or {1: "a", 2: "b"}, revision="r", manual=manual)


def multiplier(one: Snapshot, terms: str, chunk: str = "a", vector: tuple[float, float] | None = None) -> float:
    vectors = {SPACE: np.asarray(vector, dtype=np.float32)} if vector else {}
    boost = one.boosts(asked(terms, vectors), [Hit(chunk)]).by_chunk.get(chunk)
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
    found = snapshot(tallies(), documents={DOCUMENT: prior}).boosts(asked(""), [Hit("z")])
    assert found.by_chunk["z"].multiplier == pytest.approx(1.2)
    assert found.by_chunk["z"].origin == "its document is rated better than others, by 9 people"


def test_the_audit_trail_tells_how_many_people_said_so() -> None:
    one = snapshot(tallies((1, 1, 3.0, 1.0)), terms=LOANS)
    origin = one.boosts(asked(LOANS[1]), [Hit("a")]).by_chunk["a"].origin
    assert origin == (
        "3 people found this useful for similar questions; 1 person did not find this useful for similar questions"
    )


def test_a_passage_whose_text_is_gone_and_a_question_that_is_deleted_do_nothing() -> None:
    rows = tallies((1, 1, 2.0, 0.0), (1, 99, 2.0, 0.0))
    one = snapshot(rows, terms=LOANS)
    assert multiplier(one, LOANS[1]) > 1.0
    assert one.boosts(asked(LOANS[1]), [Hit("gone")]).by_chunk == {}


def test_staff_can_hide_a_document_until_a_day() -> None:
    rule = ManualRule(multiplier=1.0, hide=True, expires_at=1000.0)
    one = snapshot(tallies(), manual={str(DOCUMENT): rule})
    assert one.boosts(asked(""), [Hit("a")], now=999.0).by_chunk["a"].hide
    assert one.boosts(asked(""), [Hit("a")], now=1000.0).by_chunk == {}


def test_a_chunks_own_rule_goes_before_its_documents() -> None:
    rules = {
        str(DOCUMENT): ManualRule(multiplier=1.0, hide=True, expires_at=None),
        "a": ManualRule(multiplier=1.5, hide=False, expires_at=None),
    }
    found = snapshot(tallies(), manual=rules).boosts(asked(""), [Hit("a"), Hit("b")]).by_chunk
    assert (found["a"].hide, found["a"].multiplier) == (False, 1.5)
    assert found["b"].hide


def test_a_rule_of_staff_multiplies_what_ratings_say_and_names_both() -> None:
    rule = ManualRule(multiplier=2.0, hide=False, expires_at=None)
    prior = DocumentPrior(multiplier=0.9, raters_up=1, raters_down=0)
    one = snapshot(tallies((1, 1, 3.0, 0.0)), terms=LOANS, documents={DOCUMENT: prior}, manual={"a": rule})
    boost = boost_of(one, LOANS[1])
    assert boost.multiplier == pytest.approx(2.0 * 0.9 * 2.0)
    assert boost.origin == (
        "3 people found this useful for similar questions; its document is rated worse than others, by 1 person;"
        " set by staff"
    )
    assert not boost.hide


def test_what_staff_hide_says_so() -> None:
    one = snapshot(tallies(), manual={"a": ManualRule(multiplier=1.0, hide=True, expires_at=None)})
    assert boost_of(one, "anything").origin == "hidden by staff"


@pytest.mark.parametrize(("multiplier_of_rule", "boosted"), [(1.0049, False), (1.0051, True), (0.9949, True)])
def test_a_multiplier_next_to_1_is_no_boost(multiplier_of_rule: float, boosted: bool) -> None:
    rule = ManualRule(multiplier=multiplier_of_rule, hide=False, expires_at=None)
    found = snapshot(tallies(), manual={"a": rule}).boosts(asked(""), [Hit("a")])
    assert ("a" in found.by_chunk, found.revision) == (boosted, "r")


def test_a_snapshot_knows_what_it_holds() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0)), terms=LOANS, vectors={1: (1.0, 0.0)})
    assert (one.is_empty, snapshot(tallies()).is_empty) == (False, True)
    assert (one.touches([Hit("b"), Hit("a")]), one.touches([Hit("b")])) == (True, False)
    assert one.spaces == (SPACE,)


def test_the_highest_similarity_is_that_of_the_nearest_rated_question() -> None:
    one = snapshot(tallies((1, 1, 2.0, 0.0), (2, 1, 2.0, 0.0)), terms={1: "exam fee", 2: LOANS[1]})
    assert one.highest_similarity(asked(LOANS[1])) == 1.0
    assert one.highest_similarity(asked("parking")) == 0.0
    assert snapshot(tallies()).highest_similarity(asked("parking")) == 0.0


def test_two_passages_of_one_chunk_count_together() -> None:
    one = snapshot(tallies((1, 1, 1.0, 0.0), (1, 2, 1.0, 0.0)), terms=LOANS, chunks={1: "a", 2: "a"})
    assert multiplier(one, LOANS[1]) == pytest.approx(2 ** (2 / 3))


def test_several_chunks_get_their_own_boosts_in_one_call() -> None:
    one = snapshot(tallies((1, 1, 3.0, 0.0), (1, 2, 0.0, 3.0), (2, 2, 0.0, 1.0)), terms={1: LOANS[1], 2: "exam fee"})
    found = one.boosts(asked(LOANS[1]), [Hit("b"), Hit("x"), Hit("a")]).by_chunk
    assert {key: boost.multiplier for key, boost in found.items()} == pytest.approx({"b": 0.5, "a": 2.0})
    assert found["b"].origin == "3 people did not find this useful for similar questions"


def test_ratings_of_a_somewhat_similar_question_name_nobody() -> None:
    one = snapshot(tallies((1, 1, 3.0, 0.0)), vectors={1: (1.0, 0.0)})
    vector = np.asarray((0.75, 0.6614), dtype=np.float32)  # a quarter of the way between the thresholds
    boost = one.boosts(asked("other", {SPACE: vector}), [Hit("a")]).by_chunk["a"]
    assert boost.multiplier == pytest.approx(2**0.15625, abs=1e-3)
    assert boost.origin == "rated for questions that are somewhat similar"


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


def test_every_part_of_a_content_comes_back() -> None:
    documents = {UUID(int=number): DocumentPrior(multiplier=1.5, raters_up=number, raters_down=2) for number in (9, 3)}
    content = Content(
        queries=tallies((1, 5, 2.0, 0.5), (2, 6, 0.0, 1.0), normalized_score=0.5), documents=documents,
        parameters=PARAMETERS,
    )  # fmt: skip
    again = Content.decode(content.encode())
    for column in fields(content.queries):
        assert getattr(again.queries, column.name).tolist() == getattr(content.queries, column.name).tolist()
    assert list(again.documents.items()) == list(documents.items())


def test_a_content_of_another_format_is_refused() -> None:
    with np.load(io.BytesIO(Content.empty(PARAMETERS).encode())) as stored:
        parts = {name: stored[name] for name in stored.files}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**parts, "version": np.asarray([2])})
    with pytest.raises(ValueError, match=r"format \[2\], this program reads 1"):
        Content.decode(buffer.getvalue())


CONTENT = Content(
    queries=tallies((1, 1, 2.0, 0.0)),
    documents={DOCUMENT: DocumentPrior(multiplier=0.9, raters_up=1, raters_down=4)},
    parameters=PARAMETERS,
)


@pytest.mark.parametrize(
    "other",
    [
        replace(CONTENT, queries=tallies((2, 1, 2.0, 0.0))),
        replace(CONTENT, queries=tallies((1, 2, 2.0, 0.0))),
        replace(CONTENT, queries=tallies((1, 1, 1.9, 0.0))),
        replace(CONTENT, documents={UUID(int=8): CONTENT.documents[DOCUMENT]}),
        replace(CONTENT, documents={DOCUMENT: replace(CONTENT.documents[DOCUMENT], multiplier=0.92)}),
        replace(CONTENT, parameters={**PARAMETERS, "cosine_from": 0.71}),
    ],
    ids=["question", "passage", "votes", "document", "multiplier", "parameter"],
)
def test_a_content_that_does_something_else_has_another_digest(other: Content) -> None:
    assert other.digest() != CONTENT.digest()


def test_a_days_decay_leaves_the_digest_as_it_is() -> None:
    priors = {DOCUMENT: replace(CONTENT.documents[DOCUMENT], multiplier=0.901)}
    same = replace(CONTENT, queries=tallies((1, 1, 1.995, 0.0)), documents=priors)
    ordered = replace(CONTENT, parameters=dict(reversed(PARAMETERS.items())))
    assert same.digest() == ordered.digest() == CONTENT.digest()


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
    return one.boosts(asked(terms), [Hit(chunk)]).by_chunk.get(chunk, Boost())


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


@pytest.mark.parametrize(
    ("up", "down", "prior", "expected"),
    [(0.0, 0.5, 1.25, 1.0), (0.5, 0.0, 0.8, 1.0), (0.0, 3.0, 1.2, 0.6), (3.0, 0.0, 0.8, 1.6), (3.0, 0.0, 1.2, 2.4)],
)
def test_a_documents_prior_does_not_turn_votes_on_its_passage_round(
    up: float, down: float, prior: float, expected: float
) -> None:
    documents = {DOCUMENT: DocumentPrior(multiplier=prior, raters_up=9, raters_down=0)}
    one = snapshot(tallies((1, 1, up, down)), terms=LOANS, documents=documents)
    assert multiplier(one, LOANS[1]) == pytest.approx(expected)


# ------------------------------------------------------------------------------------------------ the same question
NOTICE, QUIT, PART = (
    "What is the notice period for staff who resign?",
    "How long before leaving must staff give notice?",
    "What is the notice period for part-time staff who resign?",
)


def matching(
    *pairs: tuple[int, int, float], first: str = NOTICE, second: str = QUIT, votes: tuple[float, float] = (2.0, 0.0),
    read_with: dict[str, float] | None = None,
) -> Snapshot:  # fmt: skip
    """Three rated questions, read as a revision made now is."""
    texts = {1: first, 2: second, 3: PART}
    rows = tallies(*((question, 1, *votes) for question in texts))
    decided = DecidedPairs(
        np.asarray([pair[:2] for pair in pairs], dtype=np.int64).reshape(-1, 2),
        np.asarray([pair[2] for pair in pairs], dtype=np.float32),
    )
    content = Content(queries=rows, documents={}, parameters=read_with or parameters(), pairs=decided)
    questions = RatedQuestions(
        ids=np.asarray([1, 2, 3]), texts=list(texts.values()), terms=[query_terms(text) for text in texts.values()]
    )
    return Snapshot(content, questions, {1: "a"})


def similarities(one: Snapshot, text: str) -> list[float]:
    question = AskedQuestion(text=text, terms=query_terms(text))
    found: list[float] = one.similarities(question).of(np.arange(3)).tolist()
    return found


def test_a_question_that_names_another_kind_of_person_is_not_the_same() -> None:
    assert similarities(matching(), PART.replace("part-time", "full-time"))[2] == 0.0


def test_votes_for_a_question_that_was_decided_the_same_count_by_the_product() -> None:
    assert similarities(matching(), NOTICE)[:2] == [1.0, 0.0]
    assert similarities(matching((1, 2, 0.75)), NOTICE)[:2] == [1.0, 0.75]


def test_a_pair_below_one_half_carries_nothing() -> None:
    assert similarities(matching((1, 2, 0.4)), NOTICE)[1] == 0.0


def test_no_pair_carries_votes_across_a_difference() -> None:
    full = PART.replace("part-time", "full-time")
    found = similarities(matching((1, 3, 1.0), first=full), full)
    assert (found[0], found[2]) == (1.0, 0.0)


FEE, LATE = "What is the fee for a late book?", "what does it cost to bring a book back late"


def found(one: Snapshot, text: str, fused: dict[str, float]) -> dict[str, Boost]:
    """The boosts for a question whose search found these chunks."""
    hits = [
        TailHit(chunk_id=chunk, document_id=str(DOCUMENT), scores=Scores(fused=score)) for chunk, score in fused.items()
    ]
    return dict(one.boosts(AskedQuestion(text=text, terms=query_terms(text)), hits).by_chunk)


def test_votes_for_another_wording_count_where_the_passage_is_found_far_up_for_this_one() -> None:
    one = matching(first=FEE)
    top, far = (found(one, LATE, {"x": 1.0, "a": score, "z": 0.0})["a"] for score in (0.98, 0.8))
    assert 1.0 < far.multiplier < top.multiplier
    assert "a" not in found(one, LATE, {"x": 1.0, "a": 0.3, "z": 0.0})


def test_votes_for_the_same_words_count_wherever_the_passage_is_found() -> None:
    boosts = [found(matching(first=FEE), FEE, {"x": 1.0, "a": score})["a"] for score in (1.0, 0.0)]
    assert boosts[0].multiplier == boosts[1].multiplier > 1.5


def test_votes_against_count_for_another_wording_as_votes_for_do() -> None:
    one = matching(first=FEE, votes=(0.0, 2.0))
    assert found(one, LATE, {"x": 1.0, "a": 0.98, "z": 0.0})["a"].multiplier < 1.0
    assert "a" not in found(one, LATE, {"x": 1.0, "a": 0.3, "z": 0.0})


def test_what_is_further_away_than_a_question_that_is_set_apart_is_not_the_same() -> None:
    asked_for, near = "How much is the fee for a late book?", "Who gets the fee for a late book?"
    assert similarities(matching(first=LATE), asked_for)[0] > 0.5
    assert similarities(matching(first=LATE, second=near), asked_for)[:2] == [0.0, 0.0]
    assert similarities(matching((1, 2, 1.0), first=LATE, second=near), asked_for)[:2] == [0.0, 0.0]


WORDS = "how much do I pay when a book is late"


def in_wordings(
    *pairs: tuple[int, int, float], cosines: tuple[float, float] = (0.9, 0.9), read_with: dict[str, float] | None = None
) -> list[float]:
    """How likely LATE asks what the first two of three rated questions ask; cosines: its own with theirs."""
    texts = {1: FEE, 2: WORDS, 3: "Where is the library?"}
    vectors = [(cosine, side * np.sqrt(1.0 - cosine**2)) for cosine, side in zip(cosines, (1, -1), strict=True)]
    decided = DecidedPairs(
        np.asarray([pair[:2] for pair in pairs], dtype=np.int64).reshape(-1, 2),
        np.asarray([pair[2] for pair in pairs], dtype=np.float32),
    )
    rows = tallies(*((question, 1, 2.0, 0.0) for question in texts))
    content = Content(queries=rows, documents={}, parameters=read_with or parameters(), pairs=decided)
    questions = RatedQuestions(
        ids=np.asarray([1, 2, 3]), texts=list(texts.values()), terms=[query_terms(text) for text in texts.values()],
        vectors={SPACE: np.asarray([*vectors, (0.0, 1.0)], dtype=np.float32)},
    )  # fmt: skip
    question = AskedQuestion(text=LATE, terms=query_terms(LATE), vectors={SPACE: np.asarray([1.0, 0.0], np.float32)})
    found: list[float] = Snapshot(content, questions, {1: "a"}).similarities(question).of(np.arange(2)).tolist()
    return found


def test_wordings_of_one_question_count_alike() -> None:
    alone, together = in_wordings(), in_wordings((1, 2, 0.9))
    assert alone[0] != pytest.approx(alone[1])
    assert together[0] == pytest.approx(together[1])


def test_what_is_like_one_wording_alone_is_less_likely_the_same() -> None:
    like_both, like_one = in_wordings((1, 2, 0.9)), in_wordings((1, 2, 0.9), cosines=(0.9, -0.9))
    assert like_one[0] < like_both[0]
    assert in_wordings()[0] == in_wordings(cosines=(0.9, -0.9))[0]  # by itself it is as likely


def test_the_same_words_are_the_same_whatever_other_wordings_there_are() -> None:
    assert similarities(matching((1, 2, 0.9)), NOTICE)[0] == 1.0


def test_a_revision_of_an_earlier_version_weighs_each_wording_by_itself() -> None:
    earlier = {name: value for name, value in parameters().items() if name != "wordings_from"}
    cosines = (0.9, -0.9)
    before = in_wordings((1, 2, 0.9), cosines=cosines, read_with=earlier)[0]
    assert before == in_wordings(cosines=cosines)[0] > in_wordings((1, 2, 0.9), cosines=cosines)[0]


def test_a_revision_of_an_earlier_version_counts_a_matched_question_wherever_its_passage_is_found() -> None:
    earlier = {name: value for name, value in parameters().items() if name not in ("answers_too", "further_down")}
    one = matching(first=FEE, read_with={**earlier, "matched_from": 0.6})
    top, far = (found(one, LATE, {"x": 1.0, "a": score, "z": 0.0})["a"].multiplier for score in (1.0, 0.1))
    assert top == far > 1.0


@given(
    same=st.floats(0.0, 1.0), score=st.floats(0.0, 1.0), more=st.floats(0.0, 1.0),
    bias=st.floats(-3.0, 3.0), further_down=st.floats(0.0, 30.0),
)  # fmt: skip
def test_more_likely_the_same_and_further_up_never_count_less(
    same: float, score: float, more: float, bias: float, further_down: float
) -> None:
    likely = np.asarray([same, same + (1.0 - same) * more, same, 1.0, 0.0])
    scores = np.asarray([score, score, score + (1.0 - score) * more, 0.0, 1.0])
    share, likelier, further_up, equal, nothing = answers_too(likely, scores, bias=bias, further_down=further_down)
    assert 0.0 <= share <= min(likelier, further_up) + 1e-12 <= 1.0 + 1e-12
    assert (equal, nothing) == (pytest.approx(1.0), 0.0)


def test_pairs_are_stored_with_the_revision_and_change_its_digest() -> None:
    plain = Content(queries=tallies((1, 1, 2.0, 0.0)), documents={}, parameters=parameters())
    paired = replace(plain, pairs=DecidedPairs(np.asarray([[1, 2]]), np.asarray([0.75], dtype=np.float32)))
    again = Content.decode(paired.encode())
    assert (again.pairs.question.tolist(), again.pairs.same.tolist()) == ([[1, 2]], [0.75])
    assert paired.digest() != plain.digest()


def test_a_revision_of_an_earlier_version_has_no_pairs() -> None:
    with np.load(io.BytesIO(Content.empty(PARAMETERS).encode())) as stored:
        kept = {name: stored[name] for name in stored.files if not name.startswith("pair")}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **kept)
    assert len(Content.decode(buffer.getvalue()).pairs) == 0


def test_a_question_that_names_only_the_product_does_not_match_all_others_about_it() -> None:
    things = ("replica", "alias", "partition", "index", "schema", "quota", "token", "backup", "cluster", "bucket")
    texts = ["What is Acme?", *(f"Where is the {thing} of Acme?" for thing in (*things, *map("big {}".format, things)))]
    ids = np.arange(len(texts))
    ones, zeros = np.ones(len(texts)), np.zeros(len(texts))
    rows = QueryTallies(
        question=ids, passage=ids, up=ones, down=zeros, raters_up=ones.astype(np.int64),
        raters_down=zeros.astype(np.int64), normalized_score=np.full(len(texts), np.nan),
    )  # fmt: skip
    questions = RatedQuestions(ids=ids, texts=texts, terms=[query_terms(text) for text in texts])
    content = Content(queries=rows, documents={}, parameters=parameters())
    snap = Snapshot(content, questions, {int(key): str(key) for key in ids})
    own, other = "Acme, what is it?", "Where are the logs of Acme?"
    assert snap.highest_similarity(AskedQuestion(text=own, terms=query_terms(own))) >= 0.6
    assert snap.highest_similarity(AskedQuestion(text=other, terms=query_terms(other))) == 0.0


@pytest.mark.parametrize(
    ("question", "hidden"),
    [
        ("How many books may a student borrow?", True),
        ("How many books may a student borrow", True),
        ("How many books may a teacher borrow?", False),
        ("When does the library open?", False),
    ],
)
def test_a_rule_for_one_question_holds_for_it_alone(question: str, hidden: bool) -> None:
    rule = ManualRule(
        multiplier=1.0, hide=True, expires_at=None, question="How many books may a student borrow?", target="a"
    )
    found = snapshot(tallies(), manual={"rule": rule}).boosts(asked(question), [Hit("a"), Hit("b")]).by_chunk
    assert list(found) == (["a"] if hidden else [])
    assert not hidden or found["a"].origin == "hidden by staff for this question"


def test_a_rule_for_one_question_comes_before_one_for_every_question() -> None:
    words = "How many books may a student borrow?"
    manual = {
        "a": ManualRule(multiplier=1.0, hide=True, expires_at=None),
        "own": ManualRule(multiplier=1.5, hide=False, expires_at=None, question=words, target="a"),
        "over": ManualRule(multiplier=0.5, hide=False, expires_at=1.0, question=words, target="a"),
    }
    one = snapshot(tallies(), manual=manual)
    boost = one.boosts(asked(words), [Hit("a")], now=2.0).by_chunk["a"]
    assert (boost.multiplier, boost.hide) == (1.5, False)
    assert one.boosts(asked("When does the library open?"), [Hit("a")], now=2.0).by_chunk["a"].hide
