"""The page on which superusers connect a model server. What is on it is loaded and changed through the API."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from ragsite.core.api.user import asking_user
from ragsite.operations.model_server.api import model_server_data
from ragsite.runtime import live_settings


@require_safe
@login_required
@ensure_csrf_cookie
def models_page(request: HttpRequest) -> HttpResponse:
    user = asking_user(request)
    if not user.is_superuser:
        if user.is_staff:
            raise PermissionDenied
        raise Http404
    live_settings.refresh()
    boot = {"settings": model_server_data()}
    return render(request, "models/models.html", {"boot": boot, "section": "models"})
