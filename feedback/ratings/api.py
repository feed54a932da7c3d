"""Ratings over HTTP."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.selectors import message_get
from feedback.models import Rating
from feedback.ratings.services import MAX_COMMENT_CHARS, rating_delete, rating_set
from ragsite.core.api.fields import (
    ListField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
)
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user


class RatingInputSerializer(StrictSerializer):
    """A score or a thumb; what is left out is empty, since a PUT replaces the whole rating."""

    score = WholeNumberField(min_value=1, max_value=5, required=False, allow_null=True)
    thumb = serializers.ChoiceField(choices=["up", "down"], required=False, allow_null=True)
    tags = ListField(
        child=serializers.ChoiceField(choices=Rating.Tag.choices), required=False, max_length=20
    )
    comment = TextField(required=False, allow_blank=True, max_length=MAX_COMMENT_CHARS)


class RatingSerializer(serializers.Serializer[Rating]):
    score = serializers.IntegerField(min_value=1, max_value=5)
    thumb = serializers.CharField(
        allow_null=True, help_text="`up` for 4 and 5, `down` for 1 and 2, null for 3."
    )
    tags = serializers.ListField(child=serializers.ChoiceField(choices=Rating.Tag.choices))
    comment = serializers.CharField()
    updated_at = serializers.DateTimeField()


class MessageRatingApi(APIView):
    """The user's rating of one answer; with `marker` in the address, of one of its sources."""

    scope = "ask"

    @extend_schema(
        request=RatingInputSerializer,
        responses={200: RatingSerializer, **errors(409)},
        tags=["ratings"],
    )
    def put(self, request: Request, message_id: UUID, marker: int | None = None) -> Response:
        """Rate, or change your rating: a score of 1 to 5, or a thumb (up is 5, down is 1)."""
        # Before the input is checked: a 400 could tell others that the message exists.
        message_get(user=asking_user(request), message_id=message_id)
        fields = checked(RatingInputSerializer, request.data)
        rating = rating_set(
            user=asking_user(request), message_id=message_id, marker=marker, **fields
        )
        return Response(rendered(RatingSerializer, rating))

    @extend_schema(responses={204: None}, tags=["ratings"])
    def delete(self, request: Request, message_id: UUID, marker: int | None = None) -> Response:
        """Take your rating back; it's no error when there was none."""
        rating_delete(user=asking_user(request), message_id=message_id, marker=marker)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SourceRatingApi(MessageRatingApi):
    """The same for one source of an answer."""
