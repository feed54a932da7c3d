"""The review desk over HTTP. Staff without a role is refused with 403, everybody else finds nothing (404)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.models import AnswerReview
from chat.review.data import answer_detail, offered_collections, review_data
from chat.review.export import export_lines
from chat.review.marks import answer_mark, export_log, readings_log
from chat.review.queue import (
    FILTER_NAMES,
    ExportQuery,
    QueueQuery,
    answer_review_get,
    answers_page,
    answers_queue,
    with_details,
)
from chat.review.roles import DeskAccess, Right, desk_access
from chat.review.serializers import (
    ChangesSerializer,
    CompareQuery,
    CompareSerializer,
    ReviewDetailSerializer,
    ReviewSerializer,
    StatsQuery,
    StatsSerializer,
)
from chat.review.stats import NOTES, Days, compare_workflows, stats_by, totals
from ragsite.core.api.fields import checked
from ragsite.core.api.pagination import page_of
from ragsite.core.api.rendering import rendered, rendered_list
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized

schema = partial(extend_schema, tags=["review"])
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}


class FirstRenderer(BaseContentNegotiation):
    """JSON whatever is asked for: `format` in the address is ours, not REST framework's."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class DeskView(APIView):
    """The base of every call of the desk. rights: what a call needs beside reading."""

    scope = "review"
    content_negotiation_class = FirstRenderer
    rights: ClassVar[tuple[Right, ...]] = ()
    access: DeskAccess

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.access = desk_access(asking_user(request), *self.rights)


class AnswersApi(DeskView):
    """`/api/review/answers`."""

    @schema(
        operation_id="review_answers_list",
        parameters=[QueueQuery],
        responses={200: page_of("ReviewPage", ReviewSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """The answers that the filters let through, the newest first."""
        chosen = checked(QueueQuery, request.query_params)
        answers = answers_queue(access=self.access, chosen=chosen)
        page = answers_page(
            with_details(answers),
            sort=chosen.get("sort", "newest"),
            size=chosen["page_size"],
            after=chosen.get("after", ""),
            before=chosen.get("before", ""),
        )
        offered = offered_collections(self.access)
        rows = [review_data(row, access=self.access, offered=offered) for row in page.rows]
        return Response(
            {
                "count": answers.count(),
                "next": _link(request, "after", page.after),
                "previous": _link(request, "before", page.before),
                "results": rendered_list(ReviewSerializer, rows),
            }
        )


class AnswerApi(DeskView):
    """`/api/review/answers/{message_id}`."""

    @schema(operation_id="review_answer", responses={200: ReviewDetailSerializer})
    def get(self, request: Request, message_id: UUID) -> Response:
        """All of one answer. That it was read is kept in the log."""
        row = answer_review_get(message_id=message_id)
        readings_log(user=self.access.user, rows=AnswerReview.objects.filter(pk=row.pk))
        return Response(rendered(ReviewDetailSerializer, answer_detail(row, access=self.access)))

    @schema(
        operation_id="review_answer_mark",
        request=ChangesSerializer,
        responses={200: ReviewSerializer},
    )
    def patch(self, request: Request, message_id: UUID) -> Response:
        """Change its state, whom it is assigned to, its note or its labels."""
        answer_mark(
            access=self.access,
            message_id=message_id,
            changes=checked(ChangesSerializer, request.data),
        )
        row = answer_review_get(message_id=message_id)
        return Response(rendered(ReviewSerializer, review_data(row, access=self.access)))


class ExportApi(DeskView):
    """`/api/review/export`."""

    rights = ("export",)

    @schema(
        operation_id="review_export",
        parameters=[ExportQuery],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/x-ndjson"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The answers that the filters let through, as a file. Without the right to names it is anonymised."""
        query = checked(ExportQuery, request.query_params)
        with_names = query.get("names", self.access.sees_names)
        if with_names:
            self.access.require("names")
        answers_queue(
            access=self.access, chosen=query
        )  # a refusal has to come before the first line
        filters = {
            name: value for name, value in request.query_params.items() if name in FILTER_NAMES
        }
        export_log(access=self.access, filters=filters, with_names=with_names)
        lines = export_lines(
            access=self.access, chosen=query, as_csv=query["format"] == "csv", with_names=with_names
        )
        name = f"answers-{timezone.localdate():%Y-%m-%d}.{query['format']}"
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Accel-Buffering": "no",
        }
        return StreamingHttpResponse(
            lines, content_type=MEDIA_TYPES[query["format"]], headers=headers
        )


class StatsApi(DeskView):
    """`/api/review/stats`."""

    @schema(operation_id="review_stats", parameters=[StatsQuery], responses={200: StatsSerializer})
    def get(self, request: Request) -> Response:
        """Figures by day, workflow or collection, and in total."""
        query = checked(StatsQuery, request.query_params)
        days = Days(query.get("from"), query.get("to"))
        by = query["by"]
        rows = localized(stats_by(access=self.access, by=by, days=days))
        shown = _head(by, days) | {"totals": totals(days=days), "rows": rows}
        return Response(rendered(StatsSerializer, shown))


class CompareApi(DeskView):
    """`/api/review/compare`."""

    @schema(
        operation_id="review_compare", parameters=[CompareQuery], responses={200: CompareSerializer}
    )
    def get(self, request: Request) -> Response:
        """Rates of the workflows, with intervals."""
        query = checked(CompareQuery, request.query_params)
        days = Days(query.get("from"), query.get("to"))
        rows = compare_workflows(access=self.access, days=days)
        shown = _head(query["by"], days) | {"notes": localized(list(NOTES)), "rows": rows}
        return Response(rendered(CompareSerializer, shown))


def _head(by: str, days: Days) -> dict[str, Any]:
    return {"by": by, "since": str(days.since), "until": str(days.until)}


def _link(request: Request, name: str, cursor: str) -> str | None:
    if not cursor:
        return None
    query = request.query_params.copy()
    for other in ("after", "before"):
        query.pop(other, None)
    query[name] = cursor
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
