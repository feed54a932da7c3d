"""Query rewriter: other words for a search. One step with four prompts, for the four moments when words are wanted.

`Rewrite`: variants beside the user's own words, before anything was found. `KeyConceptRewrite`: one query of key
concepts in place of a short or chatty message (seed 004, tool 1). `RetryRewrite`: another query after one that found
too little (seed 000, node 3). `CorrectiveRewrite`: others after an answer was rejected (seed 001, `rewrite_query`).

All clean what the model gives in the same way and leave out what was searched for before. Without a model, rules take
words away from the question: its filler, then all but what it is about.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragsite.core.wording import joined, worded
from retrieval.steps.query.transform import broader_queries
from retrieval.steps.query.wording import distinct, key_words, without_chat, without_filler
from retrieval.steps.schemas import ClearQuery, RewrittenQueries, RewrittenQuery, exactly
from retrieval.steps.step import Asked, Step
from retrieval.text.quoting import label, neutralise, one_line
from retrieval.trace import StepRecord
from retrieval.values import Query, ScoredChunk

VARIANTS = 3  # wordings asked for
REWRITE_PROMPT = "rewrite"  # files in retrieval/prompts
KEY_CONCEPT_PROMPT = "query_rewriter"
RETRY_PROMPT = "retry_rewrite"
CORRECTIVE_PROMPT = "corrective_rewrite"
NONE = "-"
MAX_FAILED = 5  # documents that the model is shown
FAILED_CHARS = 160  # of each one's text
ANSWER_CHARS = 1200
REASON_CHARS = 300
MAX_KEYWORDS = 8
KEYWORD_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What other words are wanted for. `tried`: the queries that were searched for, in their order; they never come
    back. `missing`: what the documents or the answer lack. `failed`: documents that do not serve, and why. `answer`:
    that was rejected.
    """

    asked: Asked
    tried: tuple[str, ...] = ()
    missing: str = ""
    failed: Sequence[tuple[ScoredChunk, str]] = ()
    answer: str = ""


class QueryRewriter(Step[Wanted, tuple[Query, ...]]):
    """New queries, none of those that were tried; none at all where no other words are left."""

    name = "rewrite"
    optional = True
    gives_way: ClassVar[bool] = False  # to a first search that was good
    insists: ClassVar[bool] = False  # rules help where the model repeats what was tried

    async def act(self, given: Wanted, entry: StepRecord) -> tuple[Query, ...]:
        reply = await self.attempt(entry, self.ask(given), fallback=lambda: None, gives_way=self.gives_way)
        written = self.read(reply) if reply else ()
        texts = distinct(written, tried=given.tried)
        if reply and self.insists and not texts:
            repeated = any(text.strip() for text in written)
            entry.degrade(
                worded("the model gave a query that was tried before")
                if repeated
                else worded("the model gave no query")
            )
            reply = None
        if reply is None:
            texts = await asyncio.to_thread(lambda: distinct(self.without_model(given), tried=given.tried))
        texts = texts[: self.most]
        self.describe(entry, given, texts, reply)
        return tuple(Query(text, kind="rewrite") for text in texts)

    @property
    def most(self) -> int:
        """How many queries are wanted."""
        return VARIANTS

    @abstractmethod
    async def ask(self, given: Wanted) -> Any | None:
        """The model's reply. Raises ModelError."""

    def read(self, reply: Any) -> Sequence[str]:
        """The queries in the model's reply."""
        queries: list[str] = reply.queries
        return queries

    @abstractmethod
    def without_model(self, given: Wanted) -> Iterable[str]:
        """Queries by rules, the best first."""

    @abstractmethod
    def describe(self, entry: StepRecord, given: Wanted, texts: list[str], reply: Any | None) -> None:
        """Into the decision path. `reply`: what the model gave; None where rules have helped."""


class Rewrite(QueryRewriter):
    """Variants of the question, while it is searched for with the user's own words."""

    gives_way = True

    async def act(self, given: Wanted, entry: StepRecord) -> tuple[Query, ...]:
        asked = given.asked.question.options.rewrite
        if not (self.settings.rewrite.enabled if asked is None else asked):
            entry.skip(worded("switched off"))
            return ()
        return await super().act(given, entry)

    async def ask(self, given: Wanted) -> RewrittenQueries | None:
        asked, history = given.asked, self.history(given.asked.question)
        return await self.complete(
            REWRITE_PROMPT,
            exactly(RewrittenQueries, "queries", VARIANTS),
            history=history,
            question=asked.to_search,
            variants=VARIANTS,
        )

    def without_model(self, given: Wanted) -> Iterable[str]:
        return [without_filler(given.asked.text)]

    def describe(self, entry: StepRecord, given: Wanted, texts: list[str], reply: Any | None) -> None:
        entry.detail["queries"] = texts
        entry.summary = entry.summary or (joined("; ", texts) or worded("no other wording"))


