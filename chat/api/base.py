"""What the chat's API views share."""

from __future__ import annotations

from adrf.views import APIView
from django.contrib.auth.models import User
from rest_framework.request import Request

from chat.api.streaming import JsonOrEvents
from ragsite.pagination import Pages


class ChatView(APIView):
    """Async, JSON in, JSON or events out."""

    content_negotiation_class = JsonOrEvents


def user_of(request: Request) -> User:
    assert isinstance(request.user, User)  # IsAuthenticated has let nobody else in
    return request.user


class MessagePagination(Pages):
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 200
