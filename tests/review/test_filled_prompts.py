"""Prompts as they were filled: stored where the site says so, and shown to those who may read them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from chat.models import FilledPrompt, Message
from chat.review.records import answers_record
from chat.runs.answers import RunOutcome, answer_finish, answer_lease
from retrieval.engine.prompting import PromptLibrary
from retrieval.engine.trace import StepRecord
from retrieval.engine.usage import ModelCall
from retrieval.engine.values import Answer
from tests.clients import client_of, person
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db
LIBRARY = PromptLibrary()
ANSWER = "<script>alert(1)</script> and “ten books” 圖書"


def ask(*, memories: str = "-") -> Message:
    """An answer whose path called two models' prompts: one that may hold memories, one that never does."""
    question = MessageFactory(question=True)
    answer: Message = MessageFactory(
        session=question.session, reply_to=question, status="streaming"
    )
    run_id = uuid.uuid4()
    assert answer_lease(answer.pk, run_id=run_id).take()
    plan = LIBRARY.template("plan")
    calls = [
        LIBRARY.render("grade_answer", passages="-", answer=ANSWER, question="How many?"),
        plan.render(dict.fromkeys(plan.user.get_identifiers(), "x") | {"memories": memories}),
    ]
    steps = [
        StepRecord(
            seq=n,
            name="plan",
            calls=[ModelCall(kind="chat", model="m", prompt_name=p.name, prompt=p)],
        )
        for n, p in enumerate(calls, 1)
    ]
    steps[0].calls.append(ModelCall(kind="embed", model="e"))
    outcome = RunOutcome(
        status="complete", answer=Answer(decision="ANSWER", text="Ten."), steps=steps
    )
    assert answer_finish(message_id=answer.pk, run_id=run_id, outcome=outcome)
    answers_record([answer.pk])
    return answer


def seen(answer: Message, role: str) -> Any:
    return client_of(person(role)).get(f"/api/review/answers/{answer.pk}").json()["filled_prompts"]


def test_nothing_is_stored_unless_the_site_says_so() -> None:
    assert seen(ask(), "Administrators") == [] and not FilledPrompt.objects.exists()


def test_each_call_is_stored_packed_and_shown_as_text(rag_settings: Any) -> None:
    rag_settings(retention={"paths_days": 7})
    answer = ask()
    first, second = seen(answer, "Administrators")
    assert (first["step"], first["call"], first["name"]) == (
        1,
        0,
        "grade_answer",
    ) and ANSWER in first["text"]
    assert (second["step"], second["name"]) == (2, "plan") and second["text"]
    page = client_of(person("Administrators")).get(f"/review/answers/{answer.pk}/").content.decode()
    assert ANSWER not in page and "alert(1)" in page  # as JSON, escaped


def test_who_sees_no_names_sees_no_filled_prompts(rag_settings: Any) -> None:
    rag_settings(retention={"paths_days": 7})
    assert seen(ask(), "Reviewers") == []


def test_what_is_remembered_for_a_user_is_not_stored_in_a_prompt(rag_settings: Any) -> None:
    rag_settings(retention={"paths_days": 7})
    first, second = seen(ask(memories="- Where do you live? → In Aachen."), "Administrators")
    assert first["text"] and second["text"] is None
    assert not FilledPrompt.objects.get(name="plan").packed
