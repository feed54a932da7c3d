from dataclasses import replace

import pytest

from retrieval.engine.steps.context.dedupe import merge_duplicates
from retrieval.engine.steps.context.joining import join
from tests.retrieval.engine.steps.fakes import scored

TEXT = (
    "Rooms are allocated in June. The deposit for a room in Lakeside hall is EUR 300. It is paid back within 30 days. "
    "Quiet hours are from 23:00 to 07:00.\n\nGuests may stay for three nights. They sign in at the porter's desk."
)


def piece(number: int, start: int, end: int, *, seq: int, document: str = "housing", **facts):
    candidate = scored(number, TEXT[start:end], document_id=document, title="Housing", **facts)
    return replace(
        candidate, chunk=replace(candidate.chunk, seq=seq, char_start=start, char_end=end)
    )


FIRST = piece(1, 0, 112, seq=0, heading="Halls › Money", page=1)
SECOND = piece(
    2, 81, 149, seq=1, heading="Halls › Money", page=1
)  # begins with the last sentence of FIRST
THIRD = piece(
    3, 151, len(TEXT), seq=2, heading="Halls › Guests", page=2
)  # a blank line lies between


def ids(result) -> list[str]:
    return [passage.chunk_id for passage in result[0]]


def test_neighbours_become_one_passage_with_the_overlap_once() -> None:
    result = merge_duplicates([SECOND, THIRD, FIRST])
    passage = result[0][0].chunk
    assert (passage.text, passage.char_start, passage.char_end) == (TEXT, 0, len(TEXT))
    assert (passage.chunk_id, passage.page, passage.heading) == ("k2", 1, "Halls")
    assert result[2] == {"k2": ["k3", "k1"]}


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ((1, 3, 8), (4, 6, 8), (1, 6, 8)),
        ((1, 3, 6), (4, 6, 6), None),
        (None, (1, 3, 8), (1, 3, 8)),
        ((5, 8, 8), None, (5, 8, 8)),
    ],
)
def test_joined_parts_of_a_table_know_their_rows(first, second, together) -> None:
    left, right = replace(FIRST.chunk, table_rows=first), replace(SECOND.chunk, table_rows=second)
    joined = join(left, right, 640)
    assert joined is not None and joined.table_rows == together


@pytest.mark.parametrize(
    "other",
    [
        piece(2, 81, 149, seq=1, document="another"),
        piece(2, 151, len(TEXT), seq=2),
        replace(SECOND, chunk=replace(SECOND.chunk, text="Something else altogether stands here.")),
        replace(SECOND, chunk=replace(SECOND.chunk, char_start=0, char_end=0)),
    ],
    ids=["another document", "a chunk lies between", "texts do not fit", "place unknown"],
)
def test_what_is_no_neighbour_stays_apart(other) -> None:
    assert join(FIRST.chunk, other.chunk, 640) is None or other.chunk.document_id == "another"
    assert ids(merge_duplicates([FIRST, other])) == ["k1", "k2"]


def test_the_same_words_go_once_whatever_their_marks_and_the_better_one_stays() -> None:
    again = scored(8, TEXT.replace("Quiet hours", "**quiet  hours**"), document_id="copy")
    result = merge_duplicates([scored(7, TEXT, document_id="original"), again])
    assert (ids(result), result[1]) == (["k7"], {"k8": "k7"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("An undergraduate may borrow 12 books at once for a period of four weeks from the library.",
         "An undergraduate may borrow 8 books at once for a period of four weeks from the library."),
        ("Guests may smoke in the common rooms of all halls of residence at any time of the day.",
         "Guests may not smoke in the common rooms of all halls of residence at any time of the day."),
        ("研究生可以在宿舍内使用电热水壶和电饭锅等大功率电器。",
         "研究生不可以在宿舍内使用电热水壶和电饭锅等大功率电器。"),
    ],
)  # fmt: skip
def test_one_word_or_number_that_differs_is_no_duplicate(one: str, other: str) -> None:
    result = merge_duplicates([scored(1, one), scored(2, other)])
    assert ids(result) == ["k1", "k2"]
