"""Curated answers as pages of the review desk: the list, and the form that makes one of a reviewed answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, time
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.messages.rendering import cited_markers
from chat.models import Message
from chat.review.pages import desk_page
from chat.review.roles import DeskAccess
from feedback.curation.curated import (
    MAX_QUESTION_CHARS,
    MAX_TEXT_CHARS,
    curated_end,
    curated_save,
)
from feedback.desk.acting import answer_named, question_of, row_named, tell
from feedback.models import CuratedAnswer
from ragsite.core.errors import AppError, InvalidInputError
from ragsite.core.localized import localized
from retrieval.selectors import as_uuid

A_PAGE = 50
FIELD_OF = {"expires_at": "expires_on"}  # where the form calls it otherwise than the service
_MARKER = re.compile(r"\[(\d{1,3})\]")
Passage = tuple[int, UUID, str, str]  # marker, chunk's id, title, text


class CuratedForm(forms.Form):
    question = forms.CharField(label=gettext_lazy("Question"), max_length=MAX_QUESTION_CHARS)
    wordings = forms.CharField(
        label=gettext_lazy("Other wordings"), required=False, max_length=14_000, widget=forms.Textarea({"rows": 3}),
        help_text=gettext_lazy("One a line: who asks in these words, or nearly these, gets the answer too."),
    )  # fmt: skip
    text = forms.CharField(
        label=gettext_lazy("Answer"), max_length=MAX_TEXT_CHARS, widget=forms.Textarea({"rows": 10}),
        help_text=gettext_lazy("Markdown. Cite the passages by their numbers, as [1]."),
    )  # fmt: skip
    expires_on = forms.DateField(
        label=gettext_lazy("Given until"), required=False, widget=forms.DateInput({"type": "date"}),
        help_text=gettext_lazy("Empty: until it is withdrawn, or a passage that it cites changes."),
    )  # fmt: skip

    def clean_expires_on(self) -> datetime | None:
        """The end of that day."""
        day = self.cleaned_data["expires_on"]
        return timezone.make_aware(datetime.combine(day, time.max)) if day else None


@desk_page("curate", query=("state", "page"))
def curated_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    ended = request.GET.get("state") == "ended"
    rows = CuratedAnswer.objects.select_related("created_by", "ended_by")
    in_force = CuratedAnswer.in_force().values("pk")
    rows = rows.exclude(pk__in=in_force) if ended else rows.filter(pk__in=in_force)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "review/curated.html",
        {"section": "review", "desk_part": "curated", "access": access, "page": page, "ended": ended},
    )


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def curated_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?answer= the reviewed answer, or ?replaces= the curated one whose place it takes: their passages can be cited."""
    answer, replaces = _asked(request)
    passages = _passages(answer, replaces)
    form = CuratedForm(request.POST or None, initial=None if request.POST else _initial(answer, replaces))
    if request.method == "POST" and form.is_valid():
        try:
            _save(form.cleaned_data, passages, access, answer, replaces)
        except InvalidInputError as error:
            for name, problems in error.fields.items():
                field = FIELD_OF.get(name, name)
                form.add_error(field if field in form.fields else None, [str(one) for one in localized(list(problems))])
        except AppError as error:
            form.add_error(None, str(localized(error.message)))
        else:
            messages.success(request, _("The answer is given from now on to whoever asks nearly the same."))
            return redirect("review_curated")
    context = {
        "section": "review", "form": form, "passages": passages, "answer": answer, "replaces": replaces,
        "back": reverse("review_answer", args=[answer.pk]) if answer else reverse("review_curated"),
    }  # fmt: skip
    return render(request, "review/curated_form.html", context, status=400 if form.errors else 200)


@desk_page("curate", methods=("POST",))
def curated_withdraw(request: HttpRequest, *, access: DeskAccess, curated_id: UUID) -> HttpResponse:
    answer = row_named(CuratedAnswer.objects, curated_id)
    done = _("Withdrawn: the question is answered from the documents again.")
    tell(request, lambda: curated_end(answer=answer, by=access.user), done)
    return redirect("review_curated")


def _asked(request: HttpRequest) -> tuple[Message | None, CuratedAnswer | None]:
    """Raises NotFoundError where neither is there."""
    if old := as_uuid(request.GET.get("replaces", "")):
        replaces = row_named(CuratedAnswer.objects.filter(ended_at=None), old)
        return replaces.message, replaces
    return answer_named(request.GET.get("answer", "")), None


def _passages(answer: Message | None, replaces: CuratedAnswer | None) -> list[Passage]:
    if replaces is not None:
        return [(one.marker, one.chunk_id, one.title, one.text) for one in replaces.sources.all()]
    sources = answer.sources.filter(kind="document") if answer else []
    return [(one.marker, key, one.title, one.text) for one in sources if (key := as_uuid(one.chunk_id))]


def _initial(answer: Message | None, replaces: CuratedAnswer | None) -> dict[str, Any]:
    if replaces is not None:
        expires = timezone.localdate(replaces.expires_at) if replaces.expires_at else None
        lines = "\n".join(replaces.wordings)
        return {"question": replaces.question, "wordings": lines, "text": replaces.text, "expires_on": expires}
    if answer is None:
        return {}
    return {"question": question_of(answer)[:MAX_QUESTION_CHARS], "text": answer.text[:MAX_TEXT_CHARS]}


def _save(
    given: dict[str, Any], passages: Sequence[Passage], access: DeskAccess, answer: Message | None,
    replaces: CuratedAnswer | None,
) -> None:  # fmt: skip
    """With the passages that the text cites, numbered from 1 in their order."""
    chunk_of = {marker: key for marker, key, _, _ in passages}
    markers = sorted(marker for marker in cited_markers(given["text"]) if marker in chunk_of)
    place = {marker: number for number, marker in enumerate(markers, start=1)}
    unknown = sorted(cited_markers(given["text"]) - set(chunk_of))
    if unknown:
        raise InvalidInputError(fields={"text": [_("There is no passage [{marker}].").format(marker=unknown[0])]})
    if not markers:
        raise InvalidInputError(fields={"text": [_("Cite at least one passage by its number, as [1].")]})
    curated_save(
        by=access.user,
        question=given["question"],
        wordings=given["wordings"].splitlines(),
        text=_MARKER.sub(lambda found: f"[{place.get(int(found[1]), found[1])}]", given["text"]),
        chunk_ids=[chunk_of[marker] for marker in markers],
        message=answer,
        expires_at=given["expires_on"],
        replaces=replaces,
    )
