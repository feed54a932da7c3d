"""Rated questions in other words: a chat model says of a pair whether one answer serves both, once, and it is kept.

    new questions ─► beside those near by vectors, and those with votes on one of their passages
                  ─► without pairs in which a number or a single term differs ─► the fast model's yes or no

A round asks about MOST_ASKED pairs, within ASK_S; the rest waits for the next one. Without a model nothing is asked:
then questions are the same by their words and vectors alone (`retrieval.engine.text.same_question`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field

from chat.runs.budgets import BudgetUsedUpError, site_budget_check
from chat.runs.spending import site_tokens_counted
from feedback.models import Evidence, QuestionPair, RatedQuestion
from feedback.rounds.deletions import write_with_retry
from feedback.rounds.live import wordings_load
from ragsite.core.messages import worded
from retrieval.compose import Engine, with_engine
from retrieval.engine.errors import ModelError
from retrieval.engine.text.same_question import KnownQuestions, differ

MOST_NEW = 500  # questions whose pairs are looked for in a round
MOST_ASKED = 60
ASK_S = 120.0  # for all pairs of a round
LEAST_COSINE = 0.6
NEAREST = 5  # of a new question
MOST_CHARS = 400  # of a question in the prompt
logger = logging.getLogger(__name__)


class SameAnswer(BaseModel):
    same: bool = Field(description="Whether exactly the same answer serves both questions")


def question_pairs_decide(*, report: Callable[[], None] = lambda: None) -> str:
    """Returns why some pairs were not asked about, or "". Raises nothing of the model's: these pairs wait."""
    new = list(
        RatedQuestion.objects.filter(compared=False)
        .order_by("pk")
        .values_list("pk", flat=True)[:MOST_NEW]
    )
    if not new:
        return ""
    try:
        site_budget_check()
    except BudgetUsedUpError as error:
        return error.message
    with site_tokens_counted():
        return with_engine(partial(_decide, new, report=report))


async def _decide(new: Sequence[int], engine: Engine, *, report: Callable[[], None]) -> str:
    try:
        async with asyncio.timeout(ASK_S):
            model = await engine.models.chat("fast")
            pairs = await sync_to_async(_candidates)(new)
            for pair, first, second in await sync_to_async(_with_texts)(pairs[:MOST_ASKED]):
                prompt = engine.prompts.render(
                    "same_question", other=first[:MOST_CHARS], question=second[:MOST_CHARS]
                )
                reply = await model.complete_json(prompt, SameAnswer)
                await sync_to_async(write_with_retry)(
                    partial(_store, pair, same=reply.same, model=model.name)
                )
                await sync_to_async(report)()
    except ModelError as error:
        return error.reason
    except TimeoutError:
        return worded("comparing questions took more than {seconds} s", seconds=int(ASK_S))
    if len(pairs) <= MOST_ASKED:
        await RatedQuestion.objects.filter(pk__in=new).aupdate(compared=True)
    return ""


def _candidates(new: Sequence[int]) -> list[tuple[int, int]]:
    """Not decided yet, nor the same by words or vectors. The nearest first."""
    wordings, _ = wordings_load()
    everyone = KnownQuestions(wordings)
    found: dict[tuple[int, int], float] = {}
    for question in new:
        if question not in wordings:
            continue
        own = wordings[question]
        same = set(everyone.same(own))
        near = everyone.near(own, least_cosine=LEAST_COSINE)[: NEAREST + 1]
        for other, cosine in (
            *near,
            *((other, LEAST_COSINE) for other in _sharing_a_passage(question)),
        ):
            if other not in same and other in wordings and not differ(own, wordings[other]):
                pair = (min(question, other), max(question, other))
                found[pair] = max(found.get(pair, 0.0), cosine)
    decided = QuestionPair.objects.filter(first__in={pair[0] for pair in found}).values_list(
        "first_id", "second_id"
    )
    left = found.keys() - set(decided)
    return sorted(left, key=lambda pair: (-found[pair], pair))


def _sharing_a_passage(question: int) -> list[int]:
    own = Evidence.objects.filter(question=question).values("passage")
    others = (
        Evidence.objects.filter(passage__in=own).exclude(question=question).order_by("-question")
    )
    return list(others.values_list("question", flat=True).distinct()[:NEAREST])


def _with_texts(pairs: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], str, str]]:
    texts = dict(
        RatedQuestion.objects.filter(pk__in={key for pair in pairs for key in pair}).values_list(
            "pk", "text"
        )
    )
    return [(pair, texts[pair[0]], texts[pair[1]]) for pair in pairs if texts.keys() >= set(pair)]


def _store(pair: tuple[int, int], *, same: bool, model: str) -> None:
    if RatedQuestion.objects.filter(pk__in=pair).count() == len(
        pair
    ):  # nobody has deleted one meanwhile
        QuestionPair.objects.update_or_create(
            first_id=pair[0], second_id=pair[1], defaults={"same": same, "decided_by": model[:200]}
        )
