"""Links between the admin's pages."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.models import Message
from ragsite.core.localized import said
from ragsite.core.read_only_admin import excerpt


def page_url(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def row_url(row: Any) -> str:
    return page_url(f"{row._meta.app_label}_{row._meta.model_name}_change", quote(str(row.pk)))


def answer_link(message: Message, *, text: str = "") -> SafeString:
    """To the conversation's review. text: to show in place of the answer's beginning."""
    url = page_url("chat_session_change", quote(str(message.session_id)))
    return format_html(
        '<a href="{}#message-{}">{}</a>', url, message.pk, excerpt(text or message.text, 60) or said("(empty)")
    )
