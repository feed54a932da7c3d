"""Questions to people as pages, for whoever sent one or may answer one: the list, one question, what is done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Case, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from chat.models import Replay
from chat.review.desk_page import problem_sentences
from feedback.models import GapQuestion, GapRequest
from feedback.requests.addressees import is_curator
from feedback.requests.asking import request_withdraw
from feedback.requests.replying import (
    MAX_REASON_CHARS,
    MAX_REPLY_CHARS,
    MOST_PASSAGES,
    readable_chunks,
    request_answer,
    request_decline,
)
from feedback.requests.request_data import BOXES, request_get, request_list, requests_shown
from feedback.requests.settling import request_document_add
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.localized import localized, localized_text
from retrieval.knowledge.choices import collections_to_write
from retrieval.knowledge.selectors import as_uuid
from retrieval.models import Document

A_PAGE = 30


@require_GET
@login_required
@never_cache
def requests_page(request: HttpRequest) -> HttpResponse:
    """Those sent to the reader, or ?box=sent by the reader; what waits comes first."""
    user = asking_user(request)
    box = request.GET.get("box", "")
    if box not in BOXES:
        box = BOXES[0]
    waiting_first = Case(When(state=GapRequest.State.OPEN, then=0), default=1)
    rows = request_list(user=user, box=box).order_by(waiting_first, "-sent_at", "pk")
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "requests",
        "box": box,
        "page": page,
        "requests": localized(requests_shown(page, user=user)),
    }
    return render(request, "requests/requests.html", context)


@require_GET
@login_required
@never_cache
@ensure_csrf_cookie
def request_page(request: HttpRequest, request_id: UUID) -> HttpResponse:
    return _page(request, request_id)


def _page(
    request: HttpRequest,
    request_id: UUID,
    *,
    problem: str = "",
    text: str = "",
    passages: Sequence[UUID] = (),
) -> HttpResponse:
    """problem: why a reply was not taken; what was entered of it stays."""
    user = asking_user(request)
    try:
        row = request_get(user=user, request_id=request_id)
    except NotFoundError as error:
        raise Http404 from error
    (shown,) = localized(requests_shown([row], user=user))
    cited = readable_chunks(user).in_bulk(passages)
    context = {
        "section": "requests",
        "one": shown,
        "curates": is_curator(user),
        "problem": problem,
        "text": text,
        "passages": [cited[key] for key in passages if key in cited],
        "most_passages": MOST_PASSAGES,
        "most_chars": MAX_REPLY_CHARS,
        "most_reason": MAX_REASON_CHARS,
        "targets": collections_to_write(user=user, chosen=row.collection_id),
        "progress": _progress(row),
    }
    status = 400 if problem else 200
    return render(request, "requests/request.html", context, status=status)


def _progress(row: GapRequest) -> list[str]:
    """What became of the documents that were added for it, in sentences; none where none was."""
    added = list(row.gap.documents.select_related("document"))
    if row.state != GapRequest.State.OPEN or not added:
        return []
    lines = []
    failed = [one for one in added if one.document.status == Document.Status.FAILED]
    if failed:
        lines.append(
            ngettext(
                "{count} document that was added for it could not be read.",
                "{count} documents that were added for it could not be read.",
                len(failed),
            ).format(count=len(failed))
        )
    done = (Document.Status.READY, Document.Status.FAILED)
    if any(one.document.status not in done for one in added):
        lines.append(_("A document is being read. Then the question is asked again automatically."))
        return lines
    for one in added:
        if one.problem:
            reason = localized_text(one.problem["text"], one.problem["wording"])
            said = _("The question could not be asked again automatically: {reason}")
            lines.append(said.format(reason=reason))
    return lines + _asked_again(row)


def _asked_again(row: GapRequest) -> list[str]:
    asked = GapQuestion.objects.filter(message=row.message_id).select_related("replay").first()
    if asked is None or asked.replay is None:
        return []
    if asked.replay.status == Replay.Status.FAILED:
        return [_("The question could not be asked again. The review desk shows why.")]
    if asked.answered is None:
        return [_("The question is being asked again.")]
    return [_("The question was asked again, and the documents still do not answer it.")]


# ------------------------------------------------------------------------------------------------ what is done
def _acting(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """What `view` returns, or what is wrong, is said on the question's page."""

    @require_POST
    @login_required
    def act(request: HttpRequest, request_id: UUID) -> HttpResponse:
        try:
            messages.success(request, view(request, request_id))
        except NotFoundError as error:
            raise Http404 from error
        except AppError as error:
            messages.error(request, " ".join(problem_sentences(error)))
        return redirect("request", request_id=request_id)

    return act


@require_POST
@login_required
def request_reply(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """What was entered stays where it is not taken."""
    text = request.POST.get("text", "")
    passages = [key for key in map(as_uuid, request.POST.getlist("passage")) if key]
    try:
        replied = request_answer(
            user=asking_user(request), request_id=request_id, text=text, passages=passages
        )
    except NotFoundError as error:
        raise Http404 from error
    except AppError as error:
        problem = " ".join(problem_sentences(error))
        return _page(request, request_id, problem=problem, text=text, passages=passages)
    messages.success(request, localized(replied.said))
    return redirect("request", request_id=request_id)


@_acting
def request_refuse(request: HttpRequest, request_id: UUID) -> str:
    reason = request.POST.get("reason", "")
    request_decline(user=asking_user(request), request_id=request_id, reason=reason)
    return _("Declined. Whoever asked is notified of your reason.")


@_acting
def request_document(request: HttpRequest, request_id: UUID) -> str:
    upload: Any = request.FILES.get("file")
    document = request_document_add(
        user=asking_user(request),
        request_id=request_id,
        collection_id=as_uuid(request.POST.get("collection", "")),
        upload=upload,
    )
    if document.status == Document.Status.READY:
        return _("The question is being asked again.")
    return _("A document is being read. Then the question is asked again automatically.")


@_acting
def request_take_back(request: HttpRequest, request_id: UUID) -> str:
    request_withdraw(user=asking_user(request), request_id=request_id)
    return _("Withdrawn. Nobody else can read it any more.")
