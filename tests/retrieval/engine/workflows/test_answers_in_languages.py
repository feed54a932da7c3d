"""A collection with files in several languages: an answer in the words of one of them is an answer, and cites it."""

from __future__ import annotations

import pytest

from tests.retrieval.engine.steps.fakes import chunk
from tests.retrieval.engine.steps.grounding.languages import ENGLISH, PASSAGES, Passage
from tests.retrieval.engine.workflows.runs import run

WRITER = "Task: WRITE"


async def answered(online, reply: str, text: str) -> tuple[str, list[str], str]:
    """Decision, documents that are cited, and the answer. text: of the passage that holds it, beside English ones."""
    online.reply(match=WRITER, text=reply)
    chunks = [chunk(number, one) for number, one in enumerate((*ENGLISH, text), start=1)]
    answer, _, _ = await run("corrective", text.split(".")[0] + "?", chunks)
    return (
        answer.decision,
        [source.chunk.document_id for source in answer.sources if source.cited],
        answer.text,
    )


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.language)
async def test_a_sentence_of_a_passage_in_any_language_is_an_answer_that_cites_it(
    online, passage: Passage
) -> None:
    decision, cited, _ = await answered(online, passage.said, passage.text)
    assert (decision, cited) == ("ANSWER", ["d4"])


@pytest.mark.parametrize(
    "sentence",
    [
        "Die Bewerbung geht bis 7. Juni an Hrn. Dr. med. Brandt, Zi. 21, 3. OG, im Altbau.",
        "Press [8] for the laundry and [0] for the night desk.",
        "The third entry of the plan is read by `plan[2]` alone.",
        "The map shows it as grid[1] beside the gate.",
    ],
)
async def test_a_sentence_stays_as_it_is_and_is_cited_at_its_end(online, sentence: str) -> None:
    decision, cited, text = await answered(online, sentence, sentence)
    assert (decision, cited) == ("ANSWER", ["d4"])
    assert text.startswith(f"{sentence[:-1]} [") and text.endswith("].")
