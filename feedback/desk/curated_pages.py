"""Curated answers as pages of the review desk: the list, and the form that makes one of a reviewed answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import Message
from chat.review.desk_page import desk_page
from chat.review.roles import DeskAccess
from feedback.curation.curated import (
    CuratedPassage,
    curated_end,
    curated_outdated,
    curated_save,
    end_of_day,
)
from feedback.curation.transfer.exports import export_extent
from feedback.desk.acting import answer_named, in_force_page, problem_sentence, question_of, tell
from feedback.models import CuratedAnswer, CurationImport, GapRequest
from feedback.requests.at_the_desk import request_proposed
from feedback.requests.replying import gap_close_if_done, request_publish
from ragsite.core.errors import AppError
from ragsite.core.text import clean_text
from retrieval.engine.text.markers import CITATION, cited_markers
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Chunk

MAX_WORDINGS = 20


class CuratedForm(forms.Form):
    """passages: by the numbers under which the text may cite them."""

    question = forms.CharField(label=gettext_lazy("Question"), min_length=3, max_length=600)
    wordings = forms.CharField(
        label=gettext_lazy("Other wordings"),
        required=False,
        max_length=14_000,
        widget=forms.Textarea({"rows": 3}),
        help_text=gettext_lazy("One per line. Whoever asks in these words gets this answer too."),
    )
    text = forms.CharField(
        label=gettext_lazy("Answer"),
        max_length=20_000,
        widget=forms.Textarea({"rows": 10}),
        help_text=gettext_lazy("Markdown. Cite the passages by their numbers, such as [1]."),
    )
    expires_on = forms.DateField(
        label=gettext_lazy("Valid until"),
        required=False,
        widget=forms.DateInput({"type": "date"}),
        help_text=gettext_lazy(
            "Leave empty for no end date. It also ends when a cited passage changes."
        ),
    )

    def __init__(self, *args: Any, passages: dict[int, CuratedPassage], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.passages = passages

    def clean_question(self) -> str:
        return " ".join(clean_text(self.cleaned_data["question"]).split())

    def clean_wordings(self) -> list[str]:
        lines = [
            " ".join(line.split())
            for line in clean_text(self.cleaned_data["wordings"]).splitlines()
        ]
        lines = list(filter(None, dict.fromkeys(lines)))
        if len(lines) > MAX_WORDINGS or any(len(line) > 600 for line in lines):
            raise forms.ValidationError(_("At most 20 lines of 600 characters."))
        return lines

    def clean_text(self) -> str:
        text = clean_text(self.cleaned_data["text"])
        markers = cited_markers(text)
        if not markers or not markers <= self.passages.keys():
            raise forms.ValidationError(
                _(
                    "Cite at least one passage by its number, such as [1]. Use only numbers from the list."
                )
            )
        return text

    def clean_expires_on(self) -> datetime | None:
        """The end of that day."""
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        try:
            return end_of_day(day)
        except AppError as error:
            raise forms.ValidationError(problem_sentence(error)) from error

    def save(
        self,
        *,
        access: DeskAccess,
        message: Message | None,
        answer: CuratedAnswer | None,
        asked: str = "",
    ) -> CuratedAnswer:
        """With the passages that the text cites, numbered from 1 in their order. Raises ConflictError."""
        fields = self.cleaned_data
        places = {
            marker: place for place, marker in enumerate(sorted(cited_markers(fields["text"])), 1)
        }
        return curated_save(
            by=access.user,
            question=fields["question"],
            wordings=fields["wordings"],
            text=CITATION.sub(lambda found: f"[{places[int(found[1])]}]", fields["text"]),
            passages=[self.passages[marker] for marker in places],
            message=message,
            expires_at=fields["expires_on"],
            answer=answer,
            asked=asked,
        )


@desk_page("curate", query=("state", "page"))
def curated_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    shown = in_force_page(request, CuratedAnswer.objects.select_related("created_by", "ended_by"))
    context = {
        "section": "review",
        **shown,
        "outdated": curated_outdated(shown["page"]),
        "extent": export_extent(by=access.user, kind=CurationImport.Kind.CURATED),
    }
    return render(request, "review/curated.html", context)


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def curated_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?answer= the reviewed answer, ?change= a curated one, or ?request= a person's reply: their passages can be
    cited."""
    replied = request_proposed(as_uuid(request.GET.get("request", "")))
    if replied is not None:
        return _curated_of_reply(request, access, replied)
    answer: CuratedAnswer | None = None
    if changed := request.GET.get("change"):
        answer = get_object_or_404(CuratedAnswer, pk=as_uuid(changed), ended_at=None)
    message = None if answer else answer_named(request.GET.get("answer", ""))
    passages = _passages_of(answer) if answer else _passages_now(message) if message else {}
    initial = _initial(answer) if answer else _proposed(message) if message else {}
    form = CuratedForm(request.POST or None, initial=initial, passages=passages)
    if request.method == "POST" and form.is_valid():
        try:
            form.save(access=access, message=message, answer=answer)
        except AppError as error:
            form.add_error(None, problem_sentence(error))
        else:
            messages.success(
                request, _("From now on, whoever asks this question gets this answer.")
            )
            return redirect("review_curated")
    context = {
        "section": "review",
        "form": form,
        "passages": passages.items(),
        "answer": message,
        "changed": answer,
    }
    return render(request, "review/curated_form.html", context, status=400 if form.errors else 200)


