"""What the chat's API views share."""

from __future__ import annotations

from adrf.views import APIView

from chat.api.streaming import JsonOrEvents
from ragsite.core.api.pagination import Pages


class ChatView(APIView):
    """Async, JSON in, JSON or events out."""

    content_negotiation_class = JsonOrEvents


class MessagePagination(Pages):
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 200
