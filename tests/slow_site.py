"""The whole application as an ASGI module for real web processes, whose workflow writes slowly and searches nothing.

What comes behind an answer that broke off is written by the real engine, with the model server of the environment.
PIECES: how many are written, ten a second. LEASE_S: how long an answer is leased to its run.
"""

from __future__ import annotations

import asyncio
import os

from ragsite.asgi import application  # first: it sets Django up

# isort: split
from chat.runs import answers, run
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, AnswerSource, Question, Scores, StoredChunk

PIECES = int(os.environ.get("PIECES", "30"))
SOURCE = AnswerSource(
    marker=1,
    chunk=StoredChunk(
        chunk_id="chunk-1",
        document_id="8d8ac610-566d-4ef0-9c22-186b2a5ed793",
        collection_id="0b4c5d0e-1111-4a4a-8f8f-000000000000",
        seq=1,
        title="Library loans",
        text="Undergraduates may borrow ten books for four weeks.",
    ),
    scores=Scores(final=0.9),
    cited=True,
)


async def written_slowly(question: Question, *, workflow: str, trace: Trace) -> Answer:
    async with trace.step("retrieve") as step:
        step.summary = "1 candidate"
    await trace.sink.sources_chosen((SOURCE,))
    text = "Ten books [1]."
    await trace.emit_chunk(text)
    for number in range(PIECES):
        await asyncio.sleep(0.1)
        piece = f" Book {number}."
        text += piece
        await trace.emit_chunk(piece)
    return Answer(decision="ANSWER", text=text, sources=(SOURCE,), model="slow")


run.answer_question = written_slowly
answers.STALE_AFTER_S = float(os.environ.get("LEASE_S", answers.STALE_AFTER_S))
__all__ = ["application"]
