"""Lists come in pages: `{"count", "next", "previous", "results"}`, asked for by `page`, some by `page_size` too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.db.models.query import ModelIterable
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded

NUMBER = {"type": "integer", "minimum": 1, "maximum": 999_999_999}


class KeysFirst(Paginator):
    """Finds the keys of a page's rows first, which an index tells, and then reads these rows alone: of the many before
    a late page nothing is read."""

    def page(self, number: int | str) -> Page[Any]:
        rows = self.object_list
        if not isinstance(rows, QuerySet) or rows._iterable_class is not ModelIterable:
            return super().page(number)
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        keys = rows.values_list("pk", flat=True)[first : first + self.per_page]
        return Page(rows.filter(pk__in=list(keys)), number, self)


class Pages(PageNumberPagination):
    """A page that is none, or behind the last one, is not there (404)."""

    django_paginator_class = KeysFirst
    page_size = 30

    def get_page_size(self, request: Request) -> int | None:
        """More than `max_page_size` counts as that many. Raises InvalidInputError."""
        size = request.query_params.get("page_size", "1") if self.page_size_query_param else "1"
        if not (size.isascii() and size.isdigit() and len(size) <= 9 and int(size)):
            raise InvalidInputError(fields={"page_size": [worded("A whole number from 1.")]})
        return super().get_page_size(request)

    def get_page_number(self, request: Request, paginator: Any) -> int | str:
        """As it was sent: an empty one is none."""
        number = request.query_params.get(self.page_query_param, "1")
        return paginator.num_pages if number in self.last_page_strings else number

    def answer(self, rows: Any, view: APIView, as_json: Callable[[Sequence[Any]], Any]) -> Response:
        """The page that the view's request asks for. rows: anything that can be sliced and counted."""
        return self.get_paginated_response(
            as_json(self.paginate_queryset(rows, view.request, view=view) or [])
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """In the words of OpenAPI 3.1: REST framework's own say `nullable`, which that does not know."""
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {
                "count": {"type": "integer"},
                "next": address,
                "previous": address,
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [
            parameter | {"schema": NUMBER}
            for parameter in super().get_schema_operation_parameters(view)
        ]


def page_parameters(pages: type[Pages] = Pages) -> list[OpenApiParameter]:
    """The query parameters, for the schema of a view that is no `GenericAPIView`."""
    names = [name for name in (pages.page_query_param, pages.page_size_query_param) if name]
    return [OpenApiParameter(name, NUMBER) for name in names]


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
