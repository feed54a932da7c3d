"""Which passages a rating speaks for or against, and how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedback.ranking.attribution import (
    CheckedSentence,
    CitedSource,
    RatedAnswer,
    RatingInput,
    attribute,
    vote,
)


def answer(
    text: str = "One [1]. Two [2].", *, cited: tuple[int, ...] = (1, 2), of: int = 3, **fields: str
) -> RatedAnswer:
    sources = [CitedSource(marker, marker in cited) for marker in range(1, of + 1)]
    return RatedAnswer(
        text=text,
        decision=fields.get("decision", "ANSWER"),
        status=fields.get("status", "complete"),
        sources=sources,
    )


def given(score: int, *tags: str, marker: int | None = None, key: str = "r") -> RatingInput:
    return RatingInput(id=key, marker=marker, score=score, tags=tags)


def weights(rated: RatedAnswer, *ratings: RatingInput) -> dict[int, float]:
    return {credit.marker: round(credit.weight, 4) for credit in attribute(rated, ratings)}


def test_a_good_answer_credits_what_it_cites_in_proportion_to_use() -> None:
    rated = answer("A [1]. B [1]. C [1][2].")
    assert weights(rated, given(5)) == {1: round(2.5 / 3, 4), 2: round(0.5 / 3, 4)}


def checked(*sentences: tuple[str, tuple[int, ...], bool | None]) -> RatedAnswer:
    text = " ".join(sentence for sentence, _, _ in sentences)
    return replace(
        answer(text, cited=(1, 2)), sentences=[CheckedSentence(*sentence) for sentence in sentences]
    )


def test_a_sentence_that_is_not_borne_out_credits_nothing_beside_one_that_is() -> None:
    assert weights(checked(("A [1].", (1,), True), ("B [2].", (2,), False)), given(5)) == {1: 1.0}
    assert weights(checked(("A [1].", (1,), False), ("B [2].", (2,), False)), given(5)) == {
        1: 0.5,
        2: 0.5,
    }


def test_praise_of_an_answer_that_was_not_confirmed_counts_half_and_blame_in_full() -> None:
    doubted = replace(answer(), is_confirmed=False)
    assert weights(doubted, given(5)) == {1: 0.25, 2: 0.25}
    assert weights(doubted, given(1)) == weights(answer(), given(1))
    assert weights(doubted, given(5, marker=1)) == {1: 1.0}


def test_a_sentence_credits_the_passages_that_say_it_whatever_else_is_cited_there() -> None:
    assert weights(checked(("A [1][2].", (2,), True)), given(5)) == {2: 1.0}


def test_a_wrong_source_debits_the_passages_of_sentences_that_are_not_borne_out_most() -> None:
    rated = checked(("A [1].", (1,), True), ("B [2].", (2,), False))
    assert weights(rated, given(1, "wrong_source")) == {1: -0.2, 2: -0.8}


def test_other_blame_goes_to_what_the_answer_rests_on() -> None:
    rated = checked(("A [1].", (1,), True), ("B [2].", (2,), False))
    assert weights(rated, given(1, "outdated")) == {1: -1.0}
    assert weights(rated, given(1)) == {1: -0.5}


@pytest.mark.parametrize("tag", ["style", "wrong_reasoning", "incomplete"])
@pytest.mark.parametrize("score", [1, 2, 4, 5])
def test_reasons_that_do_not_concern_sources_do_not_touch_them(tag: str, score: int) -> None:
    assert attribute(answer(), [given(score, tag)]) == []


def test_a_wrong_source_is_debited_for_the_question_and_its_document_hardly() -> None:
    assert vote(1, ["wrong_source"]) == (-1.0, -0.1)


@pytest.mark.parametrize("tags", [[], ["helpful"], ["wrong_source"]])
def test_the_middle_score_says_nothing(tags: list[str]) -> None:
    assert vote(3, tags) == (0.0, 0.0)


def test_a_source_rated_by_itself_takes_its_evidence_from_that_alone() -> None:
    rated = weights(
        answer(), given(5, key="whole"), given(1, "wrong_source", marker=2, key="source")
    )
    assert rated == {1: 0.5, 2: -1.0}


@pytest.mark.parametrize(
    ("decision", "status"),
    [("NO_ANSWER", "complete"), ("CLARIFY", "complete"), ("", "failed"), ("ANSWER", "failed")],
)
def test_what_is_no_answer_says_nothing_of_sources(decision: str, status: str) -> None:
    rated = answer(decision=decision, status=status)
    assert attribute(rated, [given(1), given(5, marker=1)]) == []


def test_a_bad_rating_without_a_reason_counts_in_full_for_one_source_and_half_for_an_answer() -> (
    None
):
    assert weights(answer(), given(1, marker=1)) == {1: -1.0}
    assert weights(answer(), given(1)) == {1: -0.25, 2: -0.25}
