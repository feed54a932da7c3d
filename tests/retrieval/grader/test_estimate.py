from __future__ import annotations

from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.answerability import Estimate, estimate_answerability, shipped_model
from retrieval.ports import SearchRequest
from retrieval.values import CollectionRef, EmbeddingSpace, Query, ScoredChunk, SearchScope
from tests.retrieval.grader import lists
from tests.retrieval.steps.fakes import HANDBOOK, SCOPE, MemorySearcher, scored

QUESTION = "What does a late resit cost?"


async def found(question: str) -> tuple[ScoredChunk, ...]:
    request = SearchRequest(queries=(Query(question),), scope=SCOPE, top_k=10)
    return (await MemorySearcher(HANDBOOK).search(request)).candidates


async def graded(question: str) -> Estimate:
    return estimate_answerability(question, await found(question), semantic=False)


@pytest.mark.parametrize(
    "question",
    [
        "How many books may an undergraduate borrow?",
        "What is the deposit for a room in Lakeside hall?",
        "What does Wi-Fi error NLU-E107 mean?",
        "校长奖学金每学年多少欧元？",
        "校長獎學金每學年多少歐元？",
    ],
)
async def test_the_documents_hold_what_they_answer(question: str) -> None:
    assert (await graded(question)).answerability >= settings.RAG.corrective.weak_score


@pytest.mark.parametrize(
    "question",
    [
        "How much does parking on campus cost?",
        "Who won the football cup last year?",
        "What is the salary of a full professor?",
        "食堂的午餐几点开始？",
        "校車的發車時刻是幾點？",
    ],
)
async def test_they_do_not_hold_what_they_do_not_answer(question: str) -> None:
    assert (await graded(question)).answerability < settings.RAG.corrective.weak_score


def part(number: int, text: str, begin: int) -> ScoredChunk:
    one = scored(number, text, document_id="d1", char_start=begin, char_end=begin + len(text))
    return replace(one, chunk=replace(one.chunk, seq=number))


def test_a_joined_passage_is_worth_what_its_best_chunk_is_worth() -> None:
    listed = [part(1, "Rooms are clean.", 0), part(2, "A late resit costs EUR 55.", 16), scored(3, "Wi-Fi is free.")]
    text = "".join(one.chunk.text for one in listed[:2])
    joined = replace(listed[0], chunk=replace(listed[0].chunk, text=text, char_end=len(text)))
    alone = estimate_answerability(QUESTION, listed, semantic=False)
    estimate = estimate_answerability(QUESTION, [joined, listed[2]], listed=listed, semantic=False)
    assert estimate.passages == [max(alone.passages[:2]), alone.passages[2]]
    assert estimate.answerability == alone.answerability


def test_what_was_left_out_as_a_repetition_is_not_graded() -> None:
    listed = [scored(1, "A late resit costs EUR 55."), scored(2, "A late resit costs EUR 55.")]
    assert len(estimate_answerability(QUESTION, listed[:1], listed=listed).passages) == 1


def test_what_is_newly_found_is_measured_against_the_best_so_far() -> None:
    poor = [scored(1, "Fees of the past."), scored(2, "Late buses.")]
    best = scored(3, "A late resit costs EUR 55.")
    alone, beside = (estimate_answerability(QUESTION, poor, beside=shown).passages for shown in ([], [best]))
    assert max(beside) < max(alone)


def test_longer_lists_than_the_grader_knows_are_graded_to_their_end() -> None:
    many = [scored(number, f"Room {number} is clean.") for number in range(1, 15)]
    last = scored(15, "A late resit costs EUR 55.")
    grades = estimate_answerability(QUESTION, [*many, last]).passages
    assert len(grades) == 15
    assert grades[-1] == max(grades)


def rooms(count: int) -> list[ScoredChunk]:
    return [scored(number, f"Room {number} is clean, and a resit is late.") for number in range(1, count + 1)]


@pytest.mark.parametrize(("length", "share"), [(1, 0.45), (2, 0.4), (5, 0.25), (9, 0.05), (10, 0.0)])
def test_the_shorter_a_list_the_more_counts_its_best_passage(length: int, share: float) -> None:
    listed = rooms(length)
    model = shipped_model().estimate(QUESTION, listed)
    expected = model.answerability ** (1 - share) * max(model.passages) ** share
    assert estimate_answerability(QUESTION, listed).answerability == pytest.approx(expected)


