"""Verify: each sentence of an answer is held against the passages that it cites; what they do not bear out is marked.

The answer has been read by then, so nothing is taken back: weak sentences are told in the step's detail, and the page
underlines them. Only an answer that cites nothing, and of which no passage bears out a single sentence, becomes
NO_ANSWER. Words are compared (`support`), or, where the setting says so, the fast model is asked, in one call for all
sentences. See docs/decisions/0005-grounding.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrieval.errors import ModelOutputError
from retrieval.steps.grounding.claims import Claim, claims_of
from retrieval.steps.grounding.support import support
from retrieval.steps.schemas import CheckedStatements
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.language import detect_language
from retrieval.text.quoting import one_line, quote_source
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord
from retrieval.values import Answer, GroundedSentence, Source

MAX_SENTENCES = 40  # of one answer that are checked
PROMPT = "verify"  # its file in retrieval/prompts

NOTHING_SUPPORTED = "no passage bears out any sentence of the answer, and it cites none"
STATEMENT_CHARS = 600


@dataclass(frozen=True, slots=True)
class Verify:
    tools: Toolbox

    async def verify(self, answer: Answer, question: str, *, run: Run, language: Language) -> Answer:
        """The answer with its `grounding`; its text stays. Never raises a ModelError."""
        numbers = self.tools.settings.verify
        async with run.trace.step("verify") as step:
            if reason := _not_to_be_checked(answer, enabled=numbers.enabled):
                step.skip(reason)
                return answer
            claims = claims_of(answer.text)[:MAX_SENTENCES]
            grounding = await asyncio.to_thread(
                check_by_words, answer, claims, question, supported_score=numbers.supported_score
            )
            if numbers.by_model and claims:
                ask: Coroutine[Any, Any, Mapping[int, bool]] = self._ask_model(answer, claims, question, language)
                limit_s = run.deadline.limit(self.tools.settings.ollama.structured_timeout_s)
                verdicts = await attempt(step, ask, fallback=dict, timeout_s=limit_s)
                grounding = with_verdicts(grounding, verdicts)
            grounding = without_the_broken(answer, grounding)
            _describe(step, grounding)
            return _decide(answer, grounding)

    async def _ask_model(
        self, answer: Answer, claims: Sequence[Claim], question: str, language: Language
    ) -> Mapping[int, bool]:
        """Index of a claim → whether the passages that it cites bear it out."""
        cited = {marker for claim in claims for marker in claim.markers} or {one.marker for one in answer.sources}
        model = await self.tools.models.chat("fast")
        passages = [quote_source(one.marker, one.chunk, language) for one in answer.sources if one.marker in cited]
        statements = "\n".join(
            f"{number}. {one_line(claim.text)[:STATEMENT_CHARS]}" + "".join(f" [{marker}]" for marker in claim.markers)
            for number, claim in enumerate(claims, start=1)
        )
        prompt = self.tools.prompts.render(
            PROMPT,
            language=language,
            passages=_that_fit(passages, model.prompt_budget // 2),
            statements=statements,
            question=one_line(question),
        )
        checked = await model.complete_json(prompt, CheckedStatements)
        verdicts = {entry.statement - 1: entry.supported for entry in checked.statements}
        known = {at: supported for at, supported in verdicts.items() if 0 <= at < len(claims)}
        if not known:
            raise ModelOutputError("the model checked none of the sentences")
        return known


def check_by_words(
    answer: Answer, claims: Sequence[Claim], question: str, *, supported_score: float
) -> tuple[GroundedSentence, ...]:
    """Each claim against the passages that it cites; against all of them where it cites none."""
    by_marker = {source.marker: source for source in answer.sources}
    language = detect_language(answer.text)
    checked = []
    for claim in claims:
        cited: list[Source] = [by_marker[marker] for marker in claim.markers if marker in by_marker]
        found = support(
            claim.text, [one.chunk for one in cited or answer.sources], question=question, language=language
        )
        supported = None if found.score is None else found.score >= supported_score
        checked.append(
            GroundedSentence(
                sentence=answer.text[claim.start : claim.end],
                start=claim.start,
                end=claim.end,
                markers=tuple(one.marker for one in cited),
                score=None if found.score is None else round(found.score, 3),
                supported=supported,
                reason="" if supported else found.reason or "the passages hold too few of its words",
            )
        )
    return tuple(checked)


def with_verdicts(grounding: Sequence[GroundedSentence], verdicts: Mapping[int, bool]) -> tuple[GroundedSentence, ...]:
    """The model's verdict in place of the words'; a sentence that it left out keeps what the words say."""
    return tuple(
        replace(one, supported=verdicts[at], reason="" if verdicts[at] else "the model finds it unsupported")
        if at in verdicts
        else one
        for at, one in enumerate(grounding)
    )


def without_the_broken(answer: Answer, grounding: tuple[GroundedSentence, ...]) -> tuple[GroundedSentence, ...]:
    """The sentence that a model broke off in lacks words, and the citation at its end: it tells nothing either way."""
    if not answer.partial or not grounding or answer.text[grounding[-1].end :].strip():
        return grounding
    broken = replace(grounding[-1], score=None, supported=None, reason="the answer broke off in it")
    return (*grounding[:-1], broken)


def _not_to_be_checked(answer: Answer, *, enabled: bool) -> str:
    if not enabled:
        return "switched off"
    if answer.decision != "ANSWER":
        return "there is no answer to check"
    if not answer.model:
        return "the sentences are quoted word by word"
    return "" if answer.sources else "there are no passages to check against"


def _decide(answer: Answer, grounding: tuple[GroundedSentence, ...]) -> Answer:
    checked = [one for one in grounding if one.supported is not None]
    cites = any(source.cited for source in answer.sources)
    if checked and len(checked) == len(grounding) and not cites and not any(one.supported for one in checked):
        return replace(answer, decision="NO_ANSWER", reason=NOTHING_SUPPORTED, grounding=grounding)
    return replace(answer, grounding=grounding)


def _describe(step: StepRecord, grounding: Sequence[GroundedSentence]) -> None:
    weak = sum(one.supported is False for one in grounding)
    unchecked = sum(one.supported is None for one in grounding)
    parts = [f"{len(grounding) - weak - unchecked} of {len(grounding)} sentences supported"]
    parts += [f"{weak} weakly supported"] if weak else []
    parts += [f"{unchecked} can't be checked"] if unchecked else []
    step.summary = ", ".join(parts) if grounding else "nothing in the answer states a fact"
    step.detail["grounding"] = [one.as_dict() for one in grounding]


def _that_fit(passages: Sequence[str], tokens: int) -> str:
    kept: list[str] = []
    for passage in passages:
        tokens -= estimate_tokens(passage) + 2
        if kept and tokens < 0:
            break
        kept.append(passage)
    return "\n\n".join(kept)
