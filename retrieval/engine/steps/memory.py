"""Long-term memory: what earlier answers said to this user is recalled before an answer, and kept after it.

Recalled facts are background for routing, for the search's words and for replies about the conversation itself; they
are no source: an answer about documents cites documents. They are quoted in prompts as data. Kept is what a cited
answer says, never a request or an instruction, and nothing of an answer that failed.
Source: seed 001, `retrieve_memory` and `consolidate_memory`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ragsite.core.errors import AppError
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import (
    ConsolidateDetails,
    MemoryDetails,
    RecalledFact,
)
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import estimate_tokens, one_line
from retrieval.engine.trace import degrade, note, skip
from retrieval.engine.values import Answer, Exchange, Question, RememberedFact

RECALLED = 4  # facts at most that an answer is begun with
MAX_CHARS = 400  # of one fact
TIMEOUT_S = (
    2.0  # looking for facts by meaning; by words, or writing one down, may take twice as long
)
NOTHING = "-"
MEMORY_TOKENS = 600  # of all quoted facts together


@step("memory")
async def recall_memory(deps: Deps, question: Question) -> tuple[RememberedFact, ...]:
    """Facts near the question, best first; none where the memory is off or away."""
    if deps.memory is None or not question.user_id:
        skip("memory_nobody" if deps.memory else "memory_not_here")
        return ()
    try:
        async with asyncio.timeout(deps.deadline.limit(2 * TIMEOUT_S)):
            recall = await deps.memory.recall(question.user_id, question.standalone, limit=RECALLED)
    except (AppError, TimeoutError) as error:
        degrade(reason_of(error, late="memory_late"))
        return ()
    if not recall.enabled:
        skip("memory_off")
        return ()
    if recall.degraded:
        degrade(Reason("memory_incomplete", {"error": recall.degraded}))
    facts = tuple(RecalledFact(id=fact.id, score=round(fact.score, 4)) for fact in recall.facts)
    note(
        "memory_recalled" if facts else "memory_empty",
        MemoryDetails(facts=facts, count=len(facts)),
    )
    return recall.facts


@step("consolidate")
async def consolidate_memory(
    deps: Deps, question: Question, answer: Answer, *, accepted: bool = True
) -> None:
    """Writes the answer's fact down, unless the answer was not `accepted`."""
    if deps.memory is None or not question.user_id:
        skip("memory_nobody")
        return
    if why_not := unfit(answer) if accepted else "not_accepted":
        skip(why_not)
        return
    fact = cited_statement(answer.text)
    exchange = Exchange(
        question=one_line(question.standalone),
        fact=fact,
        conversation_id=question.conversation_id,
        answer_id=question.answer_id,
    )
    try:
        async with asyncio.timeout(2 * TIMEOUT_S):  # the answer's own time is over
            outcome = await deps.memory.remember(question.user_id, exchange)
    except (AppError, TimeoutError) as error:
        degrade(reason_of(error, late="memory_late"))
        return
    if outcome == "off":
        skip("memory_off")
        return
    note(
        "remembered" if outcome == "added" else "remembered_anew",
        ConsolidateDetails(fact=fact),
    )


def unfit(answer: Answer) -> str:
    """The code that says why this answer is not to be remembered; empty when it is."""
    if answer.decision != "ANSWER" or answer.partial:
        return "not_whole"
    if not any(source.cited for source in answer.sources):
        return "not_cited"
    return "" if cited_statement(answer.text) else "no_statement"


def cited_statement(text: str) -> str:
    """The first sentence that cites something, without markers and markup; empty where there is none."""
    return next((claim.text for claim in claims_of(text) if claim.markers), "")


def quote_memories(facts: Sequence[RememberedFact], *, tokens: int = MEMORY_TOKENS) -> str:
    """The facts that fit, one a line; `-` where there are none."""
    lines: list[str] = []
    for fact in facts:
        line = f"- {one_line(fact.question)} → {one_line(fact.text)}"
        tokens -= estimate_tokens(line)
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines) or NOTHING
