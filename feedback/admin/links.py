"""Links between the admin's pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.models import Message
from feedback.models import Revision
from ragsite.core.localized import said
from ragsite.core.read_only_admin import excerpt
from retrieval.models import Document


def page_url(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def row_url(row: Any) -> str:
    return page_url(f"{row._meta.app_label}_{row._meta.model_name}_change", quote(str(row.pk)))


def revision_link(revision: Revision | None) -> SafeString | str:
    if revision is None:
        return "–"
    return format_html('<a href="{}">{}</a>', row_url(revision), said("Revision {number}", number=revision.number))


def document_link(document: Document) -> SafeString:
    """To why it is up."""
    return evidence_link(document.pk, excerpt(document.title, 60) or document.file_name)


def evidence_link(document_id: UUID, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', page_url("feedback_document_evidence", document_id), text)


def answer_link(message: Message, *, text: str = "") -> SafeString:
    """To the conversation's review. text: to show in place of the answer's beginning."""
    url = page_url("chat_session_change", quote(str(message.session_id)))
    return format_html(
        '<a href="{}#message-{}">{}</a>', url, message.pk, excerpt(text or message.text, 60) or said("(empty)")
    )
