"""A golden question of a reviewed answer, in two clicks: the documents that it was given are there to be ticked."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from chat.models import Message
from chat.review.pages import desk_page
from chat.review.queue import collections_known
from chat.review.roles import DeskAccess
from feedback.curation.golden import (
    MAX_SET_CHARS,
    MAX_TEXT_CHARS,
    NO_COLLECTION,
    Relevant,
    golden_delete,
    golden_list,
    golden_save,
)
from feedback.desk.acting import answer_named, problem_sentence, question_of, row_named
from feedback.models import GoldenQuestion
from ragsite.core.errors import AppError, InvalidInputError
from ragsite.core.wording import worded
from retrieval.models import Document
from retrieval.selectors import as_uuid, document_list

FOUND = 20
MOST_COLLECTIONS = 100
MOST_TICKED = 50
FULLY = 3
Expected = GoldenQuestion.Expected


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def golden_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?answer= the reviewed answer. `expects` is the button that was pressed; without one, documents are looked for."""
    answer = answer_named(request.GET.get("answer", ""))
    sources, cited = _sources(answer, access)
    ticked = {key for text in request.POST.getlist("document")[:MOST_TICKED] if (key := as_uuid(text))}
    query = request.POST.get("search", "")
    offered = {document.pk: document for document in sources}
    found = document_list(user=access.user, search=query[:200], versions="current")[:FOUND] if query.strip() else ()
    for document in (*_kept(access, ticked - set(offered)), *found):
        offered.setdefault(document.pk, document)
    problem, asked_in = "", answer.request.get("collection_ids") or [document.collection_id for document in sources]
    if expects := request.POST.get("expects", ""):
        try:
            question = _save(request, access, answer, expects, [offered[key] for key in offered if key in ticked])
        except AppError as error:
            problem = problem_sentence(error)
        else:
            messages.success(request, _("Golden question made. It is measured from now on."))
            return _back(question.message_id or answer.pk)
    context = {
        "section": "review",
        "access": access,
        "answer": answer,
        "text": request.POST.get("text") or question_of(answer)[:MAX_TEXT_CHARS],
        "set_name": request.POST.get("set", ""),
        "search": query,
        "documents": [
            {"document": document, "ticked": key in (ticked if request.method == "POST" else cited),
             "given": key in {one.pk for one in sources}, "collection": document.collection.name}
            for key, document in offered.items()
        ],
        "collections": [(str(row.pk), row.name) for row in collections_known(access.user)[:MOST_COLLECTIONS]],
        "collection": request.POST.get("collection") or str(next(iter(asked_in), "")),
        "problem": problem,
        "back": reverse("review_answer", args=[answer.pk]),
        "most_chars": MAX_TEXT_CHARS,
        "most_set_chars": MAX_SET_CHARS,
    }  # fmt: skip
    return render(request, "review/golden_new.html", context, status=400 if problem else 200)


@desk_page("curate", methods=("POST",))
def golden_undo(request: HttpRequest, *, access: DeskAccess, question_id: UUID) -> HttpResponse:
    question = row_named(golden_list(user=access.user), question_id)
    answer_id = question.message_id
    golden_delete(question=question, by=access.user)
    messages.success(request, _("The golden question was taken back."))
    return _back(answer_id) if answer_id else redirect("review")


def _back(answer_id: UUID) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("review_answer", args=[answer_id]))


def _sources(answer: Message, access: DeskAccess) -> tuple[list[Document], set[UUID]]:
    """The documents that its passages are of and this person may know, in their order, and which of them it cites."""
    rows = [row for row in answer.sources.order_by("marker") if row.document_id]
    known = Document.objects.filter(collection__in=collections_known(access.user).order_by().values("pk"))
    there = known.select_related("collection").in_bulk([row.document_id for row in rows])
    ids = [key for key in dict.fromkeys(row.document_id for row in rows) if key in there]
    return [there[key] for key in ids], {row.document_id for row in rows if row.cited and row.document_id}


def _kept(access: DeskAccess, ids: set[UUID]) -> Sequence[Document]:
    """What was ticked in an earlier search."""
    return list(document_list(user=access.user).filter(pk__in=ids)) if ids else []


def _save(
    request: HttpRequest, access: DeskAccess, answer: Message, expects: str, ticked: Sequence[Document]
) -> GoldenQuestion:
    """In the collection of what is ticked; where no document is expected, in the one that is chosen."""
    if expects == Expected.ANSWER:
        if not ticked:
            raise InvalidInputError(worded("Tick at least one document that answers it."))
        if len({document.collection_id for document in ticked}) > 1:
            raise InvalidInputError(worded("Tick documents of one collection."))
        collection, relevant = ticked[0].collection, [Relevant(document_id=one.pk, grade=FULLY) for one in ticked]
    else:
        key = as_uuid(request.POST.get("collection", ""))
        found = collections_known(access.user).filter(pk=key).first() if key else None
        if found is None:
            raise InvalidInputError(NO_COLLECTION)
        collection, relevant = found, []
    return golden_save(
        by=access.user,
        text=request.POST.get("text", ""),
        collection=collection,
        relevant=relevant,
        expects=expects,
        set_name=request.POST.get("set", ""),
        source=GoldenQuestion.Origin.REVIEWED,
        message=answer,
    )
