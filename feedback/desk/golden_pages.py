"""A golden question of a reviewed answer, in two clicks: the documents that it was given are there to be ticked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from chat.models import Message
from chat.review.desk_page import desk_page
from chat.review.queue import collections_known
from chat.review.roles import DeskAccess
from feedback.curation.golden import (
    MAX_TEXT_CHARS,
    NO_COLLECTION,
    NO_DOCUMENT,
    golden_list,
    golden_save,
)
from feedback.curation.transfer.exports import export_extent
from feedback.desk.acting import A_PAGE, answer_named, problem_sentence, question_of
from feedback.models import CurationImport, GoldenQuestion
from ragsite.core.errors import AppError, InvalidInputError
from retrieval.knowledge.choices import chosen_first
from retrieval.knowledge.selectors import as_uuid, document_list
from retrieval.models import Document

FOUND = 20
MOST_TICKED = 50


@desk_page("curate", methods=("GET", "HEAD", "POST"))
def golden_new(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """?answer= the reviewed answer. `expects` is the button that was pressed; without one, documents are looked for."""
    answer = answer_named(request.GET.get("answer", ""))
    query = request.POST.get("search", "").strip()
    sources = {
        row.document_id: row.cited for row in answer.sources.order_by("cited") if row.document_id
    }
    ticked = {key for key, cited in sources.items() if cited}
    if request.method == "POST":
        ticked = {
            key for text in request.POST.getlist("document")[:MOST_TICKED] if (key := as_uuid(text))
        }
    found = (
        document_list(user=access.user, search=query[:200], versions="current")[:FOUND]
        if query
        else ()
    )
    known = Document.objects.filter(
        collection__in=collections_known(access.user).order_by().values("pk")
    )
    there = known.select_related("collection").in_bulk(
        [*sources, *ticked, *(document.pk for document in found)]
    )
    problem = ""
    if expects := request.POST.get("expects", ""):
        try:
            _save(request, access, answer, expects, [there[key] for key in there if key in ticked])
        except AppError as error:
            problem = problem_sentence(error)
        else:
            messages.success(
                request, _("Test question saved. Every ranking change is tested on it.")
            )
            return redirect("review_answer", message_id=answer.pk)
    asked_in = answer.request.get("collection_ids") or [row.collection_id for row in there.values()]
    collection = request.POST.get("collection") or str(next(iter(asked_in), ""))
    context = {
        "section": "review",
        "access": access,
        "answer": answer,
        "text": request.POST.get("text") or question_of(answer)[:MAX_TEXT_CHARS],
        "search": query,
        "documents": [
            (document, key in ticked, use_of(key, sources)) for key, document in there.items()
        ],
        "collections": [
            (str(row.pk), row.name)
            for row in chosen_first(collections_known(access.user), chosen=as_uuid(collection))
        ],
        "collection": collection,
        "problem": problem,
        "most_chars": MAX_TEXT_CHARS,
    }
    return render(request, "review/golden_new.html", context, status=400 if problem else 200)


@desk_page("curate", query=("page",))
def golden_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """What revisions and replays are measured on."""
    rows = golden_list(user=access.user).select_related("collection", "created_by")
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    extent = export_extent(by=access.user, kind=CurationImport.Kind.GOLDEN)
    context = {"section": "review", "page": page, "extent": extent}
    return render(request, "review/golden.html", context)


@desk_page("curate", methods=("POST",))
def golden_undo(request: HttpRequest, *, access: DeskAccess, question_id: UUID) -> HttpResponse:
    question: GoldenQuestion = get_object_or_404(golden_list(user=access.user), pk=question_id)
    answer_id = question.message_id
    question.delete()
    messages.success(request, _("Test question removed."))
    return redirect("review_answer", message_id=answer_id) if answer_id else redirect("review")


def use_of(document_id: UUID, sources: Mapping[UUID, bool]) -> str:
    """ "cited", "found" (shown to the answer but not cited), or "" for a document that it was not given."""
    if document_id not in sources:
        return ""
    return "cited" if sources[document_id] else "found"


def _save(
    request: HttpRequest,
    access: DeskAccess,
    answer: Message,
    expects: str,
    ticked: Sequence[Document],
) -> GoldenQuestion:
    """In the collection of what is ticked; where no document is expected, in the one that is chosen."""
    if expects != GoldenQuestion.Expected.ANSWER:
        ticked = []
    elif not ticked:
        raise InvalidInputError(NO_DOCUMENT)
    key = ticked[0].collection_id if ticked else as_uuid(request.POST.get("collection", ""))
    collection = collections_known(access.user).filter(pk=key).first() if key else None
    if collection is None:
        raise InvalidInputError(NO_COLLECTION)
    return golden_save(
        by=access.user,
        text=request.POST.get("text", ""),
        collection=collection,
        documents=ticked,
        expects=expects,
        message=answer,
    )
