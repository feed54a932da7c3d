"""What a browser needs to install the site as an app, and to offer it where phones share a text or an address."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

MEDIA_TYPE = "application/manifest+json"
# The page's colour in the light theme; `theme.js` sets that of the window in each theme.
PAGE_COLOUR = "#fdfcf9"
ICONS = (  # file, side in pixels, purpose
    ("icons/192.png", 192, "any"),
    ("icons/512.png", 512, "any"),
    ("icons/maskable-512.png", 512, "maskable"),
)


@require_safe
@cache_control(max_age=3600)
def manifest(request: HttpRequest) -> JsonResponse:
    """The web app manifest, the same for everybody but for its language."""
    chat = reverse("chat")
    icons: list[dict[str, Any]] = [
        {"src": static(name), "sizes": f"{side}x{side}", "type": "image/png", "purpose": purpose}
        for name, side, purpose in ICONS
    ]
    return JsonResponse(
        {
            "id": chat,
            "name": "Ragsite",
            "short_name": "Ragsite",
            "description": _("Answers come from your documents and show where they found it."),
            "lang": get_language(),
            "start_url": chat,
            "scope": "/",
            "display": "standalone",
            "background_color": PAGE_COLOUR,
            "theme_color": PAGE_COLOUR,
            "icons": icons,
            "shortcuts": [{"name": _("New conversation"), "url": chat}],
            "share_target": {
                "action": chat,
                "method": "GET",
                "params": {"title": "title", "text": "text", "url": "url"},
            },
        },
        content_type=MEDIA_TYPE,
    )
