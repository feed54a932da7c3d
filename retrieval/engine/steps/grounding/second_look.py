"""The second look: one short call of the fast model at an answer that has been read.

It is shown the question, the sentences of the answer, the passages that they cite, and where that is little the best
beside them: does each sentence follow, and does the answer state what was asked? Its doubt takes nothing back. A
sentence that it finds unsupported is weak, as one whose words the passages lack; a model that is easily pleased proves
nothing, so it raises no verdict. An answer is not confirmed where the judge, asked about these passages alone, does not
find it in them, either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelOutputError
from retrieval.engine.path_details import VerifyDetails
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.steps.judge.verdict import RetrievalJudgement
from retrieval.engine.steps.step import step, try_call
from retrieval.engine.text.markers import without_citations
from retrieval.engine.text.quoting import one_line, quote_source
from retrieval.engine.trace import note, skip
from retrieval.engine.values import Answer, AnswerSource, GroundedSentence, SupportLevel

PATIENCE = 0.75  # of a structured call's time limit, that `done` may wait for each of its calls
MOST_SENTENCES = 20
LEAST_PASSAGES = 3
MOST_PASSAGES = 8
STATEMENT_CHARS = 400


class CheckedStatements(BaseModel):
    """Whether the passages say so, for each statement in their order; about two tokens a sentence. answers: whether
    they state what was asked."""

    supported: list[bool]
    answers: bool


async def second_look(deps: Deps, answer: Answer, *, question: str) -> Answer:
    """The answer with its `support`, None where it could not be looked at; one that has it stays as it is. Never raises
    a ModelError."""
    is_written = answer.decision == "ANSWER" and bool(
        answer.model and answer.text and answer.sources
    )
    if not is_written or answer.support or answer.partial or not deps.settings.verify.by_model:
        return answer
    return await _look(deps, answer, question)


@step("verify")
async def _look(deps: Deps, answer: Answer, question: str) -> Answer:
    sentences = answer.grounding[:MOST_SENTENCES]
    if len(_cited(answer)) > MOST_PASSAGES:
        skip("cites_too_much")
        return answer
    reply = await try_call(deps, _ask(deps, answer, sentences, question), timeout_s=_limit_s(deps))
    if reply is None:
        return answer
    grounding = [
        *(
            _doubted(sentence) if not supported and sentence.supported is not False else sentence
            for sentence, supported in zip(sentences, reply.supported, strict=False)
        ),
        *answer.grounding[len(sentences) :],
    ]
    level = _level(reply)
    if level == "none" and not await _judge_doubts(deps, answer, question):
        level = "partly"
    details = VerifyDetails(
        support=level, grounding=tuple(sentence.as_dict() for sentence in grounding)
    )
    note(f"support_{level}", details)
    return replace(answer, grounding=tuple(grounding), support=level)


async def _ask(
    deps: Deps, answer: Answer, sentences: Sequence[GroundedSentence], question: str
) -> CheckedStatements:
    statements = [_statement(sentence) for sentence in sentences] or [
        one_line(without_citations(answer.text))
    ]
    reply = await deps.complete(
        "verify",
        exactly(CheckedStatements, "supported", len(statements)),
        passages=_quoted(_shown(answer)),
        statements="\n".join(f"- {statement}" for statement in statements),
        count=len(statements),
        question=one_line(question),
    )
    if len(reply.supported) != len(statements):
        raise ModelOutputError("verdicts_missing")
    return reply


async def _judge_doubts(deps: Deps, answer: Answer, question: str) -> bool:
    """A doubt needs two, as a refusal does: whether the judge does not find the answer in these passages, either."""
    shown = _shown(answer)
    call = deps.complete(
        "judge",
        RetrievalJudgement,
        passages=_quoted(shown),
        question=one_line(question),
        count=len(shown),
    )
    reply = await try_call(deps, call, timeout_s=_limit_s(deps))
    return reply is None or reply.verdict == "no_answer"


def _limit_s(deps: Deps) -> float:
    return PATIENCE * deps.settings.ollama.structured_timeout_s


def _quoted(sources: Sequence[AnswerSource]) -> str:
    return "\n\n".join(quote_source(source.marker, source.chunk) for source in sources)


def _shown(answer: Answer) -> Sequence[AnswerSource]:
    """What is cited, and where that is little the best beside it: alone, a passage on the subject looks right."""
    cited = _cited(answer)
    others = [source for source in answer.sources if not source.cited]
    return [*cited, *others[: max(0, LEAST_PASSAGES - len(cited))]]


def _cited(answer: Answer) -> Sequence[AnswerSource]:
    return [source for source in answer.sources if source.cited]


def _statement(sentence: GroundedSentence) -> str:
    markers = "".join(f" [{marker}]" for marker in sentence.markers)
    return one_line(without_citations(sentence.sentence))[:STATEMENT_CHARS] + markers


def _doubted(sentence: GroundedSentence) -> GroundedSentence:
    return replace(
        sentence,
        supported=False,
        reason=sentence.reason or worded("the model finds it unsupported"),
    )


def _level(reply: CheckedStatements) -> SupportLevel:
    if not reply.answers or not any(reply.supported):
        return "none"
    return "full" if all(reply.supported) else "partly"
