"""Step-back and decompose: a broader question beside a very specific one, simpler ones in place of a compound one.

Source: seed 002, query transformation (step-back, 2-4 sub-queries whose results are pooled); Zheng et al., "Take a Step
Back", ICLR 2024. At most one of the two serves a question, and none where the first search was clearly good.
"""

from __future__ import annotations

from ragsite.core.wording import joined, worded
from retrieval.own_words import look_at
from retrieval.steps.query.question_parts import choose_transformation, split_question, step_back_without_model
from retrieval.steps.query.wording import distinct
from retrieval.steps.schemas import StepBackQuery, SubQueries, shaped
from retrieval.steps.step import Asked, Context, Step
from retrieval.trace import StepRecord
from retrieval.values import Query

STEP_BACK_ENABLED = True
DECOMPOSE_ENABLED = True
STEP_BACK_PROMPT = "step_back"  # its file in retrieval/prompts
SUB_QUERIES = 4  # parts at most
DECOMPOSE_PROMPT = "decompose"  # its file in retrieval/prompts


async def transform_question(context: Context, asked: Asked) -> tuple[Query, ...]:
    """Queries of the transformation that fits the question; none, without an entry in the path, when none does.

    A request that wants no rewriting wants none of these either.
    """
    chosen = await look_at(len(asked.text), choose_transformation, asked.text)
    if chosen is None or asked.question.options.rewrite is False:
        return ()
    if chosen == "decompose":
        return await Decompose(context)(asked) if DECOMPOSE_ENABLED else ()
    return await StepBack(context)(asked) if STEP_BACK_ENABLED else ()


class Decompose(Step[Asked, tuple[Query, ...]]):
    """The simpler questions that a compound one is made of."""

    name = "decompose"
    optional = True

    async def act(self, given: Asked, entry: StepRecord) -> tuple[Query, ...]:
        texts = await self.attempt(
            entry, self._ask_model(given), fallback=lambda: split_question(given.text), gives_way=True
        )
        return _noted(entry, sub_queries(texts, given.text, most=SUB_QUERIES))

    async def _ask_model(self, given: Asked) -> list[str]:
        history = self.history(given.question)
        reply = await self.complete(
            DECOMPOSE_PROMPT,
            shaped(SubQueries, sub_queries={"minItems": 2, "maxItems": SUB_QUERIES}),
            history=history,
            question=given.text,
            sub_queries=SUB_QUERIES,
        )
        return reply.sub_queries


class StepBack(Step[Asked, tuple[Query, ...]]):
    """The broader question behind a very specific one."""

    name = "step_back"
    optional = True

    async def act(self, given: Asked, entry: StepRecord) -> tuple[Query, ...]:
        text = await self.attempt(
            entry, self._ask_model(given), fallback=lambda: step_back_without_model(given.text), gives_way=True
        )
        return _noted(entry, step_back(text, given.text))

    async def _ask_model(self, given: Asked) -> str:
        history = self.history(given.question)
        reply = await self.complete(STEP_BACK_PROMPT, StepBackQuery, history=history, question=given.text)
        return reply.step_back_query


def _noted(entry: StepRecord, queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """What a step gives; nothing where it gave way to a good first search."""
    if entry.status == "skipped":
        return ()
    entry.detail["queries"] = [query.text for query in queries]
    entry.summary = joined("; ", (query.text for query in queries)) or worded("nothing to add")
    return queries


def sub_queries(texts: list[str], question: str, *, most: int) -> tuple[Query, ...]:
    """A single sub-query is no decomposition."""
    texts = distinct(texts, tried=(question,))[:most]
    return tuple(Query(text, kind="sub_query") for text in texts) if len(texts) > 1 else ()


def step_back(text: str, question: str) -> tuple[Query, ...]:
    return tuple(Query(text, kind="step_back") for text in distinct([text], tried=(question,)))


def broader_queries(question: str) -> tuple[Query, ...]:
    """For the corrective search, which has no model call to spend: the parts of a compound question, else the broader
    one behind it."""
    parts = sub_queries(split_question(question), question, most=4)
    return parts or step_back(step_back_without_model(question), question)
