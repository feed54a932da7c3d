"""What a search is asked for: variants, and the weights of their words."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.errors import InvalidQueryError
from retrieval.search.queries import (
    MAX_QUERY_CHARS,
    MAX_QUERY_TERMS,
    QueryGroup,
    query_groups,
    query_text,
    term_shares,
)
from retrieval.values import Query
from tests.retrieval.steps.fakes import chunk

IMAGINED = Query("loans last weeks", kind="hyde", vector_only=True)


def rewrites(*texts: str) -> list[Query]:
    return [Query(text, kind="rewrite") for text in texts]


def group(*queries: Query) -> QueryGroup:
    (made,) = query_groups(queries)
    return made


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("  two\t\n words ", "two words"),
        ("a\x00\x07b\ud800c\ufeff", "a b c"),
        ("x" * (MAX_QUERY_CHARS + 1), "x" * MAX_QUERY_CHARS),
    ],
)
def test_a_query_is_searched_without_control_characters_and_at_a_bounded_length(text: str, searched: str) -> None:
    assert query_text(text) == searched


def test_what_says_nothing_or_the_same_again_is_left_out() -> None:
    made = group(Query(" "), Query(" library\n"), *rewrites("library "), *rewrites("loans"))
    assert [query.text for query in made.queries] == ["library", "loans"]


def test_the_same_text_may_be_asked_with_and_without_words() -> None:
    assert len(group(Query("library"), Query("library", kind="hyde", vector_only=True)).queries) == 2


def test_only_queries_that_say_nothing_are_an_error() -> None:
    with pytest.raises(InvalidQueryError):
        query_groups([Query(" "), Query("\x00")])


def test_a_groups_terms_are_the_first_querys_distinct_in_order_and_bounded() -> None:
    assert group(Query("books library books"), *rewrites("loans")).terms == ("book", "librari")
    assert len(group(Query(" ".join(f"x{number}" for number in range(MAX_QUERY_TERMS + 5)))).terms) == MAX_QUERY_TERMS


# ------------------------------------------------------------------------------------------------ groups
def test_the_vector_is_a_mean_in_which_the_first_query_weighs_as_much_as_all_others() -> None:
    made = group(Query("library"), *rewrites("loans", "books"))
    vectors = np.eye(3, dtype=np.float32)
    assert made.vector(vectors).tolist() == [[0.5, 0.25, 0.25]]
    assert group(Query("library")).vector(vectors[:1]).tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize(("others", "weight"), [(0, 1), (1, 2), (2, 4), (3, 6)])
def test_a_word_of_every_wording_is_asked_for_as_often_as_all_of_them_weigh(others: int, weight: int) -> None:
    made = group(Query("library zero"), *rewrites("library one", "library two", "library three")[:others])
    assert made.text_weight == weight
    assert made.text.split().count("librari") == weight


def test_text_search_is_asked_for_the_heaviest_words_first() -> None:
    made = group(Query("library"), *rewrites("loans", "books loans"))
    assert made.text == "librari librari loan loan book"


def test_text_search_is_asked_for_a_bounded_number_of_words() -> None:
    words = [" ".join(f"{letter}{number}" for number in range(60)) for letter in "xyz"]
    assert len(set(group(Query(words[0]), *rewrites(*words[1:])).text.split())) == MAX_QUERY_TERMS


def test_an_imagined_answer_takes_no_part_in_text_search() -> None:
    made = group(Query("library"), IMAGINED)
    assert (made.label, made.text, made.text_weight) == ("original", "librari", 1)


def test_an_imagined_answer_alone_leaves_text_search_without_words() -> None:
    made = group(IMAGINED)
    assert (made.label, made.text) == ("hyde", "")


def test_parts_of_a_question_are_groups_of_their_own_after_the_others() -> None:
    part = Query("opening hours", kind="sub_query")
    groups = query_groups([part, Query("library"), *rewrites("loans"), Query("fees", kind="sub_query")])
    assert [made.label for made in groups] == ["original", "sub_query", "sub_query2"]
    assert [made.label for made in query_groups([part])] == ["sub_query"]


@pytest.mark.parametrize(("question", "times"), [("2022年世界杯", 3), ("world cup 2022", 1)])
def test_a_number_of_a_chinese_question_is_asked_for_three_times(question: str, times: int) -> None:
    words = group(Query(question)).text.split()
    assert words.count("2022") == times
    assert len(set(words)) == len(words) - times + 1


# ------------------------------------------------------------------------------------------------ terms
def test_the_share_of_terms_counts_those_in_title_heading_and_text() -> None:
    found = chunk(1, "ten books", title="Library", heading="Loans")
    assert term_shares(("librari", "loan", "book", "zebra"), [found]) == {"k1": 0.75}
