"""Knowledge gaps as pages of the review desk: the list, one gap, and what curators do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.review.pages import desk_page
from chat.review.queue import collections_known
from chat.review.roles import DeskAccess, people_at_the_desk
from feedback.curation.gaps import (
    gap_ask_again,
    gap_document_add,
    gap_is_asking,
    gap_list,
    gap_mark,
    gap_results_take,
    gaps_refresh_if_due,
)
from feedback.desk.acting import row_named, tell
from feedback.models import KnowledgeGap
from ragsite.core.errors import InvalidInputError
from ragsite.core.text import clean_file_name
from ragsite.core.wording import worded
from retrieval.models import Document
from retrieval.selectors import as_uuid, document_list, visible_documents, writable_collections
from retrieval.services.documents import document_create

A_PAGE = 50
CHOICES = 200
FOUND_DOCUMENTS = 20
FILTERS = ("state", "assignee", "search")


@desk_page(query=(*FILTERS, "page"))
def gaps_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Open ones, or ?state=closed."""
    gaps_refresh_if_due()
    chosen = {name: request.GET.get(name, "") for name in FILTERS}
    if chosen["state"] not in KnowledgeGap.State.values:
        chosen["state"] = KnowledgeGap.State.OPEN
    page = Paginator(gap_list(**chosen), A_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "review",
        "access": access,
        "page": page,
        "known": set(collections_known(access.user).values_list("pk", flat=True)),
        "states": KnowledgeGap.State.choices,
        "chosen": chosen,
        "query": urlencode(chosen),
        "people": _people(),
    }
    return render(request, "review/gaps.html", context)


@desk_page(query=("page", "document"))
def gap_page(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
    """?document= looks for documents that are there already."""
    gap_results_take()
    gap: Any = row_named(gap_list(), gap_id)
    questions = gap.questions.select_related("message__reply_to").order_by("answered", "-message__created_at")
    query = request.GET.get("document", "")
    curates = access.may("curate")
    documents = _documents(gap, access)
    context = {
        "section": "review",
        "access": access,
        "curates": curates,
        "gap": gap,
        "states": KnowledgeGap.State.choices,
        "page": Paginator(questions, A_PAGE).get_page(request.GET.get("page")),
        "waits": gap_is_asking(gap) or any(row["reading"] for row in documents),
        "documents": documents,
        "targets": writable_collections(access.user).filter(conversation_id=None).distinct()[:CHOICES],
        "people": _people(),
        "document_query": query,
        "found": list(document_list(user=access.user, search=query[:200], versions="current")[:FOUND_DOCUMENTS])
        if query.strip() and curates
        else [],
    }
    return render(request, "review/gap.html", context)


def _people() -> list[str]:
    return list(people_at_the_desk().values_list("username", flat=True)[:CHOICES])


def _documents(gap: KnowledgeGap, access: DeskAccess) -> list[dict[str, Any]]:
    """Titles only of those that this person may read."""
    added = list(gap.documents.select_related("added_by", "document"))
    readable = visible_documents(access.user).in_bulk([row.document_id for row in added])
    done = (Document.Status.READY, Document.Status.FAILED)
    return [
        {
            "document": row.document if row.document_id in readable else None,
            "by": row.added_by.get_username() if row.added_by else "–",
            "reading": row.document.status not in done,
            "failed": row.document.status == Document.Status.FAILED,
        }
        for row in added
    ]


# ------------------------------------------------------------------------------------------------ what is done
def _acting(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A POST of a curator; what `view` returns, or what is wrong, is told on the gap's page."""

    @desk_page("curate", methods=("POST",))
    def act(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
        gap = row_named(gap_list(), gap_id)
        tell(request, lambda: view(request, access=access, gap=gap))
        return redirect("review_gap", gap_id=gap.pk)

    return act


@_acting
def gap_change(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    names = (name for name in ("state", "assignee", "note") if name in request.POST)
    gap_mark(access=access, gap=gap, changes={name: request.POST[name] for name in names})
    return _("Saved.")


@_acting
def gap_document(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    """A file, or `existing`: the id of a document that this person may read."""
    document = _existing(request, access) if request.POST.get("existing") else _uploaded(request, access)
    gap_document_add(access=access, gap=gap, document=document, close="close" in request.POST)
    if document.status == Document.Status.READY:
        return _("Its questions are being asked again.")
    return _("The document is being read; then its questions are asked again by themselves.")


def _existing(request: HttpRequest, access: DeskAccess) -> Document:
    key = as_uuid(request.POST["existing"])
    document = visible_documents(access.user).filter(pk=key).first() if key else None
    if document is None:
        raise InvalidInputError(fields={"existing": [worded("There is no such document; choose another one.")]})
    return document


def _uploaded(request: HttpRequest, access: DeskAccess) -> Document:
    file, key = request.FILES.get("file"), as_uuid(request.POST.get("collection", ""))
    if file is None:
        raise InvalidInputError(fields={"file": [worded("Choose a file.")]})
    collection = writable_collections(access.user).filter(pk=key).first() if key else None
    if collection is None:
        raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
    name = clean_file_name(file.name or "")
    return document_create(collection=collection, upload=file, file_name=name, uploaded_by=access.user).document


@_acting
def gap_again(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    count = gap_ask_again(access=access, gap=gap)
    return ngettext("{count} question is asked again.", "{count} questions are asked again.", count).format(count=count)
