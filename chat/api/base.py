"""What the chat's API views share."""

from __future__ import annotations

from typing import Any

from adrf.views import APIView
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig
from drf_spectacular.utils import OpenApiResponse
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from chat.api.serializers import ErrorSerializer
from chat.api.streaming import JsonOrEvents
from ragsite.json_parser import SafeJSONParser


class ChatView(APIView):
    """Async, JSON in, JSON or events out."""

    content_negotiation_class = JsonOrEvents
    parser_classes = (SafeJSONParser,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig


def user_of(request: Request) -> User:
    assert isinstance(request.user, User)  # IsAuthenticated has let nobody else in
    return request.user


class MessagePagination(PageNumberPagination):
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 200


ERRORS = {
    400: OpenApiResponse(ErrorSerializer, description="Not valid; `error.fields` says what."),
    404: OpenApiResponse(ErrorSerializer, description="Not there, or not yours."),
    409: OpenApiResponse(ErrorSerializer, description="An answer is already being written in this session."),
    413: OpenApiResponse(ErrorSerializer, description="The message is too long."),
    429: OpenApiResponse(ErrorSerializer, description="Too many questions; see `Retry-After`."),
    503: OpenApiResponse(ErrorSerializer, description="A dependency is away; see `Retry-After`."),
}


def errors(*statuses: int) -> dict[int, OpenApiResponse]:
    return {status: ERRORS[status] for status in statuses}
