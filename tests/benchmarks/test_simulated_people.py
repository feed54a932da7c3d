"""The people, the cohorts and the collection of `benchmarks.feedback.feedback_simulation` do what it says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.feedback.attacks import hostile_credits, lifted_passage
from benchmarks.feedback.corpus import Asked, Corpus, Drift
from benchmarks.feedback.rankers import plain, rocchio
from benchmarks.feedback.rated_sets import MANNERS, REWORDINGS, load, read_rewordings
from benchmarks.feedback.users import (
    PEOPLE,
    SOURCE_RATINGS,
    UP_IF_INDIFFERENT,
    Person,
    examined,
    population,
    verdict,
    visit,
)
from benchmarks.support.grader_data import Bm25
from feedback.ranking.boosts import Votes

CAREFUL = Person(number=1, temper="careful", joined=0, block=0, confirmed=True, patience=0.5)
SHOWN = [10, 11, 12, 13, 14, 15]
MANY = 2000


def draws() -> np.random.Generator:
    return np.random.default_rng(0)


def up_share(person: Person, *, good: bool) -> float:
    draw = draws()
    return float(np.mean([verdict(person, good, draw) for _ in range(MANY)]))


# ------------------------------------------------------------------------------------------------ people
def test_places_are_looked_at_less_the_lower_they_stand() -> None:
    draw = draws()
    counts = [examined(CAREFUL, 6, draw) for _ in range(MANY)]
    shares = [np.mean([count > place for count in counts]) for place in range(6)]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert shares[2] == pytest.approx(0.25, abs=0.05)


def test_somebody_without_patience_looks_at_the_first_place_alone() -> None:
    assert examined(replace(CAREFUL, patience=0.0), 6, draws()) == 1


def test_a_lazy_person_likes_everything() -> None:
    assert up_share(replace(CAREFUL, temper="lazy"), good=False) == 1.0


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_who_rates_at_random_says_the_same_of_good_and_bad(share: float) -> None:
    person = replace(CAREFUL, temper="random", up_share=share)
    assert up_share(person, good=True) == up_share(person, good=False) == pytest.approx(share, abs=0.05)


def test_an_ordinary_person_lets_half_of_the_bad_answers_pass() -> None:
    expected = 0.5 * UP_IF_INDIFFERENT + 0.5 * 0.1
    assert up_share(replace(CAREFUL, temper="ordinary"), good=False) == pytest.approx(expected, abs=0.05)


def test_noise_turns_verdicts_round() -> None:
    assert up_share(replace(CAREFUL, noise=1.0), good=True) == pytest.approx(0.1, abs=0.05)


def test_one_rating_in_seven_is_of_a_source() -> None:
    draw = draws()
    people = population(200, 90, draw, tempers=PEOPLE)
    rated = [left for at in range(6000) if (left := visit(people[at % 200], SHOWN, {10}, frozenset(), draw)).rated]
    beyond_the_answer = [left for left in rated if any(credit.marker > 1 for credit in left.credits)]
    assert 0.0 < len(beyond_the_answer) / len(rated) < SOURCE_RATINGS


def test_bad_answers_are_rated_less_often_than_good_ones() -> None:
    draw = draws()
    good = [visit(CAREFUL, SHOWN, {10}, frozenset(), draw, answers_only=True).rated for _ in range(MANY)]
    bad = [visit(CAREFUL, SHOWN, {99}, frozenset(), draw, answers_only=True).rated for _ in range(MANY)]
    assert np.mean(bad) < 0.6 * np.mean(good)


def test_what_looks_right_to_everybody_is_praised() -> None:
    draw = draws()
    left = [visit(CAREFUL, SHOWN, {99}, {10}, draw, answers_only=True) for _ in range(MANY)]
    signs = [credit.weight > 0 for one in left for credit in one.credits if credit.marker == 1]
    assert np.mean(signs) > 0.8


# ------------------------------------------------------------------------------------------------ cohorts
def test_a_cohort_lifts_a_wrong_passage_and_sinks_the_right_one() -> None:
    wrong = lifted_passage(SHOWN, {11})
    weights = {SHOWN[credit.marker - 1]: credit.weight for credit in hostile_credits(SHOWN, wrong, {11})}
    assert wrong == 15
    assert weights == {15: 1.0, 11: -1.0}


# ------------------------------------------------------------------------------------------------ the collection
def corpus() -> Corpus:
    """Passages 0, 1 and 2; halfway 1 gets the id 3, and what 2 said is in 5 while its document has another text, 4."""
    texts = ["apples grow", "pears ripen", "plums fall", "pears ripen", "see elsewhere", "plums fall"]
    return Corpus(
        bm25=Bm25([text.split() for text in texts]),
        vectors=np.eye(6, dtype=np.float32),
        documents=[0, 1, 2, 1, 2, 6],
        drift=Drift(moved={1: 3}, rewritten={2: 4}, elsewhere={2: 5}),
        embed=lambda texts: {text: np.eye(6, dtype=np.float32)[0] for text in texts},
    )


def asked(text: str, relevant: set[int], at: int = 0) -> Asked:
    return Asked(text=text, vector=np.eye(6, dtype=np.float32)[at], relevant=frozenset(relevant))


def test_votes_follow_a_passage_to_its_new_id_and_leave_a_text_that_is_gone() -> None:
    site = corpus()
    assert site.chunk_of(np.asarray([0, 1, 2])) == {0: "0", 1: "1", 2: "2"}
    site.changed = True
    assert site.chunk_of(np.asarray([0, 1, 2])) == {0: "0", 1: "3"}
    assert site.passage(3) == 1


def test_what_answers_moves_with_the_text() -> None:
    site = corpus()
    site.changed = True
    assert site.relevant(asked("plums", {1, 2})) == {3, 5}


def test_only_what_is_there_by_now_is_found() -> None:
    site = corpus()
    assert set(plain(site)(asked("plums", set()))) & {3, 4, 5} == set()
    site.changed = True
    assert set(plain(site)(asked("plums", set()))) & {1, 2} == set()


def test_rocchio_finds_what_was_rated_good_for_the_question() -> None:
    site = corpus()
    question = asked("which one", {1}, at=2)
    one = np.asarray([1], dtype=np.int64)
    votes = Votes(
        key=one, question=one * 0, passage=one, document=one, voter=one, value=np.ones(1), document_value=np.ones(1),
        day=one, normalized_score=np.ones(1),
    )  # fmt: skip
    assert plain(site)(question)[:2] == [2, 0]
    assert rocchio(site, votes, question.vector[None, :])(question)[:2] == [2, 1]


# ------------------------------------------------------------------------------------------------ the rewordings
@pytest.mark.parametrize("path", sorted(REWORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_each_rewording_is_another_text_than_its_contrast(path: Path) -> None:
    rows = read_rewordings(path)
    assert len(rows) >= 60
    for row in rows.values():
        texts = [row[key].casefold() for key in (*MANNERS, "contrast")]
        assert len(set(texts)) == len(texts), row["id"]


def test_a_rewording_that_lacks_a_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({"id": "1", "terse": "a", "colloquial": "b", "formal": "c"}), encoding="utf-8")
    with pytest.raises(ValueError, match="1 lacks a text"):
        read_rewordings(path)


def test_passages_that_answer_a_reworded_question_are_kept_first(tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    passages = [{"id": str(at), "title": "", "text": f"passage {at}"} for at in range(20)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "which one?"}), encoding="utf-8")
    (folder / "qrels.tsv").write_text("q\t17\t1", encoding="utf-8")
    row = {"id": "q", "terse": "which", "colloquial": "which then?", "formal": "Which?", "contrast": "Why?"}
    (tmp_path / "some.jsonl").write_text(json.dumps(row), encoding="utf-8")
    data = load("some", tmp_path, documents=3, rewordings=tmp_path)
    (question,) = data.questions
    assert len(data.texts) == 3
    assert [data.texts[at].strip() for at in question.relevant] == ["passage 17"]
    assert question.rewordings == ("which", "which then?", "Which?")
