"""Long-term memory: what earlier answers said to this user is recalled before an answer, and kept after it.

Recalled facts are background for routing, for the search's words and for replies about the conversation itself; they
are no source: an answer about documents cites documents. They are quoted in prompts as data. Kept is what a cited
answer says, never a request or an instruction, and nothing of an answer that failed.
Source: seed 001, `retrieve_memory` and `consolidate_memory`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragsite.core.errors import AppError
from ragsite.core.wording import counted, worded
from retrieval.errors import explained
from retrieval.steps.schemas import ConsolidatedFact
from retrieval.steps.step import Asked, Step
from retrieval.steps.toolbox import Toolbox
from retrieval.text.answer_language import NAMES, Language
from retrieval.text.markdown import leading_signs, without_emphasis
from retrieval.text.quoting import neutralise, one_line
from retrieval.text.refusal import reads_as_refusal
from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens
from retrieval.trace import StepRecord
from retrieval.values import Answer, Exchange, RememberedFact

RECALLED = 4  # facts at most that an answer is begun with
MAX_CHARS = 400  # of one fact
TIMEOUT_S = 2.0  # looking for facts by meaning; by words, or writing one down, may take twice as long
PROMPT = "consolidate"  # its file in retrieval/prompts

NOTHING = "-"
MEMORY_TOKENS = 600  # of all quoted facts together
_MARKED = re.compile(r"(?<![ \t])[ \t]*(?:\[\d{1,3}\])+")
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|messages?|above|previous)\b"
    r"|\bsystem prompt\b|\byou are now\b|\bfrom now on\b|\b(?:always|never) (?:answer|reply|respond)\b"
    r"|忽略.{0,12}(?:指令|指示|规则|規則|提示|以上|之前)|系统提示词|系統提示詞|从现在(?:开始|起)|從現在(?:開始|起)"
    r"|(?:始终|總是|总是|永远|永遠)(?:回答|回复|回覆)",
    re.IGNORECASE,
)


class RecallMemory(Step[Asked, tuple[RememberedFact, ...]]):
    """Facts near the self-contained question, best first; none where the memory is off or away."""

    name = "memory"

    async def act(self, given: Asked, entry: StepRecord) -> tuple[RememberedFact, ...]:
        user_id = given.question.user_id
        if self.tools.memory is None:
            entry.skip(worded("earlier answers are not recalled here"))
            return ()
        if not user_id:
            entry.skip(worded("nobody is signed in whose earlier answers could be remembered"))
            return ()
        try:
            async with asyncio.timeout(self.run.deadline.limit(2 * TIMEOUT_S)):
                recall = await self.tools.memory.recall(user_id, given.text, limit=RECALLED)
        except (AppError, TimeoutError) as error:
            entry.degrade(explained(error) or worded("the memory did not answer in time"))
            return ()
        if not recall.enabled:
            entry.skip(worded("this user has switched the memory off"))
            return ()
        if recall.degraded:
            entry.degrade(recall.degraded)
        count = len(recall.facts)
        entry.summary = (
            counted("{count} earlier answer recalled", "{count} earlier answers recalled", count)
            if count
            else worded("nothing to recall")
        )
        # Ids alone: the path is shown to staff, and stays when its user erases the fact.
        entry.detail["facts"] = [{"id": fact.id, "score": round(fact.score, 4)} for fact in recall.facts]
        return recall.facts


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to be remembered, unless it was not `accepted`."""

    asked: Asked
    answer: Answer
    accepted: bool = True


class ConsolidateMemory(Step[Answered, None]):
    """Writes the answer's fact down. No model is called here: a worker condenses the fact after the reader has the
    answer."""

    name = "consolidate"

    async def act(self, given: Answered, entry: StepRecord) -> None:
        question, text, answer = given.asked.question, given.asked.text, given.answer
        if self.tools.memory is None or not question.user_id:
            entry.skip(worded("nobody is signed in to remember this for"))
            return
        if why_not := unfit(text, answer) if given.accepted else worded("the answer was not accepted"):
            entry.skip(why_not)
            return
        fact = cited_statement(answer.text)
        exchange = Exchange(
            question=one_line(text), answer=answer.text, fact=fact,
            conversation_id=question.conversation_id, answer_id=question.answer_id,
        )  # fmt: skip
        try:
            async with asyncio.timeout(2 * TIMEOUT_S):  # the answer's own time is over
                outcome = await self.tools.memory.remember(question.user_id, exchange)
        except (AppError, TimeoutError) as error:
            entry.degrade(explained(error) or worded("the memory did not answer in time"))
            return
        if outcome == "off":
            entry.skip(worded("this user has switched the memory off"))
            return
        entry.summary = (
            worded("remembered") if outcome == "added" else worded("remembered, in place of an older answer")
        )
        entry.detail["fact"] = fact


def unfit(question: str, answer: Answer) -> str:
    """Why this answer is not to be remembered; empty when it is."""
    if answer.decision != "ANSWER" or answer.partial or reads_as_refusal(answer.text):
        return worded("only whole answers are remembered")
    if not any(source.cited for source in answer.sources):
        return worded("only what is cited is remembered")
    fact = cited_statement(answer.text)
    if not fact:
        return worded("the answer states nothing that could be remembered")
    if reads_as_instruction(question) or reads_as_instruction(fact):
        return worded("instructions are not remembered")
    return ""


def reads_as_instruction(text: str) -> bool:
    """Whether a text tells a model what to do, rather than anybody something."""
    return bool(_INSTRUCTION.search(" ".join(text.split())))


def cited_statement(text: str) -> str:
    """The first sentence with a marker, without markers and markup; empty where there is none."""
    for line in text.splitlines():
        marked = _MARKED.search(line)
        if not marked:
            continue
        before = _plain(line[: marked.start()])
        after = _plain(line[marked.end() :])
        if sentences := split_sentences(before):
            closing = after[:1] if after[:1] in tuple(".。!！;；") else ""
            return sentences[-1].strip() + closing
    return ""


def _plain(line: str) -> str:
    text = _MARKED.sub("", line)
    return " ".join(without_emphasis(text[leading_signs(text) :]).split())


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


async def condensed_by_model(tools: Toolbox, question: str, answer: str, *, language: Language) -> str:
    """One short sentence for the memory; empty: the model has none that could serve, keep the one there is.

    Raises ModelError.
    """
    result = await tools.complete(
        "fast", PROMPT, ConsolidatedFact, language=language, language_name=NAMES[language],
        question=one_line(question), answer=neutralise(_MARKED.sub("", answer)),
    )  # fmt: skip
    fact = one_line(_MARKED.sub("", result.fact))[:MAX_CHARS]
    return "" if reads_as_instruction(fact) or reads_as_refusal(fact) else fact
