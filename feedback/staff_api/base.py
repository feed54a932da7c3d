"""What the views for staff share."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.permissions import IsAdminUser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.review.roles import PERMISSIONS
from ragsite.core.api.fields import QuerySerializer, StrictSerializer, TextField
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.errors import NotFoundError

schema = partial(extend_schema, tags=["feedback for staff"])
Row = TypeVar("Row", bound=Model)


class StaffPagination(Pages):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


PAGE = page_parameters(StaffPagination)


def list_schema(
    operation_id: str, name: str, row: type[serializers.BaseSerializer[Any]], *query: type[QuerySerializer]
) -> Any:
    """Of a view that answers with a page of rows. name: the page's, in the schema."""
    responses = {200: page_of(name, row(many=True))}
    return schema(
        operation_id=operation_id, parameters=[*query, *page_parameters(StaffPagination)], responses=responses
    )


class FirstRenderer(BaseContentNegotiation):
    """The view's first renderer, whatever is asked for: `format` in the address is ours, not REST framework's."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class StaffView(APIView):
    permission_classes = (IsAdminUser,)
    content_negotiation_class = FirstRenderer

    def paged(self, rows: Any, row: type[serializers.BaseSerializer[Any]]) -> Response:
        """rows: anything that can be sliced and counted."""
        context = {"sees_names": self.request.user.has_perm(PERMISSIONS["names"])}
        return StaffPagination().answer(rows, self, lambda page: row(page, many=True, context=context).data)


class WhySerializer(StrictSerializer):
    """A decision by a person has a reason; it is kept in the log."""

    why = TextField(max_length=500)


class WhyQuerySerializer(QuerySerializer):
    why = TextField(max_length=500, help_text="The reason, kept in the log; or in the body.")


def row_get(rows: QuerySet[Row], **which: Any) -> Row:
    """Raises NotFoundError."""
    row = rows.filter(**which).first()
    if row is None:
        raise NotFoundError
    return row