def _curated_of_reply(
    request: HttpRequest, access: DeskAccess, replied: GapRequest
) -> HttpResponse:
    """Of the reply to a question that was sent to a person."""
    passages = {
        one.marker: CuratedPassage(one.document_id, one.title, one.text)
        for one in replied.sources.all()
    }
    initial = {"question": replied.question[:600], "text": replied.reply}
    form = CuratedForm(request.POST or None, initial=initial, passages=passages)
    if request.method == "POST" and form.is_valid():
        try:
            curated = form.save(
                access=access, message=replied.message, answer=None, asked=replied.question
            )
        except AppError as error:
            form.add_error(None, problem_sentence(error))
        else:
            request_publish(replied, curated)
            gap_close_if_done(replied, by=access.user, at=timezone.now())
            messages.success(
                request, _("From now on, whoever asks this question gets this answer.")
            )
            return redirect("review_curated")
    context = {"section": "review", "form": form, "passages": passages.items(), "replied": replied}
    return render(request, "review/curated_form.html", context, status=400 if form.errors else 200)


@desk_page("curate", methods=("POST",))
def curated_withdraw(request: HttpRequest, *, access: DeskAccess, curated_id: UUID) -> HttpResponse:
    answer = get_object_or_404(CuratedAnswer.objects, pk=curated_id)
    done = _("Withdrawn. The question is answered from the documents again.")
    tell(request, lambda: curated_end(answer=answer, by=access.user), done)
    return redirect("review_curated")


def _passages_of(answer: CuratedAnswer) -> dict[int, CuratedPassage]:
    return {
        one.marker: CuratedPassage(one.document_id, one.title, one.text)
        for one in answer.sources.all()
    }


def _passages_now(message: Message) -> dict[int, CuratedPassage]:
    """As they stand in their documents now."""
    markers = {
        key: one.marker
        for one in message.sources.filter(kind="document")
        if (key := as_uuid(one.chunk_id))
    }
    chunks = Chunk.objects.filter(pk__in=markers, document__status="ready").select_related(
        "document"
    )
    found = {
        markers[chunk.pk]: CuratedPassage(chunk.document_id, chunk.document.title[:300], chunk.text)
        for chunk in chunks
    }
    return dict(sorted(found.items()))


def _initial(answer: CuratedAnswer) -> dict[str, Any]:
    expires = timezone.localdate(answer.expires_at) if answer.expires_at else None
    wordings = "\n".join(answer.wordings)
    return {
        "question": answer.question,
        "wordings": wordings,
        "text": answer.text,
        "expires_on": expires,
    }


def _proposed(message: Message) -> dict[str, Any]:
    return {"question": question_of(message)[:600], "text": message.text[:20_000]}
