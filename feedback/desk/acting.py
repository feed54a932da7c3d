"""What the pages of curators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from chat.models import Message
from chat.review.pages import problem_sentences
from feedback.rounds.evidence import searched_for
from ragsite.core.errors import AppError, NotFoundError
from retrieval.selectors import as_uuid


def tell(request: HttpRequest, act: Callable[[], Any], done: str = "") -> None:
    """Do it; that it is done (else what `act` returns), or what is wrong, is told on the next page."""
    try:
        told = act()
    except AppError as error:
        messages.error(request, problem_sentence(error))
    else:
        messages.success(request, done or told)


def problem_sentence(error: AppError) -> str:
    return " ".join(problem_sentences(error))


def form_problem(form: forms.Form) -> str:
    return " ".join(str(problem) for problems in form.errors.values() for problem in problems)


def answer_named(text: str) -> Message:
    """The answer of this id, with its question. Raises NotFoundError."""
    answers = Message.objects.filter(role=Message.Role.ASSISTANT).select_related("reply_to")
    answer: Message = row_named(answers, as_uuid(text))
    return answer


def question_of(answer: Message) -> str:
    """What was searched for, else the question as it was put."""
    return searched_for([answer.pk]).get(answer.pk) or (answer.reply_to.text if answer.reply_to else "")


def row_named(rows: Any, key: UUID | int | None) -> Any:
    """Raises NotFoundError."""
    row = rows.filter(pk=key).first() if key else None
    if row is None:
        raise NotFoundError
    return row
