"""The review desk over HTTP. Staff without a role is refused with 403, everybody else finds nothing (404)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.api.serializers import AnswerSerializer
from chat.models import AnswerReview, DeskEvent, SavedView
from chat.review.data import answer_detail, offered_collections, review_data
from chat.review.export import export_lines
from chat.review.fields import (
    FILTER_NAMES,
    BulkChangesSerializer,
    ChangesSerializer,
    ExportQuerySerializer,
    QueueQuerySerializer,
    SavedViewInputSerializer,
    read_filters,
)
from chat.review.marks import answers_mark, export_log, reading_log
from chat.review.queue import COUNTED, answer_review_get, answers_page, answers_queue, counts_up_to
from chat.review.records import REASONS
from chat.review.roles import DeskAccess, Right, desk_access
from chat.review.saved_views import saved_view_create, saved_view_delete, saved_views
from ragsite.core.api.fields import checked
from ragsite.core.api.user import asking_user

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

    content_negotiation_class = FirstRenderer
    rights: ClassVar[tuple[Right, ...]] = ()
    access: DeskAccess

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.access = desk_access(asking_user(request), *self.rights)


# ------------------------------------------------------------------------------------------------ what is answered
class ReviewSerializer(serializers.Serializer[Any]):
    """An answer in the queue. user: null for who does not see names."""

    message_id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    question = serializers.CharField(help_text="In lists its beginning.")
    answer = serializers.CharField(help_text="Its beginning.")
    decision = serializers.CharField(allow_null=True)
    status = serializers.CharField()
    workflow = serializers.CharField()
    model = serializers.CharField()
    language = serializers.CharField()
    rating = serializers.IntegerField(allow_null=True, help_text="The worst of its ratings, 1 to 5.")
    reasons = serializers.ListField(child=serializers.ChoiceField(REASONS), help_text="The worst first.")
    severity = serializers.IntegerField()
    total_ms = serializers.IntegerField(allow_null=True)
    superseded = serializers.BooleanField()
    collections = serializers.ListField(child=serializers.UUIDField())
    user = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(AnswerReview.State.choices)
    state_by = serializers.CharField(allow_null=True)
    state_at = serializers.DateTimeField(allow_null=True)
    assignee = serializers.CharField(allow_null=True)
    note = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField())


class ReviewPageSerializer(serializers.Serializer[Any]):
    """A page of the queue. count: at most 1,000; `count_is_exact` says whether there are more."""

    count = serializers.IntegerField()
    count_is_exact = serializers.BooleanField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ReviewSerializer(many=True)


class DeskEventSerializer(serializers.Serializer[Any]):
    """What somebody did at the desk. detail: from and to of a change."""

    kind = serializers.ChoiceField(DeskEvent.Kind.choices)
    by = serializers.CharField()
    at = serializers.DateTimeField()
    detail = serializers.DictField()


class AnswerRatingSerializer(serializers.Serializer[Any]):
    """source: the marker of the source that was rated; null: the answer."""

    source: Any = serializers.IntegerField(allow_null=True)
    score = serializers.IntegerField()
    thumb = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    user = serializers.CharField(allow_null=True)


class PromptSerializer(serializers.Serializer[Any]):
    """text: of the file, null where it has changed since."""

    name = serializers.CharField()
    hash = serializers.CharField()
    text = serializers.CharField(allow_null=True)


class FilledPromptSerializer(serializers.Serializer[Any]):
    """What one call asked, where the site keeps that and you may see names. text: null where it held what is remembered
    for the user. step: its `seq` in the path; call: its place in that step's calls, from 0."""

    step = serializers.IntegerField()
    call = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField(allow_null=True)


class ReviewDetailSerializer(ReviewSerializer):
    """With the whole answer, as a message of the chat, and the conversation before it."""

    message = AnswerSerializer()
    earlier = AnswerSerializer(many=True)
    ratings = AnswerRatingSerializer(many=True)
    passages = serializers.DictField(
        child=serializers.CharField(), help_text="What the chunk ids of the path are, as far as you may read them."
    )
    prompts = PromptSerializer(many=True)
    filled_prompts = FilledPromptSerializer(many=True)
    path_deleted = serializers.BooleanField(help_text="It is older than the site keeps decision paths.")
    history = DeskEventSerializer(many=True)
    read_by = DeskEventSerializer(many=True)


class ChangedSerializer(serializers.Serializer[Any]):
    """How many answers are not as they were."""

    changed = serializers.IntegerField()


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    """Filters of the queue under a name."""

    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = SavedView
        fields = ["id", "name", "filters", "shared", "owner", "created_at"]
        read_only_fields = fields


class SavedViewListSerializer(serializers.Serializer[Any]):
    results = SavedViewSerializer(many=True)


