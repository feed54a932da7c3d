"""The chat page. Everything on it is loaded and changed through the API and the WebSocket."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from chat.api.assistants import assistants_data
from chat.compat.self_corrective import NODE_OF_STEP, WORKFLOW
from chat.labels import script_efforts, script_labels
from chat.messages.sessions import SessionSerializer, session_title
from chat.models import Session
from chat.runs.budgets import has_budgets
from chat.selectors import session_get
from chat.services.attachments import MAX_FILES
from chat.services.default_assistant import default_assistant
from chat.services.sharing import share_open, shared_entries
from chat.services.suggestions import suggestions
from ragsite.core.api.rendering import rendered
from ragsite.core.api.user import asking_user
from ragsite.core.errors import NotFoundError
from ragsite.core.storage import MIB
from ragsite.runtime import live_settings
from retrieval.engine.workflows.registry import get_workflow
from retrieval.engine.workflows.self_corrective import limits
from retrieval.knowledge.choices import collections_offered
from retrieval.knowledge.ingest.sniff import EXTENSIONS
from retrieval.knowledge.selectors import sample_document_ids, sample_documents

STRICT_PASS_RATE = 0.8  # the same for the strict preset of the page
RELAXED_PASS_RATE = 0.4  # and for the relaxed one


@require_safe
@gzip_page  # Django pads what it compresses against BREACH
@login_required
@ensure_csrf_cookie
def chat_page(request: HttpRequest, session_id: uuid.UUID | None = None) -> HttpResponse:
    """An empty conversation, or one of the user's; somebody else's answers like none at all."""
    live_settings.refresh()
    session = _own_session(request, session_id) if session_id else None
    boot = {
        "session": rendered(SessionSerializer, session) if session else None,
        "assistant": _default_assistant(asking_user(request)),
        "username": request.user.get_username(),
        "limits": {
            "message_chars": settings.RAG.limits.message_chars,
            "file_bytes": settings.RAG.ingest.max_file_mib * MIB,
            "files": MAX_FILES,
        },
        "accept": list(EXTENSIONS),
        "self_corrective": reverse("self_corrective"),
        "temporary": settings.RAG.conversations.temporary_chat,
        "has_archive": Session.objects.filter(
            user=asking_user(request), archived_at__isnull=False
        ).exists(),
        "workflows": script_efforts(),
        "words": script_labels(),
        "sample_documents": sample_document_ids(asking_user(request)),
        "default_workflow": settings.RAG.answer.workflow,
        "web_search": {"by_default": settings.RAG.web_search.by_default}
        if settings.RAG.web_search.provider
        else None,
        "budgets": has_budgets(),
    }
    context = {
        "boot": boot,
        "title": session_title(session) if session else "",
        "suggestions": _suggestions(request),
        "samples": sample_documents(asking_user(request)),
        "section": "chat",
    }
    return render(request, "chat/chat.html", context)


@require_safe
@login_required
@ensure_csrf_cookie
def self_corrective_page(request: HttpRequest) -> HttpResponse:
    """Seed 000's page: settings, chat, the graph's nodes as they run, the decision path, each document's grade."""
    workflow_settings = settings.RAG.self_corrective
    boot = {
        "limits": {
            "message_chars": settings.RAG.limits.message_chars,
            "top_k": settings.RAG.search.max_top_k,
            "rewrites": limits.REWRITES_LIMIT,
        },
        "username": request.user.get_username(),
        "collections": [
            {
                "id": str(row.pk),
                "name": row.name,
                "address": row.address,
                "owner": row.owner.username if row.owner else None,
            }
            for row in collections_offered(user=request.user)
        ],
        "defaults": {
            "topK": limits.TOP_K,
            "similarityThreshold": limits.MIN_SIMILARITY,
            "maxRewriteAttempts": workflow_settings.max_rewrites,
            "gradePassThreshold": workflow_settings.pass_rate,
        },
        "force_generate": workflow_settings.force_generate,
        "presets": {
            "standard": workflow_settings.pass_rate,
            "strict": STRICT_PASS_RATE,
            "relaxed": RELAXED_PASS_RATE,
        },
        "graph": _graph_data(WORKFLOW),
        "node_of_step": NODE_OF_STEP,
        "words": script_labels(),
        "sample_documents": sample_document_ids(asking_user(request)),
    }
    context = {
        "boot": boot,
        "suggestions": _suggestions(request),
        "samples": 0,
        "section": "self_corrective",
        "temporary": settings.RAG.conversations.temporary_chat,
    }
    return render(request, "chat/self_corrective.html", context)


@require_safe
@login_required
def shared_page(request: HttpRequest, share_id: uuid.UUID) -> HttpResponse:
    """A conversation that somebody shares with the people of the site."""
    return _shared(request, share_id)


@require_safe
def shared_link_page(request: HttpRequest, share_id: uuid.UUID, signature: str) -> HttpResponse:
    """One that is shared with whoever has its secret link."""
    return _shared(request, share_id, signature=signature)


def _shared(
    request: HttpRequest, share_id: uuid.UUID, *, signature: str | None = None
) -> HttpResponse:
    reader = request.user
    try:
        share = share_open(share_id=share_id, reader=reader, signature=signature)
    except NotFoundError as error:
        raise Http404 from error
    entries = shared_entries(share=share, reader=reader)
    response = render(
        request, "chat/shared.html", {"share": share, "session": share.session, "entries": entries}
    )
    # Neither the address nor what it shows is to travel further.
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "private, no-store"
    return response


def _default_assistant(user: User) -> dict[str, Any] | None:
    assistant = default_assistant()
    return assistants_data(user, [assistant])[0] if assistant else None


def _own_session(request: HttpRequest, session_id: uuid.UUID) -> Session:
    """Raises Http404."""
    try:
        return session_get(user=asking_user(request), session_id=session_id)
    except NotFoundError as error:
        raise Http404 from error


def _suggestions(request: HttpRequest) -> list[dict[str, str]]:
    return suggestions(user=asking_user(request), language=get_language() or "")


def _graph_data(workflow: str) -> dict[str, Any]:
    """The compiled graph, so that picture and code cannot differ. Conditional edges are ways that it may go."""
    graph = get_workflow(workflow).graph.get_graph()
    return {
        "nodes": list(graph.nodes),
        "edges": [
            {"source": edge.source, "target": edge.target, "conditional": edge.conditional}
            for edge in graph.edges
        ],
    }
