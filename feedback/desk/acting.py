"""What the pages of curators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from chat.models import Message
from chat.review.desk_page import problem_sentences
from chat.review.records import ended_answers
from ragsite.core.errors import AppError
from retrieval.knowledge.selectors import as_uuid

A_PAGE = 50


def tell(request: HttpRequest, act: Callable[[], Any], done: str = "") -> None:
    """Do it; that it is done (else what `act` returns), or what is wrong, is said on the next page."""
    try:
        result = act()
    except AppError as error:
        messages.error(request, problem_sentence(error))
    else:
        messages.success(request, done or result)


def problem_sentence(error: AppError) -> str:
    return " ".join(problem_sentences(error))


def form_problem(form: forms.Form) -> str:
    return " ".join(str(problem) for problems in form.errors.values() for problem in problems)


def answer_named(text: str) -> Message:
    """The answer of this id, with its question, else 404: also where it is not the desk's to read."""
    answers = ended_answers().select_related("reply_to")
    answer: Message = get_object_or_404(answers, pk=as_uuid(text))
    return answer


def question_of(answer: Message) -> str:
    """What was searched for, else the question as it was put."""
    if answer.searched_for:
        return answer.searched_for
    return answer.reply_to.text if answer.reply_to else ""


def in_force_page(request: HttpRequest, rows: QuerySet[Any]) -> dict[str, Any]:
    """Rows of `InForce` for a list: those in force, or ?state=ended the others."""
    ended = request.GET.get("state") == "ended"
    in_force = rows.model.in_force().values("pk")
    rows = rows.exclude(pk__in=in_force) if ended else rows.filter(pk__in=in_force)
    return {"page": Paginator(rows, A_PAGE).get_page(request.GET.get("page")), "ended": ended}
