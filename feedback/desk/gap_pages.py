"""Knowledge gaps as pages of the review desk: the list, one gap, and what curators do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.review.desk_page import desk_page
from chat.review.queue import collections_known
from chat.review.queue_filters import people_offered
from chat.review.replay.replay_run import OPEN
from chat.review.roles import DeskAccess, people_at_the_desk
from feedback.curation.gap_selectors import gap_list, gap_ranking
from feedback.curation.gaps import (
    gap_ask_again,
    gap_document_add,
    gap_mark,
    gap_results_take,
    gaps_refresh,
)
from feedback.desk.acting import A_PAGE, form_problem, tell
from feedback.models import KnowledgeGap
from feedback.requests.at_the_desk import gap_requests, gap_requests_left
from feedback.requests.dismissing import reply_dismiss, reply_restore
from ragsite.core.errors import InvalidInputError
from ragsite.core.localized import localized_text
from ragsite.core.messages import worded
from ragsite.core.text import clean_file_name
from retrieval.knowledge.choices import collections_to_write
from retrieval.knowledge.selectors import (
    as_uuid,
    visible_documents,
    writable_collections,
)
from retrieval.knowledge.services.documents import document_create
from retrieval.models import Document

FILTERS = ("state", "assignee")


@desk_page(query=(*FILTERS, "page"))
def gaps_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Open ones, or ?state=closed."""
    gaps_refresh()
    chosen = {name: request.GET.get(name, "") for name in FILTERS}
    if chosen["state"] not in KnowledgeGap.State.values:
        chosen["state"] = KnowledgeGap.State.OPEN
    page = Paginator(gap_ranking(**chosen), A_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "review",
        "access": access,
        "page": page,
        "gaps": gap_list().filter(pk__in=[gap.pk for gap in page]),
        "known": set(collections_known(access.user).values_list("pk", flat=True)),
        "states": KnowledgeGap.State.choices,
        "chosen": chosen,
        "query": urlencode(chosen),
        "people": people_offered(),
    }
    return render(request, "review/gaps.html", context)


@desk_page(query=("page",))
def gap_page(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
    gap_results_take()
    gap: Any = get_object_or_404(gap_list(), pk=gap_id)
    questions = gap.questions.select_related("message__reply_to", "replay").order_by(
        "answered", "-message__created_at"
    )
    documents = _documents(gap, access)
    context = {
        "section": "review",
        "access": access,
        "curates": access.may("curate"),
        "gap": gap,
        "states": KnowledgeGap.State.choices,
        "page": Paginator(questions, A_PAGE).get_page(request.GET.get("page")),
        "waits": gap.questions.filter(replay__status__in=OPEN).exists()
        or any(row["reading"] for row in documents),
        "documents": documents,
        "requests": gap_requests(gap, access),
        "requests_left": gap_requests_left(gap),
        "targets": collections_to_write(user=access.user, chosen=gap.collection_id),
        "people": people_offered(chosen=gap.assignee),
    }
    return render(request, "review/gap.html", context)


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
            "problem": localized_text(row.problem["text"], row.problem["wording"])
            if row.problem
            else "",
        }
        for row in added
    ]


# ------------------------------------------------------------------------------------------------ what is done
def _acting(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A POST of a curator; shows what `view` returns, or what is wrong, on the gap's page."""

    @desk_page("curate", methods=("POST",))
    def act(
        request: HttpRequest, *, access: DeskAccess, gap_id: int, **kwargs: Any
    ) -> HttpResponse:
        gap = get_object_or_404(gap_list(), pk=gap_id)
        tell(request, lambda: view(request, access=access, gap=gap, **kwargs))
        return redirect("review_gap", gap_id=gap.pk)

    return act


class GapForm(forms.Form):
    """What is left out stays as it is, and who has the gap may keep it after leaving the desk."""

    state = forms.ChoiceField(choices=KnowledgeGap.State.choices, required=False)
    assignee = forms.ModelChoiceField(
        people_at_the_desk(), to_field_name="username", required=False
    )
    note = forms.CharField(max_length=4000, required=False)

    def __init__(self, data: Any, *, gap: KnowledgeGap) -> None:
        super().__init__(data)
        at_the_desk = Q(pk__in=people_at_the_desk().values("pk"))
        people = User.objects.filter(at_the_desk | Q(pk=gap.assignee_id))
        self.fields["assignee"].queryset = people  # type: ignore[attr-defined]


@_acting
def gap_change(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    form = GapForm(request.POST, gap=gap)
    if not form.is_valid():
        raise InvalidInputError(form_problem(form))
    gap_mark(
        access=access,
        gap=gap,
        **{name: value for name, value in form.cleaned_data.items() if name in request.POST},
    )
    return _("Saved.")


@_acting
def gap_document(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    """A file, or `existing`: the id of a document that this person may read."""
    document = _uploaded(request, access)
    gap_document_add(access=access, gap=gap, document=document, close="close" in request.POST)
    if document.status == Document.Status.READY:
        return _("The questions are being asked again.")
    return _("The document is being read. Then the questions are asked again automatically.")


def _uploaded(request: HttpRequest, access: DeskAccess) -> Document:
    file = request.FILES.get("file")
    key = as_uuid(request.POST.get("collection", ""))
    if file is None:
        raise InvalidInputError(fields={"file": [worded("Choose a file.")]})
    collection = writable_collections(access.user).filter(pk=key).first() if key else None
    if collection is None:
        raise InvalidInputError(
            fields={"collection": [worded("There is no such collection; choose another one.")]}
        )
    name = clean_file_name(file.name or "")
    return document_create(
        collection=collection, upload=file, file_name=name, uploaded_by=access.user
    ).document


@_acting
def gap_again(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    count = gap_ask_again(access=access, gap=gap)
    return ngettext(
        "{count} question is asked again.", "{count} questions are asked again.", count
    ).format(count=count)


@_acting
def gap_reply_dismiss(
    request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap, request_id: UUID
) -> str:
    reply_dismiss(access=access, gap=gap, request_id=request_id)
    return _("Dismissed. The reply is given to nobody else.")


@_acting
def gap_reply_restore(
    request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap, request_id: UUID
) -> str:
    reply_restore(access=access, gap=gap, request_id=request_id)
    return _("The reply waits to be checked again.")
