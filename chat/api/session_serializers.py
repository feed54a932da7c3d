"""Conversations, their folders and their shares: what is taken, and what is shown."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chat.api.question_serializers import TEMPORARY
from chat.models import Share
from ragsite.core.api.fields import (
    DateTimeField,
    FlagField,
    StrictSerializer,
    TextField,
)
from ragsite.core.api.rendering import TimestampField
from ragsite.core.localized import localized
from ragsite.core.messages import worded


class SessionBeginSerializer(StrictSerializer):
    """How a conversation begins in which nothing is asked yet."""

    temporary = FlagField(required=False, allow_null=True, help_text=TEMPORARY)


class SessionUpdateSerializer(StrictSerializer):
    """What is to change of a conversation; what is left out stays."""

    schema_rules = {"minProperties": 1}

    title = TextField(max_length=200, required=False)
    pinned = FlagField(required=False)
    archived = FlagField(required=False, help_text="Out of the list, kept; no longer pinned.")
    temporary = FlagField(
        required=False, help_text="false: a temporary conversation is kept as an ordinary one."
    )
    folder = TextField(
        max_length=100,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Empty or null: out of its folder.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                localized(worded("Give title, pinned, archived, temporary or folder."))
            )
        return attrs


class ShareSerializer(StrictSerializer):
    """How to share a conversation."""

    scope = serializers.ChoiceField(
        choices=Share.Scope.choices,
        help_text="site: people with an account; link: anybody who has it.",
    )
    expires_at = DateTimeField(
        required=False, allow_null=True, help_text="In the future; null: until it is revoked."
    )


class UnshareSerializer(StrictSerializer):
    """Which of the two to revoke; without it both."""

    scope = serializers.ChoiceField(choices=Share.Scope.choices, required=False)


class FolderSerializer(serializers.Serializer[Any]):
    """A folder of conversations; it is there as long as one is in it."""

    name = serializers.CharField()
    session_count = serializers.IntegerField(help_text="Without archived ones.")


class SharedSerializer(serializers.Serializer[Any]):
    """How a conversation is shared, and where it is read."""

    scope = serializers.CharField(help_text="site or link.")
    url = serializers.URLField()
    created_at = TimestampField(help_text="It is shown as it was then.")
    expires_at = TimestampField(allow_null=True)


class SharesSerializer(serializers.Serializer[Any]):
    """All shares of a conversation, and whether a secret link may be made."""

    shares = SharedSerializer(many=True)
    links_allowed = serializers.BooleanField(
        help_text="As the administrator has set it (RAGSITE_SHARE_LINKS)."
    )
