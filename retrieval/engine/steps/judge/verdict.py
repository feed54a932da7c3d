"""Judge: do the passages answer the question, differently for different readings, or not? One short model call.

The fast model is shown the passages in the form and order in which the writing model is given them, and replies with
the numbers of those that answer, and a verdict, about 20 tokens. Only a model's word refuses or asks back; without one
the verdict is REFINE: nobody has judged.
Sources: seed 003 §2.5 and §2.6; Yan et al., Corrective RAG, 2024, arXiv:2401.15884.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.providers.reply_form import shaped
from retrieval.engine.steps.judge.assessment import (
    Assessment,
    ClarifyingQuestion,
    JudgedAs,
    assessed,
    first_of_each_document,
    not_judged,
)
from retrieval.engine.steps.judge.criteria import judge_by_criteria
from retrieval.engine.steps.judge.scores import check_numbers, judging_is_on, quoted
from retrieval.engine.steps.step import step
from retrieval.engine.text.quoting import one_line
from retrieval.engine.values import Question, ScoredChunk


@step("assess", fallback=not_judged)
async def judge(deps: Deps, question: Question, passages: Sequence[ScoredChunk]) -> Assessment:
    if not passages or not judging_is_on(question):
        return not_judged(deps, question, passages)
    if deps.settings.rerank.evaluator == "eight_criteria":
        return await judge_by_criteria(deps, question, passages)
    reply = await _judgement(deps, question, passages)
    numbers = dict.fromkeys(reply.relevant_passages)
    named = tuple(passages[number - 1] for number in numbers)
    if reply.verdict == "no_answer":
        return assessed("judged_no", "NO_ANSWER", passages)
    readings = first_of_each_document(named)
    if (
        reply.verdict == "ask_back" and len(readings) > 1
    ):  # one document alone leaves nothing to choose
        return assessed(
            "judged_unclear",
            "CLARIFY",
            passages,
            named=readings,
            asks=reply.clarifying_question,
        )
    return assessed("judged_yes", "ANSWER", passages, named=named)


class RetrievalJudgement(BaseModel):
    """The passages are named before the verdict, so that a small model looks for one before it says whether there is
    one."""

    relevant_passages: list[int]
    verdict: JudgedAs
    clarifying_question: ClarifyingQuestion = ""


async def _judgement(
    deps: Deps, question: Question, passages: Sequence[ScoredChunk]
) -> RetrievalJudgement:
    """Raises ModelError, also for what is no judgement."""
    shown = await quoted(deps, passages)
    count = len(shown)
    number = {"type": "integer", "minimum": 1, "maximum": count}
    schema = shaped(RetrievalJudgement, relevant_passages={"maxItems": count, "items": number})
    question_line = one_line(question.standalone)
    reply = await deps.judge(
        "judge",
        schema,
        passages="\n\n".join(shown),
        question=question_line,
        count=count,
    )
    check_numbers(reply.relevant_passages, count)
    return reply
