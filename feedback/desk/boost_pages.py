"""Boosts by hand as pages of the review desk: what is in force, and the form that a passage of an answer leads to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models import Message
from chat.review.desk_page import desk_page
from chat.review.queue import collections_known
from chat.review.roles import DeskAccess
from feedback.curation.manual import manual_boost_end, manual_boost_set
from feedback.desk.acting import answer_named, form_problem, in_force_page, tell
from feedback.models import ManualBoost
from ragsite.core.errors import NotFoundError
from retrieval.engine.text.same_question import MAX_CHARS
from retrieval.knowledge.selectors import as_uuid, visible_documents
from retrieval.models import Chunk, Document

EFFECTS: dict[str, dict[str, Any]] = {
    "hide": {"hide": True},
    "lower": {"multiplier": 0.67},
    "lift": {"multiplier": 1.5},
}
DAYS = (7, 30, 90, 365)
DEFAULT_DAYS = 30


class BoostForm(forms.Form):
    """effect: by the button. part: passage or document. whom: question or all. days: empty: until somebody ends it."""

    effect = forms.ChoiceField(choices=[(name, name) for name in EFFECTS])
    part = forms.CharField(required=False)
    whom = forms.CharField(required=False)
    question = forms.CharField(max_length=MAX_CHARS, required=False)
    days = forms.TypedChoiceField(
        choices=[("", ""), *((days, days) for days in DAYS)], required=False, coerce=int
    )
    why = forms.CharField(max_length=500, error_messages={"required": gettext_lazy("Say why.")})

    def clean(self) -> dict[str, Any]:
        fields = self.cleaned_data
        fields["question"] = (
            " ".join(fields.get("question", "").split()) if fields.get("whom") == "question" else ""
        )
        if fields.get("whom") == "question" and not fields["question"]:
            raise forms.ValidationError(_("Write the question that this is for."))
        return fields

    def save(self, *, document: Document, chunk: Chunk | None, access: DeskAccess) -> ManualBoost:
        fields = self.cleaned_data
        return manual_boost_set(
            document=document,
            by=access.user,
            chunk_id=chunk.pk if chunk and fields["part"] != "document" else None,
            question=fields["question"],
            why=fields["why"],
            expires_at=timezone.now() + timedelta(days=fields["days"]) if fields["days"] else None,
            **EFFECTS[fields["effect"]],
        )


@desk_page("curate", query=("state", "page"))
def boosts_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """In force, or ?state=ended. Titles of documents that this person may not read are left out."""
    rows = ManualBoost.objects.select_related("document", "created_by", "ended_by")
    shown = in_force_page(request, rows)
    readable = visible_documents(access.user).in_bulk([row.document_id for row in shown["page"]])
    context = {"section": "review", "access": access, "readable": readable, **shown}
    return render(request, "review/boosts.html", context)


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def boost_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?document=, ?chunk= (one passage of it) and ?answer= (where it was seen)."""
    document, chunk, answer = _target(request, access)
    question = " ".join(answer.reply_to.text.split()) if answer and answer.reply_to else ""
    back = reverse("review_answer", args=[answer.pk]) if answer else reverse("review_boosts")
    shown = {
        "question": question[:MAX_CHARS],
        "why": _("Seen for “{question}”").format(question=question[:120]) if question else "",
        "days": str(DEFAULT_DAYS),
    }
    form = BoostForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save(document=document, chunk=chunk, access=access)
        messages.success(request, _("Saved. Searches use it in a moment."))
        return redirect(back)
    context = {
        "section": "review",
        "access": access,
        "document": document,
        "collection": collections_known(access.user).filter(pk=document.collection_id).first(),
        "chunk": chunk,
        "answer": answer,
        "back": back,
        "asked": bool(question),
        "shown": shown | request.POST.dict(),
        "days": DAYS,
        "problem": form_problem(form),
        "earlier": ManualBoost.in_force().filter(document=document),
    }
    return render(request, "review/boost_new.html", context, status=400 if form.errors else 200)


@desk_page("curate", methods=("POST",))
def boost_end(request: HttpRequest, *, access: DeskAccess, boost_id: UUID) -> HttpResponse:
    boost = get_object_or_404(ManualBoost.objects, pk=boost_id)
    done = _("Ended. Ratings alone decide the order again.")
    tell(request, lambda: manual_boost_end(boost=boost, by=access.user), done)
    answer = as_uuid(request.POST.get("answer", ""))
    return redirect("review_answer", message_id=answer) if answer else redirect("review_boosts")


def _target(
    request: HttpRequest, access: DeskAccess
) -> tuple[Document, Chunk | None, Message | None]:
    """A document that the person may read, or that is a source of the answer, which they see at the desk.

    Raises NotFoundError.
    """
    answer = answer_named(request.GET["answer"]) if request.GET.get("answer") else None
    document = get_object_or_404(
        Document.objects.all(), pk=as_uuid(request.GET.get("document", ""))
    )
    cites = answer is not None and answer.sources.filter(document_id=document.pk).exists()
    if not cites and not visible_documents(access.user).filter(pk=document.pk).exists():
        raise NotFoundError
    key = as_uuid(request.GET.get("chunk", ""))
    return (
        document,
        Chunk.objects.filter(pk=key, document=document).first() if key else None,
        answer,
    )
