"""Retry rewrite: other words for a search that found too little, knowing what was tried and why it failed.

Source: seed 000, node 3 (rewritten_query, rewrite_reason, keywords). Without a model, words are taken away from the
question: first its filler, then all but what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from retrieval.answerability.term_coverage import strong_terms
from retrieval.steps.judge.grade import DocumentGrade
from retrieval.steps.query.rewrite import QUERY_CHARS, without_filler
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.analysis import analyze
from retrieval.text.answer_language import Language
from retrieval.text.language import HAN
from retrieval.text.quoting import label, one_line
from retrieval.values import ScoredChunk

PROMPT = "retry_rewrite"  # its file in retrieval/prompts

_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(r"\w+(?:[-'’./]\w+)*")
MAX_FAILED = 5  # documents that the model is shown
FAILED_CHARS = 160  # of each one's text
REASON_CHARS = 300
MAX_KEYWORDS = 8
KEYWORD_CHARS = 60


class RewrittenQuery(BaseModel):
    """What the model gives back."""

    rewrite_reason: str = Field(default="", description="Why the last query found too little, and what is changed")
    rewritten_query: str = Field(description="The new search query")
    keywords: list[str] = Field(default_factory=list, description="Its most important words")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRewrite:
    """One entry of the history. `original`: the query that it replaces."""

    original: str
    rewritten: str
    reason: str
    keywords: tuple[str, ...] = ()
    attempt: int = 1

    def as_dict(self) -> dict[str, Any]:
        """For the decision path, where `reason` says why a fallback served."""
        return {
            "original": self.original,
            "rewritten": self.rewritten,
            "rewrite_reason": self.reason,
            "keywords": list(self.keywords),
            "attempt": self.attempt,
        }


@dataclass(frozen=True, slots=True)
class RetryRewrite:
    tools: Toolbox

    async def rewrite(
        self,
        question: str,
        history: Sequence[QueryRewrite],
        failed: Sequence[tuple[ScoredChunk, DocumentGrade]],
        *,
        run: Run,
        language: Language,
    ) -> QueryRewrite | None:
        """The next query; None when nothing is left that has not been tried. Never raises a ModelError.

        `question`: self-contained, as it was asked; `failed`: what the last query found that is not relevant.
        """
        current = history[-1].rewritten if history else question
        tried = [question, *(entry.rewritten for entry in history)]
        async with run.trace.step("rewrite") as step:
            await run.trace.sink.tool_called("rewrite", f"other words for: {current}", step)
            said = await attempt(
                step,
                self._ask_model(question, current, history, failed, language),
                fallback=lambda: rewrite_without_model(question, tried),
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
            )
            if said and is_among(said.rewritten, tried):
                step.degrade("the model gave a query that was tried before")
                said = rewrite_without_model(question, tried)
            step.detail["original"] = current
            if said is None:
                step.summary = "no other words are left to try"
                return None
            made = replace(said, original=current, attempt=len(history) + 1)
            step.detail |= {**made.as_dict(), "queries": [made.rewritten]}
            step.summary = f"attempt {made.attempt}: {made.rewritten}"
            return made

    async def _ask_model(
        self,
        question: str,
        current: str,
        history: Sequence[QueryRewrite],
        failed: Sequence[tuple[ScoredChunk, DocumentGrade]],
        language: Language,
    ) -> QueryRewrite | None:
        said = await self.tools.complete(
            "fast",
            PROMPT,
            RewrittenQuery,
            language=language,
            passages=quote_failed(failed),
            attempts=quote_attempts(history),
            query=one_line(current),
            question=one_line(question),
        )
        text = one_line(said.rewritten_query)[:QUERY_CHARS] or current
        keywords = dict.fromkeys(one_line(word)[:KEYWORD_CHARS] for word in said.keywords)
        return QueryRewrite(
            original=current,
            rewritten=text,
            reason=one_line(said.rewrite_reason)[:REASON_CHARS],
            keywords=tuple(word for word in keywords if word)[:MAX_KEYWORDS],
        )


def rewrite_without_model(question: str, tried: Sequence[str]) -> QueryRewrite | None:
    """The first shorter form of the question that was not tried yet."""
    words = strong_words(question)
    ways = [
        (without_filler(question), "without a model: filler words removed"),
        (" ".join(words), "without a model: only the words that say what it is about"),
    ]
    for text, reason in ways:
        if text and not is_among(text, tried):
            return QueryRewrite(original=question, rewritten=text, reason=reason, keywords=tuple(words[:MAX_KEYWORDS]))
    return None


def strong_words(question: str) -> list[str]:
    """What the question is about, as it is written there; of a Chinese question the terms, in Simplified."""
    strong = strong_terms(question)
    if _HAN.search(question):
        return strong
    wanted = set(strong)
    return [word for word in _WORD.findall(question) if wanted & set(analyze(word))]


def is_among(query: str, tried: Sequence[str]) -> bool:
    """Whether the same words in the same order were searched for before."""
    return _folded(query) in {_folded(text) for text in tried}


def _folded(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def quote_failed(failed: Sequence[tuple[ScoredChunk, DocumentGrade]]) -> str:
    lines = [
        f"[{number}] {label(document.chunk)}: {one_line(document.chunk.text)[:FAILED_CHARS]}"
        + (f" (rejected: {one_line(grade.reason)})" if grade.reason else "")
        for number, (document, grade) in enumerate(failed[:MAX_FAILED], start=1)
    ]
    return "\n".join(lines) or "-"


def quote_attempts(history: Sequence[QueryRewrite]) -> str:
    return "\n".join(f"{entry.attempt}. {one_line(entry.rewritten)}" for entry in history) or "-"
