"""A passage that is cut off is given to the model with its neighbour, at the price of one read of the database."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.steps.answer.write import write_answer
from retrieval.engine.values import ScoredChunk, Scores, StoredChunk
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import EMPTY_SCOPE, ask, cut, make_tools

HEAD = "Charges for late items, in force from 2025.\n\n| Item | Charge |\n|---|---|\n| Book | EUR 0.30 |"
ROWS = "| Laptop | EUR 5 |\n| Camera | EUR 7 |"


def found(chunk: StoredChunk) -> ScoredChunk:
    return ScoredChunk(chunk=chunk, scores=Scores(rerank=0.9, final=0.9))


async def written(
    chunks: list[StoredChunk],
    at: int = 0,
    *,
    question: str = "What does a late camera cost?",
    **q: Any,
):
    reader = MemoryReader(chunks)
    deps = make_tools(settings.RAG, documents=reader)
    answer = await write_answer(deps, ask(question, **q), [found(chunks[at])])
    return answer, reader, deps.trace


async def test_the_model_reads_the_rest_of_a_table(online) -> None:
    answer, reader, trace = await written(cut(HEAD, ROWS, gap=1))
    assert "Camera | EUR 7" in online.chats[0].prompt
    assert reader.reads == ["at"]
    assert "Camera" in answer.sources[0].chunk.text and answer.sources[0].chunk.chunk_id == "c-0"
    assert trace.steps[0].detail["joined"] == {"c-0": ["c-1"]}


@pytest.mark.parametrize(
    ("begun", "rest"),
    [
        ("Залог возвращают", "через четыре недели после отъезда, на счёт жильца."),
        ("Kaucja za pokój", "łącznie z kluczem wynosi 300 zł i jest zwracana."),
        ("Η εγγύηση για το δωμάτιο", "επιστρέφεται σε τέσσερις εβδομάδες."),
    ],
)
async def test_a_sentence_that_is_cut_goes_on_with_a_small_letter_of_any_script(
    online, begun: str, rest: str
) -> None:
    await written(cut(begun, rest, gap=1), question=f"{begun}?")
    assert rest in online.chats[0].prompt


async def test_what_begins_something_else_is_not_joined(online) -> None:
    await written(cut(HEAD, "## Appeals\n\nWrite to the head of circulation.", gap=2))
    assert "circulation" not in online.chats[0].prompt


async def test_a_neighbour_has_to_fit(online, rag_settings) -> None:
    rag_settings(ollama={"num_ctx": 1024, "max_answer_tokens": 300})
    await written(
        cut(
            HEAD,
            "\n".join(f"| Thing {number} of many | EUR {number} |" for number in range(80)),
            gap=1,
        )
    )
    assert "Thing 70" not in online.chats[0].prompt


async def test_a_neighbour_outside_the_scope_is_never_read(online) -> None:
    await written(cut(HEAD, ROWS, gap=1), scope=EMPTY_SCOPE)
    assert "Camera" not in online.chats[0].prompt
