"""Knowledge gaps as pages of the review desk: the list, one gap, and what curators do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.review.pages import desk_page
from chat.review.queue import collections_offered
from chat.review.replay.replay_run import OPEN
from chat.review.roles import DeskAccess, people_at_the_desk
from feedback.curation import gap_list
from feedback.curation.gap_list import (
    NOBODY,
    SORTS,
    TODO,
    GapFilters,
    collection_named_for,
    gap_counts,
    gap_documents,
    gap_get,
    gaps_like,
    gaps_page,
    gaps_shown,
    questions_page,
    wordings_page,
)
from feedback.curation.gap_todos import (
    ASKED_AGAIN,
    gap_ask_again,
    gap_document_add,
    gap_mark,
    gap_merge,
    gap_results_take,
    gap_split,
    gaps_refresh_if_due,
)
from feedback.desk.problems import problem_sentence
from feedback.models import GapEvent, KnowledgeGap
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.text import clean_file_name
from ragsite.core.wording import worded
from retrieval.models import SITE, Collection, Document
from retrieval.selectors import as_uuid, document_list, visible_documents, writable_collections
from retrieval.services.documents import document_create

GAPS_A_PAGE = 50
WORDINGS_A_PAGE = 50
EVENTS_SHOWN = 100
CHOICES = 200
MAX_DIGITS = 19
LIKE = 100  # gaps offered to be merged with
FOUND_DOCUMENTS = 20
State = KnowledgeGap.State
GIVEN = ("state", "assignee", "collection", "search", "sort")  # parameters of the list


# ------------------------------------------------------------------------------------------------ the list
@desk_page(query=(*GIVEN, "after"))
def gaps_list(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """Filters that are wrong show no rows and say why."""
    gaps_refresh_if_due()
    given = {name: request.GET.get(name, "") for name in GIVEN}
    filters, problem = _filters(given), ""
    page = gap_list.Page(rows=[])
    try:
        shown = gaps_shown(access, filters)
        page = gaps_page(shown, sort=filters.sort, size=GAPS_A_PAGE, after=request.GET.get("after", ""))
    except InvalidInputError as error:
        problem = problem_sentence(error)
    collections = collection_named_for(access, page.rows)
    counts = gap_counts()
    states = [(TODO, _("To do"), counts.get(State.OPEN, 0) + counts.get(State.IN_WORK, 0))]
    states += [(value, str(name), counts.get(value, 0)) for value, name in State.choices]
    states.append(("all", _("All"), sum(counts.values())))
    context = {
        "section": "review",
        "desk_part": "gaps",
        "access": access,
        "rows": [_row(gap, collections) for gap in page.rows],
        "states": [
            {"value": value, "name": name, "count": count, "current": (filters.state or "all") == value,
             "address": _address(given | {"state": value})}
            for value, name, count in states
        ],
        "given": {**given, "state": filters.state},
        "problem": problem,
        "people": _people(),
        "nobody": NOBODY,
        "collections": [
            (str(row.pk), row.address) for row in collections_offered(access).filter(knowledge_gaps__isnull=False)
            .distinct()[:CHOICES]
        ],
        "next": _address(given | {"after": page.after}) if page.after else "",
        "is_later": bool(request.GET.get("after")),
        "reopened": gap_list.gaps_reopened(),
        "today": timezone.localdate(),
    }  # fmt: skip
    return render(request, "review/gaps.html", context, status=400 if problem else 200)


def _filters(given: Mapping[str, str]) -> GapFilters:
    state = given["state"] if given["state"] in (*State.values, "all") else TODO
    sort: gap_list.Sort = "newest" if given["sort"] == "newest" else "largest"
    assert sort in SORTS
    return GapFilters(
        state="" if state == "all" else state, assignee=given["assignee"], collection=given["collection"],
        search=given["search"], sort=sort,
    )  # fmt: skip


def _address(given: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in given.items() if value})
    return f"{reverse('review_gaps')}?{query}" if query else reverse("review_gaps")


def _row(gap: Any, collections: Mapping[int, str]) -> dict[str, Any]:
    return {
        "gap": gap,
        "called": gap.called,
        "collection": collections.get(gap.pk, ""),
        "trend": gap.recent - gap.earlier,
        "overdue": bool(gap.due and gap.due < timezone.localdate() and gap.state in gap_list.TODO_STATES),
    }


def _people() -> list[str]:
    return list(people_at_the_desk().values_list("username", flat=True)[:CHOICES])


# ------------------------------------------------------------------------------------------------ one gap
@desk_page(query=("wording", "after", "document"))
def gap_page(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
    """?wording= shows each time that one wording was asked. ?document= looks for documents that are there."""
    gap_results_take()
    gap: Any = gap_get(gap_id)
    key, after = request.GET.get("wording", ""), request.GET.get("after", "")
    if key:
        page = questions_page(gap, key=key[:32], size=WORDINGS_A_PAGE, after=after)
    else:
        page = wordings_page(gap, size=WORDINGS_A_PAGE, after=after)
    asking, total, batch = _asking(gap)
    documents = _documents(gap, access)
    reading = any(row["reading"] for row in documents)
    query = request.GET.get("document", "")
    collections = collection_named_for(access, [gap])
    context = {
        "section": "review",
        "desk_part": "gaps",
        "access": access,
        "curates": access.may("curate"),
        "row": _row(gap, collections),
        "gap": gap,
        "states": State.choices,
        "wording": key,
        "page": page,
        "next": f"?{urlencode({name: value for name, value in (('wording', key), ('after', page.after)) if value})}"
        if page.after
        else "",
        "asking": asking,
        "asking_total": total,
        "batch": batch,
        "documents": documents,
        "targets": _targets(gap, access) if access.may("curate") else [],
        "people": _people(),
        "merged": list(gap.merged.order_by("pk")[:CHOICES]),
        "like": gaps_like(gap, most=LIKE) if access.may("curate") and not gap.merged_into_id else [],
        "events": [_event(event) for event in gap.events.order_by("-at", "-id")[:EVENTS_SHOWN]],
        "document_query": query,
        "found": list(document_list(user=access.user, search=query[:200], versions="current")[:FOUND_DOCUMENTS])
        if query.strip() and access.may("curate")
        else [],
        "most_asked": ASKED_AGAIN,
        "not_asked": gap.wordings - gap.asked_again,
        "unanswered": gap.asked_again - gap.answered,
        "boot": {"gap": reverse("api-review-gap", args=[gap.pk]), "waits": asking or reading},
    }
    return render(request, "review/gap.html", context)


def _asking(gap: KnowledgeGap) -> tuple[bool, int, Any]:
    """Whether its questions are being asked again, of how many, and the newest batch."""
    run = gap.runs.order_by("-at", "-id").select_related("batch").first()
    if run is None:
        return False, 0, None
    replays = run.batch.replays
    return replays.filter(status__in=OPEN).exists(), replays.count(), run.batch


def _documents(gap: KnowledgeGap, access: DeskAccess) -> list[dict[str, Any]]:
    """What was added, also for gaps that were merged into it; titles only of those that this person may read."""
    added = list(gap_documents(gap).select_related("added_by"))
    readable = visible_documents(access.user).in_bulk([row.document_id for row in added])
    status = dict(Document.objects.filter(pk__in=[row.document_id for row in added]).values_list("pk", "status"))
    done = (Document.Status.READY, Document.Status.FAILED)
    return [
        {
            "document": readable.get(row.document_id),
            "by": row.added_by.get_username() if row.added_by else "–",
            "at": row.added_at,
            "status": status.get(row.document_id, ""),
            "reading": status.get(row.document_id) not in done,
            "failed": status.get(row.document_id) == Document.Status.FAILED,
            "merged": row.gap_id if row.gap_id != gap.pk else None,
        }
        for row in added
    ]


def _targets(gap: KnowledgeGap, access: DeskAccess) -> list[tuple[str, str]]:
    """Where this person may add a document: where the questions were asked first, then those that most may read."""
    public = Case(When(visibility=Collection.Visibility.PUBLIC, then=Value(0)), default=Value(1))
    own = Case(When(pk=gap.collection_id, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = writable_collections(access.user).filter(conversation_id=None).select_related("owner")
    return [
        (str(row.pk), row.address.removeprefix(SITE))
        for row in rows.distinct().order_by(own, public, "name", "pk")[:CHOICES]
    ]


def _event(event: GapEvent) -> dict[str, Any]:
    before, after = event.detail.get("from", ""), event.detail.get("to", "")
    if event.kind == GapEvent.Kind.STATE:
        names = dict(State.choices)
        before, after = str(names.get(before, before)), str(names.get(after, after))
    told = f"{before or '–'} → {after or '–'}"
    if event.kind == GapEvent.Kind.NOTE:
        told = after or "–"
    elif event.kind == GapEvent.Kind.REOPENED:
        told = str(dict(KnowledgeGap.Reopened.choices).get(event.detail.get("why", ""), ""))
    elif event.kind in (GapEvent.Kind.MERGED, GapEvent.Kind.SPLIT):
        told = f"{before} → {after}"
    elif event.kind in (GapEvent.Kind.FOUND, GapEvent.Kind.DOCUMENT, GapEvent.Kind.ASKED):
        told = ""
    return {"event": event, "told": told}


# ------------------------------------------------------------------------------------------------ what is done
def _acting(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A POST of a curator; what `view` returns, or what is wrong, is told on the gap's page."""

    @desk_page("curate", methods=("POST",))
    def act(request: HttpRequest, *, access: DeskAccess, gap_id: int) -> HttpResponse:
        gap = gap_get(gap_id)
        try:
            messages.success(request, view(request, access=access, gap=gap))
        except AppError as error:
            messages.error(request, problem_sentence(error))
        return redirect("review_gap", gap_id=gap.pk)

    return act