@pytest.mark.parametrize("vectors", [True, False])
def test_a_title_of_common_words_that_stand_apart_is_not_answered(vectors: bool) -> None:
    """ "The Silence of the Room" is a film of which the handbook knows nothing."""
    rows = (
        ("Library rules", "In the reading room there is silence. The rules were directed by the librarian.", 0.55, 8.4),
        ("Library rules", "Group rooms: a room can be booked for two hours. The film club directs films.", 0.45, 5.2),
        ("Dormitories", "Quiet hours: silence in every room after ten. The house director is Tom Ray.", 0.44, 5.1),
        *((f"Room {number}", "The room has ten seats and a screen.", 0.2, 2.0 - number / 10) for number in range(7)),
    )  # fmt: skip
    listed = lists.scored(rows, vectors=vectors)
    for question in ("Who directed The Silence of the Room?", 'Who directed the film "The Silence of the Room"?'):
        assert estimate_answerability(question, listed).answerability < settings.RAG.corrective.weak_score


def test_beside_earlier_passages_the_list_is_not_called_short() -> None:
    best = scored(30, "A late resit costs EUR 55.")
    model = shipped_model().estimate(QUESTION, [*rooms(2), best])
    estimate = estimate_answerability(QUESTION, [best], beside=rooms(2))
    assert (estimate.passages, estimate.answerability) == (model.passages[2:], model.answerability)


def test_new_passages_that_are_no_better_do_not_raise_the_estimate() -> None:
    best = scored(30, "A late resit costs EUR 55.")
    model = shipped_model().estimate(QUESTION, [best, *rooms(2)])
    estimate = estimate_answerability(QUESTION, rooms(2), beside=[best])
    assert max(model.passages[1:]) < model.answerability  # or nothing were shown
    assert estimate.answerability == max(model.passages[1:])


def test_a_long_list_is_looked_at_ten_by_ten_and_its_beginning_stands_for_the_documents() -> None:
    long = rooms(15)
    first, rest = (shipped_model().estimate(QUESTION, part) for part in (long[:10], long[10:]))
    estimate = estimate_answerability(QUESTION, long)
    assert estimate.passages == [*first.passages, *rest.passages]
    assert estimate.answerability == first.answerability


def test_earlier_passages_leave_less_room_for_new_ones() -> None:
    earlier, new = [scored(30, "A late resit costs EUR 55."), scored(31, "Fees.")], rooms(9)
    first, rest = (shipped_model().estimate(QUESTION, [*earlier, *part]) for part in (new[:8], new[8:]))
    estimate = estimate_answerability(QUESTION, new, beside=earlier)
    assert estimate.passages == [*first.passages[2:], *rest.passages[2:]]


def test_beside_ten_earlier_passages_new_ones_are_looked_at_one_by_one() -> None:
    earlier, new = rooms(10), [scored(30, "A late resit costs EUR 55."), scored(31, "Fees.")]
    alone = [shipped_model().estimate(QUESTION, [*earlier, passage]).passages[-1] for passage in new]
    assert estimate_answerability(QUESTION, new, beside=earlier).passages == alone


@pytest.mark.parametrize("semantic", [True, False])
def test_vectors_count_unless_they_tell_no_meaning(semantic: bool) -> None:
    listed, question = lists.scored(lists.PASSAGES), "How many books may undergraduates borrow?"
    model = shipped_model().estimate(question, listed, semantic=semantic)
    assert estimate_answerability(question, listed, semantic=semantic).passages == model.passages
    if semantic:
        assert estimate_answerability(question, listed).passages == model.passages


def test_a_passage_of_which_no_part_was_listed_has_answerability_0() -> None:
    listed = [scored(1, "A late resit costs EUR 55.")]
    assert estimate_answerability(QUESTION, [scored(2, "Other.")], listed=listed).passages == [0.0]


def test_nothing_found_holds_nothing() -> None:
    assert estimate_answerability(QUESTION, []) == Estimate(passages=[], answerability=0.0)


def test_the_lexical_embedders_scores_tell_no_meaning() -> None:
    def scope(*models: str) -> SearchScope:
        refs = (CollectionRef(id=model, name=model, space=EmbeddingSpace(model, 8)) for model in models)
        return SearchScope(tuple(refs))

    assert scope("all-minilm").semantic
    assert not scope("lexical-hash-v1").semantic
    assert not scope("all-minilm", "lexical-hash-v1").semantic
