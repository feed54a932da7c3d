"""Steps that only improve an answer: their model call gets a small share of the time that is left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.conf import settings

from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt, Schema, WebResult
from retrieval.steps.cite.verify import verify
from retrieval.steps.deadline import KEPT_FOR_WRITING, NEEDED_SHARE, OPTIONAL_SHARE, Deadline
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.retrieve.web_search import WebQuestion, WebSearch
from retrieval.steps.step import Asked, Context, Step
from retrieval.time_left import seconds_left
from retrieval.values import Answer, Scores, Source
from retrieval.workflows.dual_loop.strategy import Choice, ChooseStrategy
from retrieval.workflows.planned.plan import Planner, ToPlan
from retrieval.workflows.planned.tasks import FollowUp, Link
from tests.retrieval.steps.fakes import HANDBOOK, ask, context, make_tools, start_run

LASTS_S = 100.0  # a whole answer
TEXT = "Compare the deposit of Lakeside hall and the fee of a late resit"
ASKED = Asked(ask(TEXT, options=replace(ask(TEXT).options, web_search=True)), TEXT)
WRITTEN = Answer(
    decision="ANSWER", text="A late resit costs EUR 55 [1].", model="m",
    sources=(Source(marker=1, chunk=HANDBOOK[5], scores=Scores(), cited=True),),
)  # fmt: skip


@dataclass
class Watched:
    """A model that keeps how much time each of its calls has, and has nothing to say. Serves as `Models`, too."""

    had_s: list[float] = field(default_factory=list)
    name: str = "watched"
    prompt_budget: int = 8000

    async def chat(self, role: str, *, name: str = "") -> Watched:
        return self

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        self.had_s.append(seconds_left())
        raise ModelOutputError("nothing to say")


class NoWeb:
    name = "engine"

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        return ()


async def time_given(step: type[Step[Any, Any]], given: Any) -> float:
    models: Any = Watched()
    rag = settings.RAG.replace(
        verify=settings.RAG.verify.replace(by_model=True), ollama=settings.RAG.ollama.replace(structured_timeout_s=90)
    )
    run = replace(start_run(rag), deadline=Deadline(LASTS_S))
    run.first_search.finish(good=False)
    here: Context = context(make_tools(rag, HANDBOOK, models=models, web=NoWeb()), run)
    await step(here)(given)
    [had_s] = models.had_s
    return float(had_s)


@pytest.mark.parametrize(
    ("step", "given"),
    [
        (Rewrite, Wanted(asked=ASKED, tried=(TEXT,))),
        (WebSearch, WebQuestion(ASKED)),
        (ChooseStrategy, Choice(asked=ASKED, memories=(), available=("hierarchical_search", "direct_chunk_search"))),
        (FollowUp, Link(task_id="t2", text=TEXT, statements=("A late resit costs EUR 55.",))),
    ],
)
async def test_what_only_improves_an_answer_gets_a_small_share(step: type[Step[Any, Any]], given: Any) -> None:
    assert 0 < await time_given(step, given) <= LASTS_S * (1 - KEPT_FOR_WRITING) * OPTIONAL_SHARE


async def test_the_models_check_of_an_answer_gets_a_small_share() -> None:
    models: Any = Watched()
    rag = settings.RAG.replace(verify=settings.RAG.verify.replace(by_model=True))
    run = replace(start_run(rag), deadline=Deadline(LASTS_S))
    await verify(context(make_tools(rag, models=models), run).deps, WRITTEN, question=TEXT)
    assert 0 < models.had_s[0] <= LASTS_S * OPTIONAL_SHARE


async def test_what_an_answer_needs_gets_more() -> None:
    had_s = await time_given(Planner, ToPlan(asked=ASKED, web=False))
    assert LASTS_S * OPTIONAL_SHARE < had_s <= LASTS_S * (1 - KEPT_FOR_WRITING) * NEEDED_SHARE


def test_after_the_writing_what_is_optional_still_gets_a_share_alone() -> None:
    """An answer that is judged to fall short is written anew within the same time."""
    deadline = Deadline(LASTS_S)
    assert deadline.share(90, optional=True, writing=True) <= LASTS_S * OPTIONAL_SHARE
    assert deadline.share(90, optional=False, writing=True) > LASTS_S * OPTIONAL_SHARE
