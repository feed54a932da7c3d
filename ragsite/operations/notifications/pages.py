"""The page behind the bell, and the choice of e-mails on the account's page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from ragsite.core.api.user import asking_user
from ragsite.core.errors import NotFoundError
from ragsite.operations.notifications.selectors import (
    notification_list,
    shown_notifications,
    unread_count,
)
from ragsite.operations.notifications.services import (
    email_wishes_set,
    notification_mark,
    notifications_mark_read,
)

A_PAGE = 30


@require_GET
@login_required
@never_cache
def notifications_page(request: HttpRequest) -> HttpResponse:
    """All of one's own, the latest first."""
    user = asking_user(request)
    page = Paginator(notification_list(user=user), A_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "notifications",
        "page": page,
        "notifications": shown_notifications(page, user=user),
        "has_unread": unread_count(user) > 0,
    }
    return render(request, "notifications/notifications.html", context)


@require_POST
@login_required
def notification_act(request: HttpRequest, notification_id: int) -> HttpResponse:
    """Open it: it is read, and its page follows. With `unread`: it is unread again."""
    user = asking_user(request)
    try:
        row = notification_mark(
            user=user, notification_id=notification_id, read="unread" not in request.POST
        )
    except NotFoundError:  # another tab or the retention was faster
        return redirect("notifications")
    shown = shown_notifications([row], user=user)[0]
    if "unread" in request.POST or not shown.address:
        return redirect("notifications")
    return redirect(shown.address)


@require_POST
@login_required
def all_read(request: HttpRequest) -> HttpResponse:
    notifications_mark_read(user=asking_user(request))
    return redirect("notifications")


@require_POST
@login_required
def email_wishes(request: HttpRequest) -> HttpResponse:
    """The ticked kinds come by e-mail from now on."""
    email_wishes_set(user=asking_user(request), kinds=request.POST.getlist("kinds"))
    messages.success(request, _("Saved."))
    return redirect(f"{reverse('account')}#notifications")
