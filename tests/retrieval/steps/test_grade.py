from typing import Any

from django.conf import settings

from retrieval.steps.judge import Graded
from retrieval.steps.judge import grade as grade_documents
from retrieval.trace import StepRecord, Trace
from retrieval.values import AnswerOptions
from tests.retrieval.steps.fakes import Events, ask, make_tools, scored

QUESTION = "What is the resit fee?"
DOCUMENTS = (
    scored(1, "Students may borrow twelve books."),
    scored(2, "The resit fee is EUR 55."),
    scored(3, "The library opens at eight."),
)


async def grade(
    documents=DOCUMENTS, *, events: Events | None = None, known: Any = None, **options: Any
) -> tuple[Graded, StepRecord, int]:
    deps = make_tools(settings.RAG).for_answer(Trace(events), timeout_s=30)
    question = ask(QUESTION, options=AnswerOptions(**options))
    graded = await grade_documents(deps, question, documents, known=known or {})
    return graded, deps.trace.steps[0], deps.trace.usage().llm_rounds


def verdict(relevant: bool, confidence: int = 9) -> dict[str, Any]:
    return {"is_relevant": relevant, "confidence": confidence}


async def test_documents_that_wait_for_a_slot_are_one_round_and_never_more_at_once(online, rag_settings) -> None:
    rag_settings(ollama={"max_concurrency": 2})
    online.reply(json=verdict(True), delay_s=0.05)
    _, step, rounds = await grade()
    assert rounds == 1
    running = [(call.started_ms, call.ended_ms or 0.0) for call in step.calls]
    assert len(running) == 3
    assert max(sum(begun <= at < ended for begun, ended in running) for at, _ in running) <= 2


async def test_offline_and_switched_off_no_call_is_made(offline) -> None:
    graded, step, _ = await grade()
    assert (graded.by_model, step.status) == (False, "degraded")
    graded, step, _ = await grade(rerank=False)
    assert (graded.by_model, step.status) == (False, "ok")


async def test_without_a_model_the_documents_stand_or_fall_together(offline) -> None:
    graded, _, _ = await grade()
    assert len(graded.passed) == 3
    graded, _, _ = await grade((scored(1, "Staff park behind the hall."), scored(2, "The library opens at eight.")))
    assert not graded.passed