class KeyConceptRewrite(QueryRewriter):
    """One query of key concepts, without chat, in the message's own language."""

    insists = True
    most = 1

    async def act(self, given: Wanted, entry: StepRecord) -> tuple[Query, ...]:
        queries = await super().act(given, entry)
        await self.run.trace.sink.tool_called("query_rewriter", entry.summary, entry)
        return queries

    async def ask(self, given: Wanted) -> ClearQuery | None:
        return await self.complete(
            KEY_CONCEPT_PROMPT,
            ClearQuery,
            history=self.history(given.asked.question),
            tried="; ".join(map(one_line, given.tried)) or NONE,
            missing=one_line(given.missing) or NONE,
            question=one_line(given.asked.question.text),
        )

    def read(self, reply: ClearQuery) -> Sequence[str]:
        return [reply.query]

    def without_model(self, given: Wanted) -> Iterable[str]:
        text = given.asked.text
        return [without_chat(text), without_filler(text), " ".join(key_words(text))]

    def describe(self, entry: StepRecord, given: Wanted, texts: list[str], reply: Any | None) -> None:
        entry.detail |= {"queries": texts, "tried": list(given.tried), "missing": given.missing}
        entry.summary = (
            worded("“{before}” → “{after}”", before=given.asked.text, after=texts[0])
            if texts
            else worded("no other words are left to try")
        )


class RetryRewrite(QueryRewriter):
    """Another query in place of the last one, knowing what was tried and why it failed. `tried` begins with the
    question."""

    insists = True
    most = 1

    async def act(self, given: Wanted, entry: StepRecord) -> tuple[Query, ...]:
        await self.run.trace.sink.tool_called(
            "rewrite", worded("other words for: {query}", query=given.tried[-1]), entry
        )
        return await super().act(given, entry)

    async def ask(self, given: Wanted) -> RewrittenQuery | None:
        attempts = (f"{number}. {one_line(text)}" for number, text in enumerate(given.tried[1:], start=1))
        return await self.complete(
            RETRY_PROMPT,
            RewrittenQuery,
            passages=quote_failed(given.failed),
            attempts="\n".join(attempts) or NONE,
            query=one_line(given.tried[-1]),
            question=one_line(given.asked.text),
        )

    def read(self, reply: RewrittenQuery) -> Sequence[str]:
        return [reply.rewritten_query]

    def without_model(self, given: Wanted) -> Iterable[str]:
        return [without_filler(given.asked.text), " ".join(key_words(given.asked.text))]

    def describe(self, entry: StepRecord, given: Wanted, texts: list[str], reply: RewrittenQuery | None) -> None:
        entry.detail["original"] = given.tried[-1]
        if not texts:
            entry.summary = worded("no other words are left to try")
            return
        if reply:
            reason, words = one_line(reply.rewrite_reason)[:REASON_CHARS], reply.keywords
        else:
            whole = texts == distinct([without_filler(given.asked.text)], tried=())
            left = worded("filler words removed") if whole else worded("only the words that say what it is about")
            reason, words = worded("without a model: {left}", left=left), key_words(given.asked.text)
        keywords = dict.fromkeys(one_line(word)[:KEYWORD_CHARS] for word in words)
        entry.detail |= {
            "rewritten": texts[0],
            "rewrite_reason": reason,  # `reason` says why a fallback served
            "keywords": [word for word in keywords if word][:MAX_KEYWORDS],
            "attempt": len(given.tried),
            "queries": texts,
        }
        entry.summary = worded("attempt {number}: {query}", number=len(given.tried), query=texts[0])


class CorrectiveRewrite(QueryRewriter):
    """Queries that look for what a rejected answer lacked."""

    async def ask(self, given: Wanted) -> RewrittenQueries | None:
        return await self.complete(
            CORRECTIVE_PROMPT,
            exactly(RewrittenQueries, "queries", VARIANTS),
            answer=neutralise(given.answer)[:ANSWER_CHARS],
            missing=one_line(given.missing) or NONE,
            tried="; ".join(map(one_line, given.tried)),
            variants=VARIANTS,
            question=one_line(given.asked.text),
        )

    def without_model(self, given: Wanted) -> Iterable[str]:
        text = given.asked.text
        return [without_filler(text), given.missing, *(query.text for query in broader_queries(text))]

    def describe(self, entry: StepRecord, given: Wanted, texts: list[str], reply: Any | None) -> None:
        entry.detail |= {"queries": texts, "missing": given.missing, "corrective": True}
        entry.summary = worded("corrective: {queries}", queries=joined("; ", texts) or worded("no other wording"))


def quote_failed(failed: Sequence[tuple[ScoredChunk, str]]) -> str:
    lines = [
        f"[{number}] {label(document.chunk)}: {one_line(document.chunk.text)[:FAILED_CHARS]}"
        + (f" (rejected: {one_line(reason)})" if reason else "")
        for number, (document, reason) in enumerate(failed[:MAX_FAILED], start=1)
    ]
    return "\n".join(lines) or NONE
