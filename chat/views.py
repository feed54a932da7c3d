"""The chat page. Everything on it is loaded and changed through the API and the WebSocket."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import get_language
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from chat.models import Session
from retrieval.services.samples import suggested_questions
from retrieval.workflows import available_workflows

SUGGESTIONS = 6


@require_safe
@login_required
@ensure_csrf_cookie
def chat_page(request: HttpRequest, session_id: uuid.UUID | None = None) -> HttpResponse:
    """An empty conversation, or one of the user's; somebody else's answers like none at all."""
    session = get_object_or_404(Session, pk=session_id, user=request.user) if session_id else None
    boot = {
        "session": {"id": str(session.pk), "title": session.title} if session else None,
        "limits": {"message_chars": settings.RAG.limits.message_chars},
        "suggestions": [
            {"text": suggestion.question, "language": suggestion.language}
            for suggestion in suggested_questions(request.user, language=get_language() or "", limit=SUGGESTIONS)
        ],
        "workflows": list(available_workflows()),
        "web_search": {"by_default": settings.RAG.web_search.by_default} if settings.RAG.web_search.provider else None,
    }
    return render(request, "chat/chat.html", {"boot": boot, "session": session, "section": "chat"})
