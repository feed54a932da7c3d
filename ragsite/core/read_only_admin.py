"""Admin pages for what has happened: to be looked at, not edited."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.options import BaseModelAdmin
from django.db.models import Model
from django.http import HttpRequest

from ragsite.core.text import clean_line, shortened

EXCERPT_CHARS = 90


class ReadOnlyAdmin(BaseModelAdmin):
    """Mixin: no adding, no changing. Deleting follows the usual permissions."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class PartOfHistoryAdmin(ReadOnlyAdmin):
    """Mixin: goes with the thing it belongs to, never alone.

    Permission to delete stays as it is elsewhere: Django asks for it on every related row when a conversation or a user
    is deleted, and would refuse.
    """

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        match = request.resolver_match
        own_pages = f"{self.opts.app_label}_{self.opts.model_name}_"
        if match is not None and (match.url_name or "").startswith(own_pages):
            return False
        return super().has_delete_permission(request, obj)


def excerpt(text: str, chars: int = EXCERPT_CHARS) -> str:
    """The beginning of a text on one line."""
    return shortened(clean_line(text[: chars * 4]), chars)
