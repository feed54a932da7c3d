"""Is what was found enough? A model's word; without one, nothing is refused."""

from typing import Any

import pytest
from django.conf import settings

from retrieval.steps.judge import Assessment
from retrieval.steps.judge import evaluate as evaluate_passages
from tests.retrieval.steps.fakes import ask, make_tools, scored

QUESTION = "What is the resit fee?"
PASSAGES = (scored(1, "Students may borrow twelve books."), scored(2, "The resit fee is EUR 55."))


async def evaluate(passages=PASSAGES) -> tuple[Assessment, Any]:
    deps = make_tools(settings.RAG)
    return await evaluate_passages(deps, ask(QUESTION), passages, most=5), deps.trace.steps[0]


@pytest.mark.parametrize(("said", "verdict"), [("SUFFICIENT", "ANSWER"), ("INSUFFICIENT", "NO_ANSWER")])
async def test_the_models_word_decides(online, said: str, verdict: str) -> None:
    online.reply(json={"verdict": said, "missing": "the amount"})
    assessment, entry = await evaluate()
    assert assessment.verdict == verdict
    assert assessment.missing == ("" if said == "SUFFICIENT" else "the amount")
    assert entry.detail["verdict"] == verdict


async def test_nothing_found_is_not_enough_and_asks_nobody(online) -> None:
    assessment, _ = await evaluate(())
    assert (assessment.verdict, assessment.reason) == ("REFINE", "nothing was found")
    assert not online.chats


async def test_what_is_no_verdict_refuses_nothing(online) -> None:
    online.reply(text="enough, I think")
    assessment, entry = await evaluate()
    assert (assessment.verdict, entry.status) == ("REFINE", "degraded")
