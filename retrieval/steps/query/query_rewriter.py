"""Query rewriter of the react workflow: one query of key concepts in place of a short or chatty message.

Source: seed 004, tool 1 (key concepts, no chat, the same language) and node 1 (when a query is to be rewritten).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from retrieval.steps.query.retry_rewrite import is_among, rewrite_without_model
from retrieval.steps.query.rewrite import QUERY_CHARS, without_filler
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import one_line, quote_history
from retrieval.values import Question

PROMPT = "query_rewriter"  # its file in retrieval/prompts

NONE = "-"
_CHATTY = re.compile(
    r"\b(?:can|could|would|will) you\b|\bplease\b|\bhelp me\b|\bi(?:'d| would)? (?:want|like|need) to know\b"
    r"|\b(?:find|look up|search for) (?:me )?(?:something|anything|some|information)\b"
    r"|(?:请|請)(?:你|您)?(?:帮|幫)|(?:帮|幫)(?:我|忙)|我想(?:知道|了解|问|問|找|查)|(?:能|可以)(?:不能|不可以|否)?(?:告诉|告訴)我"
    r"|(?:找|查)一下|(?:麻烦|麻煩)(?:你|您)?",
    re.IGNORECASE,
)
_SEARCH_FOR = re.compile(
    r"\b(?:find|look up|search for|help) (?:me )?(?:something |anything |some (?:information|documents) )?"
    r"(?:about|on)?\b"
    r"|(?:请|請)?(?:你|您)?(?:帮|幫)(?:我|忙)?(?:找|查)?(?:一下)?\s*(?:关于|關於)?|(?:找|查)一下"
    r"|(?:相关)?的?(?:资料|資料|东西|東西|信息|資訊)$",
    re.IGNORECASE,
)


class ClearQuery(BaseModel):
    """What the model gives back."""

    query: str = Field(description="The search query")


def why_rewrite(message: str, draft: str, *, short_chars: int) -> str:
    """The reason to rewrite a message before it is searched for; empty where it is clear as it is.

    Short: fewer than `short_chars` characters (seed 004: 10). `draft`: the message joined with what it leaves out.
    """
    text = " ".join(message.split())
    if draft.strip() != message.strip():
        return "it points back to what was said before"
    if len(text) < short_chars:
        return f"it is shorter than {short_chars} characters"
    return "it is chatty" if _CHATTY.search(text) else ""


@dataclass(frozen=True, slots=True)
class QueryRewriter:
    tools: Toolbox

    async def rewrite(
        self, question: Question, draft: str, *, tried: Sequence[str], missing: str, run: Run, language: Language
    ) -> str:
        """The next query; empty when none is left that was not tried. Never raises a ModelError.

        `draft`: the message, self-contained without a model. `tried`: the queries so far, in their order.
        """
        async with run.trace.step("rewrite") as step:
            query = await attempt(
                step,
                self._ask_model(question, tried, missing, language),
                fallback=str,
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
            )
            query = one_line(query)[:QUERY_CHARS]
            if query and is_among(query, tried):
                step.degrade("the model gave a query that was tried before")
                query = ""
            query = query or await asyncio.to_thread(without_chat, draft, tried)
            step.detail |= {"queries": [query] if query else [], "tried": list(tried), "missing": missing}
            step.summary = f"“{draft}” → “{query}”" if query else "no other words are left to try"
            await run.trace.sink.tool_called("query_rewriter", step.summary, step)
            return query

    async def _ask_model(self, question: Question, tried: Sequence[str], missing: str, language: Language) -> str:
        result = await self.tools.complete(
            "fast",
            PROMPT,
            ClearQuery,
            language=language,
            history=quote_history(question.history),
            tried="; ".join(one_line(query) for query in tried) or NONE,
            missing=one_line(missing) or NONE,
            question=one_line(question.text),
        )
        return result.query


def without_chat(draft: str, tried: Sequence[str]) -> str:
    """Without a model: the message without its chat, then its key words alone; empty when both were tried."""
    plain = without_filler(" ".join(_SEARCH_FOR.sub(" ", without_filler(draft)).split()))
    if plain and not is_among(plain, tried):
        return plain
    shorter = rewrite_without_model(draft, tried)
    return shorter.rewritten if shorter else ""
