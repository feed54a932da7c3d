"""What a browser needs to install the site as an app, and to offer it where phones share a text or an address."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

MEDIA_TYPE = "application/manifest+json"
# The page's colour in the light theme; `theme.js` sets that of the window in each theme.
PAGE_COLOUR = "#fdfcf9"
ICONS = (  # file, side in pixels, purpose
    ("icons/192.png", 192, "any"),
    ("icons/512.png", 512, "any"),
    ("icons/maskable-512.png", 512, "maskable"),
)
SHARED = ("title", "text", "url")  # as phones send it


@require_safe
@cache_control(public=True, max_age=3600)
def manifest(request: HttpRequest, language: str) -> JsonResponse:
    """The web app manifest, the same for everybody but for its language, which the address names: browsers ask for it
    without cookies, and caches may keep it."""
    if language not in dict(settings.LANGUAGES):
        language = settings.LANGUAGE_CODE
    with override(language):
        return JsonResponse(_manifest(language), content_type=MEDIA_TYPE)


def _manifest(language: str) -> dict[str, Any]:
    chat = reverse("chat")
    icons: list[dict[str, Any]] = [
        {"src": static(name), "sizes": f"{side}x{side}", "type": "image/png", "purpose": purpose}
        for name, side, purpose in ICONS
    ]
    return {
        "id": chat,
        "name": "Ragsite",
        "short_name": "Ragsite",
        "description": _("Answers come from your documents and show where they found it."),
        "lang": language,
        "start_url": chat,
        "scope": "/",
        "display": "standalone",
        "background_color": PAGE_COLOUR,
        "theme_color": PAGE_COLOUR,
        "icons": icons,
        "shortcuts": [{"name": _("New conversation"), "url": chat}],
        "share_target": {
            "action": reverse("share"),
            "method": "POST",
            "enctype": "application/x-www-form-urlencoded",
            "params": {name: name for name in SHARED},
        },
    }


@require_http_methods(["GET", "HEAD", "POST"])
@csrf_exempt  # a phone has no token; nothing is stored, sent or known here
@never_cache
def share(request: HttpRequest) -> HttpResponse:
    """Takes what a phone shares from the body, so that it stands in no address and no log. The page's script keeps it in
    the browser's tab, also while somebody signs in, until the chat page puts it into the composer."""
    parts = [request.POST.get(name, "").strip() for name in SHARED]
    shared = "\n".join(filter(None, parts))
    if not shared:
        return redirect("chat")
    return render(request, "share.html", {"shared": shared})
