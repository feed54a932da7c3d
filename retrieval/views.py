"""The pages of documents and of what is remembered. What is on them is loaded and changed through the API."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from ragsite.core.api.user import asking_user
from ragsite.core.errors import NotFoundError
from retrieval.ingest.sniff import EXTENSIONS
from retrieval.memory import services
from retrieval.selectors import document_get, shares_unanswered, visible_documents
from retrieval.services import documents
from retrieval.services.collections import may_publish, share_answer


@require_safe
@login_required
@ensure_csrf_cookie
def documents_page(request: HttpRequest) -> HttpResponse:
    """The user's collections and documents, and the way in for new ones."""
    boot = {
        "username": request.user.get_username(),
        "groups": list(request.user.groups.order_by("name").values_list("name", flat=True)),
        "may_publish": may_publish(request.user),
        "default_collection": documents.DEFAULT_COLLECTION,
        "accept": list(EXTENSIONS),
        "limits": {
            "file_bytes": settings.RAG.ingest.max_file_mib * 1024 * 1024,
            "files": settings.RAG.ingest.max_files_per_upload,
        },
    }
    context = {"boot": boot, "section": "documents", "shares": shares_unanswered(asking_user(request))}
    return render(request, "documents/documents.html", context)


@require_POST
@login_required
def share_reply(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Whether the user's questions search what somebody shares with them."""
    accepted = request.POST.get("accepted") == "1"
    try:
        collection = share_answer(user=asking_user(request), collection_id=collection_id, accepted=accepted)
    except NotFoundError as error:
        raise Http404 from error
    return redirect(f"{reverse('documents')}?{urlencode({'collection': collection.address}) if accepted else ''}")


@require_safe
@login_required
@ensure_csrf_cookie
def document_page(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """One document with its chunks; somebody else's answers like none at all."""
    try:
        document = document_get(user=request.user, document_id=document_id)
    except NotFoundError as error:
        raise Http404 from error
    boot = {"id": str(document.pk), "collection": document.collection.address}
    earlier = visible_documents(request.user).filter(newer_versions=document).first()
    context = {"document": document, "earlier": earlier, "boot": boot, "section": "documents"}
    return render(request, "documents/document.html", context)


@require_safe
@login_required
@ensure_csrf_cookie
def search_page(request: HttpRequest) -> HttpResponse:
    """A search by itself, with the scores of every leg."""
    limits = settings.RAG
    boot = {
        "username": request.user.get_username(),
        "message_chars": limits.limits.message_chars,
        "max_top_k": limits.search.max_top_k,
    }
    return render(request, "documents/search.html", {"boot": boot, "section": "documents"})


@require_safe
@login_required
@ensure_csrf_cookie
def memory_page(request: HttpRequest) -> HttpResponse:
    """What earlier answers have left for this user, and the switch."""
    boot = {"max_per_user": services.MAX_PER_USER}
    return render(request, "memory/memory.html", {"boot": boot, "section": "memory"})