# ------------------------------------------------------------------------------------------------ calls
class AnswersApi(DeskView):
    """`/api/review/answers`."""

    @schema(
        operation_id="review_answers_list",
        parameters=[QueueQuerySerializer],
        responses={200: ReviewPageSerializer},
    )
    def get(self, request: Request) -> Response:
        """The answers that the filters let through, the newest first."""
        query = checked(QueueQuerySerializer, request.query_params)
        filters = read_filters(query)
        answers = answers_queue(access=self.access, filters=filters)
        cursors = {name: query.get(name, "") for name in ("after", "before")}
        page = answers_page(answers, sort=filters.sort, size=query["page_size"], **cursors)
        offered = offered_collections(self.access)
        if filters.search:
            answers = answers_queue(access=self.access, filters=filters, in_order=False)
        count = counts_up_to({"shown": (answers, COUNTED + 1)})["shown"]
        return Response(
            {
                "count": min(count, COUNTED),
                "count_is_exact": count <= COUNTED,
                "next": _link(request, "after", page.after),
                "previous": _link(request, "before", page.before),
                "results": [review_data(row, access=self.access, offered=offered) for row in page.rows],
            }
        )


class AnswersMarkApi(DeskView):
    """`/api/review/answers/mark`."""

    @schema(operation_id="review_answers_mark", request=BulkChangesSerializer, responses={200: ChangedSerializer})
    def post(self, request: Request) -> Response:
        """Change several answers alike; all of them or, where one is not there, none."""
        changes = checked(BulkChangesSerializer, request.data)
        changed = answers_mark(access=self.access, message_ids=changes.pop("message_ids"), changes=changes)
        return Response({"changed": changed})


class AnswerApi(DeskView):
    """`/api/review/answers/{message_id}`."""

    @schema(operation_id="review_answer", responses={200: ReviewDetailSerializer})
    def get(self, request: Request, message_id: UUID) -> Response:
        """All of one answer. That it was read is kept in the log."""
        row = answer_review_get(message_id=message_id)
        reading_log(access=self.access, row=row)
        return Response(answer_detail(row, access=self.access))

    @schema(operation_id="review_answer_mark", request=ChangesSerializer, responses={200: ReviewSerializer})
    def patch(self, request: Request, message_id: UUID) -> Response:
        """Change its state, whom it is assigned to, its note or its labels."""
        answer_review_get(message_id=message_id)
        answers_mark(access=self.access, message_ids=[message_id], changes=checked(ChangesSerializer, request.data))
        return Response(review_data(answer_review_get(message_id=message_id), access=self.access))


class ExportApi(DeskView):
    """`/api/review/export`."""

    rights = ("export",)

    @schema(
        operation_id="review_export",
        parameters=[ExportQuerySerializer],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/x-ndjson"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The answers that the filters let through, as a file. Without the right to names it is anonymised."""
        query = checked(ExportQuerySerializer, request.query_params)
        with_names = query.get("names", self.access.sees_names)
        if with_names:
            self.access.require("names")
        filters = read_filters(query)
        answers_queue(access=self.access, filters=filters)  # a refusal has to come before the first line
        given = {name: value for name, value in request.query_params.items() if name in FILTER_NAMES}
        export_log(access=self.access, filters=given, with_names=with_names)
        lines = export_lines(
            access=self.access, filters=filters, as_csv=query["format"] == "csv", with_names=with_names
        )
        name = f"answers-{timezone.localdate():%Y-%m-%d}.{query['format']}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Accel-Buffering": "no"}
        return StreamingHttpResponse(lines, content_type=MEDIA_TYPES[query["format"]], headers=headers)


class SavedViewsApi(DeskView):
    """`/api/review/views`."""

    @schema(operation_id="review_views_list", responses={200: SavedViewListSerializer})
    def get(self, request: Request) -> Response:
        """Your saved views, and those that are shared with all at the desk."""
        return Response({"results": SavedViewSerializer(saved_views(self.access), many=True).data})

    @schema(operation_id="review_views_create", request=SavedViewInputSerializer, responses={201: SavedViewSerializer})
    def post(self, request: Request) -> Response:
        """Keep filters under a name."""
        view = saved_view_create(access=self.access, **checked(SavedViewInputSerializer, request.data))
        return Response(SavedViewSerializer(view).data, status=201)


class SavedViewApi(DeskView):
    """`/api/review/views/{id}`."""

    @schema(operation_id="review_views_delete", responses={204: None})
    def delete(self, request: Request, view_id: UUID) -> Response:
        """Forget a saved view."""
        saved_view_delete(access=self.access, view_id=view_id)
        return Response(status=204)


def _link(request: Request, name: str, cursor: str) -> str | None:
    if not cursor:
        return None
    query = request.query_params.copy()
    for other in ("after", "before"):
        query.pop(other, None)
    query[name] = cursor
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
