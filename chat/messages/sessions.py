"""A conversation as it is shown."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chat.models import Session
from ragsite.core.api.rendering import TimestampField
from ragsite.core.localized import localized
from ragsite.core.messages import worded

TEMPORARY = worded("Temporary chat")


def session_title(session: Session) -> str:
    """What it is called by, in the active language. A temporary one does not show its first question in the browser's
    list of pages."""
    return str(localized(TEMPORARY)) if session.is_temporary else session.title


class SessionSerializer(serializers.Serializer[Any]):
    """A conversation without its messages."""

    id = serializers.UUIDField()
    title = serializers.SerializerMethodField()
    workflow = serializers.CharField(help_text="Last asked with.")
    collections = serializers.ListField(
        child=serializers.CharField(), help_text="Last asked in; none: none was named."
    )
    assistant = serializers.DictField(
        child=serializers.CharField(), help_text="{id, name} of the one last asked by; empty: none."
    )
    temporary = serializers.BooleanField(
        source="is_temporary",
        help_text="Not listed, not at the review desk, and deleted at `expires_at`.",
    )
    expires_at = TimestampField(allow_null=True, help_text="Null: it is kept.")
    pinned = serializers.SerializerMethodField()
    archived = serializers.SerializerMethodField()
    folder = serializers.CharField(help_text="Empty: in none.")
    shared = serializers.SerializerMethodField(help_text="site, link: how others may read it.")
    found = serializers.CharField(
        required=False, help_text="In a list that is searched: the words, as they stand."
    )
    message_count = serializers.SerializerMethodField()
    created_at = TimestampField()
    updated_at = TimestampField()

    def get_title(self, session: Session) -> str:
        return session_title(session)

    def get_pinned(self, session: Session) -> bool:
        return session.pinned_at is not None

    def get_archived(self, session: Session) -> bool:
        return session.archived_at is not None

    def get_shared(self, session: Session) -> list[str]:
        return sorted(share.scope for share in session.shares.all())

    def get_message_count(self, session: Session) -> int:
        """As `chat.selectors` has counted them; a new one has none."""
        return getattr(session, "message_count", 0)
