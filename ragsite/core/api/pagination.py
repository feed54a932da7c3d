"""Lists come in pages: `{"count", "next", "previous", "results"}`, asked for by `page`, some by `page_size` too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded

MAX_DIGITS = 9


class Pages(PageNumberPagination):
    """Numbers that are none are bad input (400); a page behind the last one is not there (404)."""

    page_size = 30

    def get_page_number(self, request: Request, paginator: Any) -> int:
        """Raises InvalidInputError."""
        return _number(request, self.page_query_param) or 1

    def get_page_size(self, request: Request) -> int | None:
        """More than `max_page_size` counts as that many. Raises InvalidInputError."""
        size = _number(request, self.page_size_query_param) if self.page_size_query_param else None
        return min(size, self.max_page_size or size) if size else self.page_size

    def answer(self, rows: Any, view: APIView, as_json: Callable[[Sequence[Any]], Any]) -> Response:
        """The page that the view's request asks for. rows: anything that can be sliced and counted."""
        return self.get_paginated_response(as_json(self.paginate_queryset(rows, view.request, view=view) or []))

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        parameters = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            parameter["schema"] = _WHOLE
        return parameters


_WHOLE = {"type": "integer", "minimum": 1, "maximum": 10**MAX_DIGITS - 1}


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and int(text)):
        raise InvalidInputError(fields={name: [worded("A whole number from 1.")]})
    return int(text)


def page_parameters(pages: type[Pages] = Pages) -> list[OpenApiParameter]:
    """The query parameters, for the schema of a view that is no `GenericAPIView`."""
    named = [OpenApiParameter(pages.page_query_param, _WHOLE)]
    if pages.page_size_query_param:
        description = f"{pages.page_size} by default, {pages.max_page_size} at most."
        named.append(OpenApiParameter(pages.page_size_query_param, _WHOLE, description=description))
    return named


def page_of(name: str, child: Any) -> Any:
    """The schema of a page."""
    return inline_serializer(
        name,
        {
            "count": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": child,
        },
    )
