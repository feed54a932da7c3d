"""`/api/notifications`: one's own notifications, and which of them come by e-mail."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import FlagField, ListField, QuerySerializer, StrictSerializer, checked
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.rendering import rendered, rendered_list
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.models import Notification
from ragsite.operations.notifications.selectors import (
    emailed_kinds,
    notification_list,
    shown_notifications,
)
from ragsite.operations.notifications.services import (
    email_wishes_set,
    notification_mark,
    notifications_mark_read,
)


class NotificationPages(Pages):
    page_size_query_param = "page_size"
    max_page_size = 100


class NotificationsQuerySerializer(QuerySerializer):
    unread = serializers.BooleanField(
        required=False, default=False, help_text="Only those that are not read yet."
    )


class NotificationSerializer(serializers.Serializer[Any]):
    """text, detail: in the reader's language. address: the page that it leads to; empty: it is gone, or no longer
    yours to see."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(Notification.Kind.choices)
    text = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    is_read = serializers.BooleanField()


class NotificationChangeSerializer(StrictSerializer):
    is_read = FlagField(required=False, help_text="Left out: it stays as it is.")


class NotificationsReadSerializer(serializers.Serializer[Any]):
    read = serializers.IntegerField(help_text="How many were unread.")


class NotificationSettingsSerializer(StrictSerializer):
    """email: the kinds that also come by e-mail, to a confirmed address; none at first."""

    email = ListField(
        child=serializers.ChoiceField(Notification.Kind.choices),
        max_length=len(Notification.Kind),
        allow_empty=True,
    )


class NotificationsApi(APIView):
    @extend_schema(
        operation_id="notifications_list",
        parameters=[NotificationsQuerySerializer, *page_parameters(NotificationPages)],
        responses={200: page_of("NotificationPage", NotificationSerializer(many=True))},
        tags=["notifications"],
    )
    def get(self, request: Request) -> Response:
        """Your notifications, the latest first; the newest 200 are stored."""
        user = asking_user(request)
        query = checked(NotificationsQuerySerializer, request.query_params)
        rows = notification_list(user=user, unread=query["unread"])
        return NotificationPages().answer(
            rows,
            self,
            lambda page: rendered_list(
                NotificationSerializer, shown_notifications(page, user=user)
            ),
        )


class NotificationApi(APIView):
    @extend_schema(
        operation_id="notifications_change",
        request=NotificationChangeSerializer,
        responses={200: NotificationSerializer, **errors(404)},
        tags=["notifications"],
    )
    def patch(self, request: Request, notification_id: int) -> Response:
        """Mark one read or unread."""
        user = asking_user(request)
        sent = checked(NotificationChangeSerializer, request.data)
        row = notification_mark(
            user=user, notification_id=notification_id, read=sent.get("is_read")
        )
        (shown,) = shown_notifications([row], user=user)
        return Response(rendered(NotificationSerializer, shown))


class NotificationsReadApi(APIView):
    @extend_schema(
        operation_id="notifications_read",
        request=None,
        responses={200: NotificationsReadSerializer},
        tags=["notifications"],
    )
    def post(self, request: Request) -> Response:
        """Mark all of them read."""
        read = notifications_mark_read(user=asking_user(request))
        return Response(rendered(NotificationsReadSerializer, {"read": read}))


class NotificationSettingsApi(APIView):
    @extend_schema(
        operation_id="notifications_settings",
        responses=NotificationSettingsSerializer,
        tags=["notifications"],
    )
    def get(self, request: Request) -> Response:
        """Which kinds come by e-mail."""
        return Response(_settings(asking_user(request)))

    @extend_schema(
        operation_id="notifications_settings_change",
        request=NotificationSettingsSerializer,
        responses=NotificationSettingsSerializer,
        tags=["notifications"],
    )
    def put(self, request: Request) -> Response:
        """Choose the kinds that also come by e-mail, in the language of this request."""
        user = asking_user(request)
        email_wishes_set(
            user=user, kinds=checked(NotificationSettingsSerializer, request.data)["email"]
        )
        return Response(_settings(user))


def _settings(user: User) -> dict[str, Any]:
    return rendered(NotificationSettingsSerializer, {"email": emailed_kinds(user)})
