"""Replays over HTTP: order one or many, read, cancel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from adrf.views import APIView as AsyncApiView
from asgiref.sync import sync_to_async
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api.serializers import AnswerSerializer, OptionsSerializer
from chat.models import AnswerReview, Replay, ReplayBatch
from chat.review.api import DeskView, FirstRenderer, schema
from chat.review.fields import FiltersSerializer as QueueFiltersSerializer
from chat.review.fields import read_filters
from chat.review.marks import reading_log
from chat.review.queue import SORTS, answers_queue
from chat.review.replay.replay_data import batch_data, replay_data, replay_row
from chat.review.replay.replay_run import NO_REVISION
from chat.review.replay.replays import (
    MAX_QUESTIONS,
    batch_create,
    batch_create_golden,
    batch_get,
    batch_list,
    batch_summary,
    change_check,
    replay_cancel,
    replay_create,
    replay_get,
    replay_list,
    replay_start,
    replays_of,
    replays_queue,
)
from chat.review.roles import DeskAccess, desk_access
from ragsite.core.api.fields import IdField, NoFieldsSerializer, StrictSerializer, TextField, checked, unknown_fields
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.api.serializers import FiltersSerializer, search_filters
from retrieval.workflows import available_workflows

MAX_FILTER_CHARS = 300


# ------------------------------------------------------------------------------------------------ input
class ChangeSerializer(StrictSerializer):
    """What is done otherwise than as asked; what is left out or null stays. At least one."""

    workflow = serializers.ChoiceField(choices=available_workflows(), required=False, allow_null=True)
    model = TextField(required=False, allow_null=True, max_length=200, help_text="One that the model server lists.")
    options = OptionsSerializer(required=False, allow_null=True)
    filters = FiltersSerializer(required=False, allow_null=True, help_text="In place of all filters; {}: none.")
    revision = TextField(
        required=False,
        allow_null=True,
        max_length=36,
        help_text="The id of a boost revision; none: without boosts; left out: the live one.",
    )

    def change(self) -> dict[str, Any]:
        """As it is stored in a replay."""
        given = {name: value for name, value in self.validated_data.items() if value is not None}
        change = {name: given[name] for name in ("workflow", "model", "revision") if given.get(name)}
        if (revision := change.get("revision")) and revision != NO_REVISION:
            try:
                change["revision"] = str(UUID(revision))
            except ValueError as error:
                raise InvalidInputError(fields={"revision": [worded("Give the id of a revision, or none.")]}) from error
        if options := {name: value for name, value in given.get("options", {}).items() if value is not None}:
            change["options"] = options
        if "filters" in given:
            change["filters"] = search_filters(given["filters"]).as_dict()
        return change


class BatchInputSerializer(ChangeSerializer):
    """Which questions: those of `message_ids`, of the queue's `answers` (its parameters), or `golden` ones (the name of
    a set, * for all). Exactly one of the three."""

    name = TextField(required=False, allow_blank=True, max_length=200)
    message_ids = serializers.ListField(
        child=IdField(), required=False, allow_null=True, allow_empty=False, max_length=MAX_QUESTIONS
    )
    answers = serializers.DictField(
        child=TextField(allow_blank=True, max_length=MAX_FILTER_CHARS), required=False, allow_null=True
    )
    golden = TextField(required=False, allow_null=True, allow_blank=True, max_length=100)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(attrs.get(name) is not None for name in ("message_ids", "answers", "golden")) != 1:
            raise InvalidInputError(worded("Name the questions by message_ids, by answers, or by golden."))
        return attrs


# ------------------------------------------------------------------------------------------------ output
class StartedSerializer(serializers.Serializer[Any]):
    """url: its page."""

    id = serializers.UUIDField()
    url = serializers.CharField()


class ReplayRowSerializer(serializers.Serializer[Any]):
    """A replay in a list. summary: pairs [of the original, of the replay]; empty until it is complete."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    batch_id = serializers.UUIDField(allow_null=True)
    message_id = serializers.UUIDField(allow_null=True, help_text="Null for a golden question.")
    question = serializers.CharField()
    status = serializers.ChoiceField(Replay.Status.choices)
    change = serializers.DictField()
    summary = serializers.DictField()
    error = serializers.DictField(allow_null=True)
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class DifferenceSerializer(serializers.Serializer[Any]):
    """One difference; the other fields depend on `kind`."""

    kind = serializers.CharField(help_text="status, decision, workflow, model, answer, source, step, usage, degraded.")


