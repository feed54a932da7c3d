"""What the views for staff share. Who may call them is what the review desk's roles say (`chat.review.roles`)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView
from chat.review.roles import Right
from ragsite.core.api.fields import StrictQuerySerializer, StrictSerializer, TextField
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.errors import NotFoundError

schema = partial(extend_schema, tags=["feedback for staff"])
Row = TypeVar("Row", bound=Model)


class StaffPagination(Pages):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


class StaffQuerySerializer(StrictQuerySerializer):
    """Of a list in pages."""

    beside = ("page", "page_size")


PAGE = page_parameters(StaffPagination)


def list_schema(
    operation_id: str, name: str, row: type[serializers.BaseSerializer[Any]], *query: type[StrictQuerySerializer]
) -> Any:
    """Of a view that answers with a page of rows. name: the page's, in the schema."""
    responses = {200: page_of(name, row(many=True))}
    return schema(
        operation_id=operation_id, parameters=[*query, *page_parameters(StaffPagination)], responses=responses
    )


class StaffView(DeskView):
    """rights: what reading needs; changes: what anything else needs beside. Strangers get 401, users 404, staff without
    the right 403 with what to ask for."""

    changes: ClassVar[tuple[Right, ...]] = ("curate",)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method not in SAFE_METHODS:
            for right in self.changes:
                self.access.require(right)

    def paged(self, rows: Any, row: type[serializers.BaseSerializer[Any]]) -> Response:
        """rows: anything that can be sliced and counted."""
        return StaffPagination().answer(rows, self, lambda page: row(page, many=True).data)


class WhySerializer(StrictSerializer):
    """A decision by a person has a reason; it is kept in the log."""

    why = TextField(max_length=500)


class WhyQuerySerializer(StrictQuerySerializer):
    why = TextField(max_length=500, help_text="The reason, kept in the log; or in the body.")


def row_get(rows: QuerySet[Row], **which: Any) -> Row:
    """Raises NotFoundError."""
    row = rows.filter(**which).first()
    if row is None:
        raise NotFoundError
    return row
