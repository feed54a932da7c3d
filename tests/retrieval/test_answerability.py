"""The estimate: how probably what a search found answers the question, without a model."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.ports import SearchRequest
from retrieval.engine.steps.judge import LIST_LENGTH, estimate_answerability, read_signals
from retrieval.engine.values import Query, ScoredChunk, Scores, StoredChunk
from tests.retrieval.engine.steps.fakes import HANDBOOK, SCOPE, MemorySearcher

BORROWING = "How many books may undergraduates borrow?"
ROWS = (
    ("Library rules", "Undergraduates may borrow twelve books for four weeks. Late returns cost 20 cents.", 0.71, 9.1),
    ("Library rules", "The library opens at eight. Group rooms can be booked for two hours.", 0.44, 3.2),
    ("Sports", "The swimming pool closes in August. A season ticket costs 60 euros.", 0.12, 0.4),
    ("Parking", "Staff park behind the main hall. Bicycles stand in the yard.", 0.08, None),
)


def passage(title: str, text: str, dense: float | None, bm25: float | None) -> ScoredChunk:
    chunk = StoredChunk(chunk_id=text, document_id=text, collection_id="c", seq=0, title=title, text=text)
    return ScoredChunk(chunk=chunk, scores=Scores(dense=dense, bm25=bm25))


PASSAGES = [passage(*row) for row in ROWS]
WITHOUT_VECTORS = [replace(one, scores=replace(one.scores, dense=None)) for one in PASSAGES]


async def estimated(question: str) -> float:
    request = SearchRequest(queries=(Query(question),), scope=SCOPE, top_k=LIST_LENGTH)
    found = await MemorySearcher(HANDBOOK).search(request)
    return estimate_answerability(question, found.candidates, semantic=False)


@pytest.mark.parametrize(
    ("answered", "unanswered"),
    [
        ("How many books may an undergraduate borrow?", "How much does parking on campus cost?"),
        ("What does Wi-Fi error NLU-E107 mean?", "What is the salary of a full professor?"),
        ("校长奖学金每学年多少欧元？", "食堂的午餐几点开始？"),
        ("校長獎學金每學年多少歐元？", "校車的發車時刻是幾點？"),
    ],
)
async def test_what_the_documents_answer_is_more_probable(answered: str, unanswered: str) -> None:
    assert await estimated(answered) > await estimated(unanswered)


@pytest.mark.parametrize("passages", [PASSAGES, WITHOUT_VECTORS])
def test_without_the_passage_that_answers_it_is_less_probable(passages: list[ScoredChunk]) -> None:
    assert estimate_answerability(BORROWING, passages) > estimate_answerability(BORROWING, passages[1:])


def test_scores_of_the_lexical_embedder_are_not_read() -> None:
    lexical = estimate_answerability(BORROWING, PASSAGES, semantic=False)
    assert lexical == estimate_answerability(BORROWING, WITHOUT_VECTORS)


scores = st.none() | st.floats(0, 1)


@given(
    st.text(max_size=80), st.lists(st.builds(passage, st.text(), st.text(), scores, scores), min_size=1, max_size=12)
)
def test_every_signal_and_the_probability_lie_between_0_and_1(question: str, passages: list[ScoredChunk]) -> None:
    signals = read_signals(question, passages)
    assert all(0.0 <= value <= 1.0 + 1e-9 for value in signals.values())
    assert 0.0 <= estimate_answerability(question, passages) <= 1.0
