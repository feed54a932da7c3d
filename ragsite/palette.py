"""What the palette (Ctrl K) leads to: the pages that a person may open. `js/palette.js` adds what can be done on a
page."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chat.review.roles import desk_access, has_desk
from chat.templatetags.review import PLACES
from ragsite.core.api.user import asking_user
from ragsite.runtime import live_settings

Page = dict[str, str]  # label, url, icon; group: where it is, empty for what everybody has


@require_safe
@never_cache
def palette(request: HttpRequest) -> JsonResponse:
    """`{"pages", "temporary"}` in the reader's language; temporary: whether a temporary conversation may be chosen. 401
    without a session, for which scripts have a text."""
    if not request.user.is_authenticated:
        return JsonResponse({}, status=401)
    live_settings.refresh()
    user = asking_user(request)
    pages = [*_common_pages(), *_desk_pages(user), *_administration_pages(user)]
    is_allowed = settings.RAG.conversations.temporary_chat == "allowed"
    return JsonResponse({"pages": pages, "temporary": is_allowed})


def _page(label: object, name: str, icon: str, group: str = "") -> Page:
    return {"label": str(label), "url": reverse(name), "icon": icon, "group": group}


def _common_pages() -> Iterator[Page]:
    yield _page(_("Chat"), "chat", "chat")
    yield _page(_("Documents"), "documents", "documents")
    yield _page(_("Count and list"), "count", "layers")
    yield _page(_("Search documents"), "search", "search")
    yield _page(_("Synced sources"), "sources", "globe")
    yield _page(_("Assistants"), "assistants", "question")
    yield _page(_("Questions to people"), "requests", "people")
    yield _page(_("Memory"), "memory", "memory")
    yield _page(_("Notifications"), "notifications", "bell")
    yield _page(_("Account"), "account", "key")
    yield _page(_("Self-corrective answers"), "self_corrective", "flow")


def _desk_pages(user: User) -> Iterator[Page]:
    if not has_desk(user):
        return
    access = desk_access(user)
    for place in PLACES:
        if access.may(place.right):
            yield _page(place.name, place.pages[0], "check", _("Review desk"))


def _administration_pages(user: User) -> Iterator[Page]:
    group = _("Administration")
    if user.is_staff and user.has_perm("chat.administer_desk"):
        yield _page(_("Overview"), "administration", "settings", group)
        yield _page(pgettext("page", "People"), "administration_people", "people", group)
        yield _page(_("Health"), "administration_health", "settings", group)
        yield _page(_("Log"), "administration_log", "settings", group)
        yield _page(_("Budgets"), "administration_budgets", "settings", group)
    if user.is_superuser:
        yield _page(_("Models"), "models", "layers", group)
    if user.is_staff and user.has_perm("constance.change_config"):
        yield _page(_("Settings"), "admin:constance_config_changelist", "settings", group)
    if user.is_staff:
        yield _page(_("All tables"), "admin:index", "settings", group)
