"""What the views for staff share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from drf_spectacular.utils import OpenApiResponse, inline_serializer
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.permissions import IsAdminUser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.errors import NotFoundError
from retrieval.api.strict_fields import TextField

TAG = "feedback for staff"
Row = TypeVar("Row", bound=Model)


class StaffPagination(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


class OneRenderer(BaseContentNegotiation):
    """The view's first renderer, whatever is asked for: `format` in the address is ours, not REST framework's."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class StaffView(APIView):
    permission_classes = (IsAdminUser,)
    content_negotiation_class = OneRenderer

    def paged(self, rows: Any, told: Callable[[list[Any]], Any]) -> Response:
        """rows: anything that can be sliced and counted. told: one page of them as JSON."""
        pages = StaffPagination()
        return pages.get_paginated_response(told(pages.paginate_queryset(rows, self.request, view=self) or []))


class WhySerializer(serializers.Serializer[Any]):
    """A decision by a person has a reason; it is kept in the log."""

    why = TextField(max_length=500)


ERRORS = {
    400: OpenApiResponse(description="Not valid; `error.fields` says what."),
    401: OpenApiResponse(description="Sign in."),
    403: OpenApiResponse(description="For staff."),
    404: OpenApiResponse(description="There is no such thing."),
    409: OpenApiResponse(description="It cannot be done in its present state."),
    413: OpenApiResponse(description="The file is too large."),
}


def errors(*statuses: int) -> dict[int, OpenApiResponse]:
    """What may go wrong; not being staff always may."""
    return {status: ERRORS[status] for status in (401, 403, *statuses)}


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


def staff_of(request: Request) -> User:
    assert isinstance(request.user, User)  # IsAdminUser has let nobody else in
    return request.user


def read(serializer: type[serializers.Serializer[Any]], data: Any, *, partial: bool = False) -> Any:
    """The checked input. Raises ValidationError."""
    checked = serializer(data=data, partial=partial)
    checked.is_valid(raise_exception=True)
    return checked.validated_data


def one(rows: QuerySet[Row], **which: Any) -> Row:
    """Raises NotFoundError."""
    row = rows.filter(**which).first()
    if row is None:
        raise NotFoundError
    return row