class ReplayedAnswerSerializer(AnswerSerializer):
    """An answer that is no message of a conversation: it has no ids."""

    session_id = serializers.UUIDField(allow_null=True)
    message_id = serializers.UUIDField(allow_null=True)


class ReplaySerializer(ReplayRowSerializer):
    """Both answers as messages. `replay` is null until it is complete, and so is a golden question's `original`."""

    original = ReplayedAnswerSerializer(allow_null=True)
    replay = ReplayedAnswerSerializer(allow_null=True)
    differences = DifferenceSerializer(many=True)


class BatchSerializer(serializers.Serializer[Any]):
    """A job of many replays. summary: of what has ended."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    name = serializers.CharField()
    change = serializers.DictField()
    total = serializers.IntegerField()
    ended = serializers.IntegerField()
    failed = serializers.IntegerField()
    progress = serializers.FloatField(help_text="0 to 1.")
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class BatchDetailSerializer(BatchSerializer):
    summary = serializers.DictField()


class CancelledSerializer(serializers.Serializer[Any]):
    cancelled = serializers.IntegerField()


class ReplayPages(Pages):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


PAGES: list[OpenApiParameter] = page_parameters(ReplayPages)


# ------------------------------------------------------------------------------------------------ calls
def replay_reading_log(*, access: DeskAccess, replay: Replay) -> None:
    """Who looks at a replay has read the answer beside it."""
    if row := AnswerReview.objects.filter(message=replay.message_id).first():
        reading_log(access=access, row=row)


class AsyncDeskView(AsyncApiView):
    """A call of the desk that starts something on the loop."""

    content_negotiation_class = FirstRenderer

    async def access(self, request: Request) -> DeskAccess:
        return await sync_to_async(desk_access)(asking_user(request))


class AnswerReplayApi(AsyncDeskView):
    """`/api/review/answers/{message_id}/replay`."""

    @schema(
        operation_id="review_answer_replay",
        request=ChangeSerializer,
        responses={202: StartedSerializer, **errors(409)},
    )
    async def post(self, request: Request, message_id: UUID) -> Response:
        """Ask the stored question again, otherwise, in the name of its asker. The conversation is not touched."""
        access = await self.access(request)
        serializer = ChangeSerializer(data=request.data)
        await sync_to_async(serializer.is_valid)(raise_exception=True)
        change = serializer.change()
        await change_check(change)
        replay = await sync_to_async(replay_create)(access=access, message_id=message_id, change=change)
        await replay_start(replay.pk)
        return Response({"id": str(replay.pk), "url": f"/review/replays/{replay.pk}/"}, status=202)


class ReplaysApi(DeskView):
    """`/api/review/replays`."""

    @schema(
        operation_id="review_replays",
        parameters=PAGES,
        responses={200: page_of("ReplayPage", ReplayRowSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """Those made one by one, newest first."""
        return ReplayPages().answer(replay_list(), self, lambda rows: [replay_row(row) for row in rows])


class ReplayApi(DeskView):
    """`/api/review/replays/{id}`."""

    @schema(operation_id="review_replay", responses={200: ReplaySerializer})
    def get(self, request: Request, replay_id: UUID) -> Response:
        """Both answers and how they differ."""
        replay = replay_get(replay_id)
        replay_reading_log(access=self.access, replay=replay)
        return Response(replay_data(replay, reader=self.access.user))


class ReplayCancelApi(DeskView):
    """`/api/review/replays/{id}/cancel`."""

    @schema(operation_id="review_replay_cancel", request=None, responses={200: CancelledSerializer})
    def post(self, request: Request, replay_id: UUID) -> Response:
        """Stop it; one that has ended stays as it is."""
        checked(NoFieldsSerializer, request.data)
        replay = replay_get(replay_id)
        return Response({"cancelled": replay_cancel(replays=Replay.objects.filter(pk=replay.pk))})


class BatchesApi(AsyncDeskView):
    """`/api/review/replay-batches`."""

    @schema(
        operation_id="review_replay_batch_create",
        request=BatchInputSerializer,
        responses={202: StartedSerializer, **errors(409)},
    )
    async def post(self, request: Request) -> Response:
        """Replay many questions as a job of the workers, 500 at most."""
        access = await self.access(request)
        serializer = BatchInputSerializer(data=request.data)
        await sync_to_async(serializer.is_valid)(raise_exception=True)
        change = serializer.change()
        await change_check(change)
        batch = await sync_to_async(_batch)(access, serializer.validated_data, change)
        await sync_to_async(replays_queue)()
        return Response({"id": str(batch.pk), "url": f"/review/replays/batches/{batch.pk}/"}, status=202)

    @schema(
        operation_id="review_replay_batches",
        parameters=PAGES,
        responses={200: page_of("ReplayBatchPage", BatchSerializer(many=True))},
    )
    async def get(self, request: Request) -> Response:
        """Newest first."""
        await self.access(request)

        def page() -> Response:
            return ReplayPages().answer(batch_list(), self, lambda rows: [batch_data(row) for row in rows])

        return await sync_to_async(page)()


def _batch(access: DeskAccess, given: dict[str, Any], change: dict[str, Any]) -> ReplayBatch:
    name = given.get("name", "")
    if given.get("golden") is not None:
        set_name = None if given["golden"] == "*" else given["golden"]
        title = name or given["golden"].replace("*", "") or "Golden questions"
        return batch_create_golden(access=access, name=title, set_name=set_name, change=change)
    ids = given.get("message_ids")
    if ids is None:
        ids = answers_chosen(access=access, given=given["answers"], most=MAX_QUESTIONS)
    return batch_create(access=access, name=name or "Answers", message_ids=ids, change=change)


def answers_chosen(*, access: DeskAccess, given: Mapping[str, str], most: int) -> list[UUID]:
    """The first answers of the queue with these parameters. Raises InvalidInputError, RightMissingError."""
    if unknown := unknown_fields(given, list(QueueFiltersSerializer().fields)):
        raise InvalidInputError(fields={"answers": unknown})
    query = QueryDict(mutable=True)
    query.update(dict(given))
    filters = read_filters(checked(QueueFiltersSerializer, query))
    answers = answers_queue(access=access, filters=filters).order_by(*SORTS[filters.sort])
    return list(answers.values_list("message_id", flat=True)[:most])


class BatchApi(DeskView):
    """`/api/review/replay-batches/{id}`."""

    @schema(operation_id="review_replay_batch", responses={200: BatchDetailSerializer})
    def get(self, request: Request, batch_id: UUID) -> Response:
        """Its progress, and a summary of what has ended."""
        batch = batch_get(batch_id)
        return Response({**batch_data(batch), "summary": batch_summary(batch)})


class BatchReplaysApi(DeskView):
    """`/api/review/replay-batches/{id}/replays`."""

    @schema(
        operation_id="review_replay_batch_replays",
        parameters=PAGES,
        responses={200: page_of("BatchReplayPage", ReplayRowSerializer(many=True))},
    )
    def get(self, request: Request, batch_id: UUID) -> Response:
        """Its questions, in order."""
        return ReplayPages().answer(
            replays_of(batch_get(batch_id)), self, lambda rows: [replay_row(row) for row in rows]
        )


class BatchCancelApi(DeskView):
    """`/api/review/replay-batches/{id}/cancel`."""

    @schema(operation_id="review_replay_batch_cancel", request=None, responses={200: CancelledSerializer})
    def post(self, request: Request, batch_id: UUID) -> Response:
        """Stop what has not ended; what has stays."""
        checked(NoFieldsSerializer, request.data)
        batch = batch_get(batch_id)
        return Response({"cancelled": replay_cancel(replays=Replay.objects.filter(batch=batch))})
