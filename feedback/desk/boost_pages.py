"""Boosts by hand as pages of the review desk: what is in force, and the form that a passage of an answer leads to."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import Message
from chat.review.pages import desk_page
from chat.review.queue import collections_known
from chat.review.roles import DeskAccess
from feedback.curation.manual import manual_boost_end, manual_boost_set
from feedback.desk.acting import answer_named, problem_sentence, row_named, tell
from feedback.models import ManualBoost
from feedback.ranking.same_question import MAX_CHARS
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.models import Chunk, Document
from retrieval.selectors import as_uuid, visible_documents

A_PAGE = 50
LIFTED, LOWERED = 1.5, 0.67
EFFECTS = {"hide": (1.0, True), "lower": (LOWERED, False), "lift": (LIFTED, False)}
DAYS = (7, 30, 90, 365)
DEFAULT_DAYS = 30


@desk_page("curate", query=("state", "page"))
def boosts_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """In force, or ?state=ended. Titles of documents that this person may not read are left out."""
    ended = request.GET.get("state") == "ended"
    rows = ManualBoost.objects.select_related("document", "created_by", "ended_by").order_by("-created_at", "pk")
    in_force = ManualBoost.in_force().values("pk")
    rows = rows.exclude(pk__in=in_force) if ended else rows.filter(pk__in=in_force)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    readable = set(
        visible_documents(access.user).filter(pk__in=[row.document_id for row in page]).values_list("pk", flat=True)
    )
    context = {
        "section": "review",
        "desk_part": "boosts",
        "access": access,
        "page": page,
        "rows": [{"boost": row, "readable": row.document_id in readable} for row in page],
        "ended": ended,
    }
    return render(request, "review/boosts.html", context)


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def boost_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?document=, ?chunk= (one passage of it) and ?answer= (where it was seen). The button says the effect."""
    document, chunk, answer = _asked(request, access)
    problem = ""
    if request.method == "POST":
        try:
            boost = _save(request, access, document, chunk)
        except AppError as error:
            problem = problem_sentence(error)
        else:
            messages.success(request, _("In force: searches see it in a moment."))
            if answer is not None:
                return redirect("review_answer", message_id=answer.pk)
            return redirect(f"{reverse('review_boosts')}#boost-{boost.pk}")
    asked_in_full = " ".join(answer.reply_to.text.split()) if answer and answer.reply_to else ""
    asked = asked_in_full[:120]
    context = {
        "section": "review",
        "access": access,
        "document": document,
        "collection": collections_known(access.user).filter(pk=document.collection_id).first(),
        "chunk": chunk,
        "answer": answer,
        "back": reverse("review_answer", args=[answer.pk]) if answer else reverse("review_boosts"),
        "why": request.POST.get("why") or (_("Seen for “{question}”").format(question=asked) if asked else ""),
        "whole": request.POST.get("part") == "document" or chunk is None,
        "question": request.POST.get("question", asked_in_full[:MAX_CHARS]),
        "asked": bool(asked_in_full),
        "for_all": request.POST.get("for") == "all",
        "days": DAYS,
        "chosen_days": request.POST.get("days", str(DEFAULT_DAYS)),
        "problem": problem,
        "earlier": ManualBoost.in_force().select_related("document").filter(document=document),
    }
    return render(request, "review/boost_new.html", context, status=400 if problem else 200)


@desk_page("curate", methods=("POST",))
def boost_end(request: HttpRequest, *, access: DeskAccess, boost_id: UUID) -> HttpResponse:
    boost = row_named(ManualBoost.objects, boost_id)
    done = _("Ended: the document is ranked as ratings say again.")
    tell(request, lambda: manual_boost_end(boost=boost, by=access.user), done)
    answer = as_uuid(request.POST.get("answer", ""))
    return redirect("review_answer", message_id=answer) if answer else redirect("review_boosts")


def _asked(request: HttpRequest, access: DeskAccess) -> tuple[Document, Chunk | None, Message | None]:
    """A document that the person may read, or that is a source of the answer, which they see at the desk.

    Raises NotFoundError.
    """
    answer = answer_named(request.GET["answer"]) if request.GET.get("answer") else None
    rows = Document.objects.select_related("collection__owner")
    document = row_named(rows, as_uuid(request.GET.get("document", "")))
    cites = answer is not None and answer.sources.filter(document_id=document.pk).exists()
    if not cites and not visible_documents(access.user).filter(pk=document.pk).exists():
        raise NotFoundError
    key = as_uuid(request.GET.get("chunk", ""))
    chunk = Chunk.objects.filter(pk=key, document=document).first() if key else None
    return document, chunk, answer


def _save(request: HttpRequest, access: DeskAccess, document: Document, chunk: Chunk | None) -> ManualBoost:
    effect = EFFECTS.get(request.POST.get("effect", ""))
    if effect is None:
        raise InvalidInputError(worded("Choose whether to hide, lower or lift it."))
    days = request.POST.get("days", "")
    if days not in ("", *map(str, DAYS)):
        raise InvalidInputError(worded("Choose until when it holds."))
    multiplier, hide = effect
    question = request.POST.get("question", "") if request.POST.get("for") == "question" else ""
    if request.POST.get("for") == "question" and not question.strip():
        raise InvalidInputError(worded("Write the question that it holds for."))
    return manual_boost_set(
        document=document,
        by=access.user,
        why=request.POST.get("why", ""),
        chunk_id=chunk.pk if chunk and request.POST.get("part") != "document" else None,
        multiplier=multiplier,
        hide=hide,
        question=question,
        expires_at=timezone.now() + timedelta(days=int(days)) if days else None,
    )