@_acting
def gap_change(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    given = (name for name in ("state", "assignee", "note") if name in request.POST)
    changes: dict[str, Any] = {name: request.POST[name] for name in given}
    if "due" in request.POST:
        changes["due"] = _day(request.POST["due"])
    gap_mark(access=access, gap=gap, changes=changes)
    return _("Saved.")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise InvalidInputError(fields={"due": [worded("Write the day as 2026-01-31.")]}) from error


@_acting
def gap_document(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    """A file, or `existing`: the id of a document that this person may read."""
    document = _existing(request, access) if request.POST.get("existing") else _uploaded(request, access)
    gap_document_add(access=access, gap=gap, document=document, close="close" in request.POST)
    if document.status == Document.Status.READY:
        return _("Its questions are being asked again.")
    return _("The document is being read; then its questions are asked again by themselves.")


def _existing(request: HttpRequest, access: DeskAccess) -> Document:
    wanted = as_uuid(request.POST["existing"])
    document = visible_documents(access.user).filter(pk=wanted).first() if wanted else None
    if document is None:
        raise InvalidInputError(fields={"existing": [worded("There is no such document; choose another one.")]})
    return document


def _uploaded(request: HttpRequest, access: DeskAccess) -> Document:
    file, wanted = request.FILES.get("file"), as_uuid(request.POST.get("collection", ""))
    if file is None:
        raise InvalidInputError(fields={"file": [worded("Choose a file.")]})
    collection = writable_collections(access.user).filter(pk=wanted).first() if wanted else None
    if collection is None:
        raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
    name = clean_file_name(file.name or "")
    return document_create(collection=collection, upload=file, file_name=name, uploaded_by=access.user).document


@_acting
def gap_again(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    run = gap_ask_again(access=access, gap=gap)
    count = run.batch.replays.count()
    return ngettext("{count} question is asked again.", "{count} questions are asked again.", count).format(count=count)


@_acting
def gap_join(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    """`into`: the number of the gap that it is one with."""
    wanted = request.POST.get("into", "")
    try:
        other = gap_get(int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < MAX_DIGITS else 0)
    except NotFoundError as error:
        raise InvalidInputError(fields={"into": [worded("There is no such gap; choose another one.")]}) from error
    gap_merge(access=access, gap=gap, into=other)
    return _("Merged. Its questions stand there now.")


@_acting
def gap_apart(request: HttpRequest, *, access: DeskAccess, gap: KnowledgeGap) -> str:
    gap_split(access=access, gap=gap)
    return _("They are two gaps again.")
