"""One knowledge gap over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView
from chat.review.replay.replay_run import OPEN
from chat.review.roles import DeskAccess, Right
from feedback.curation.gap_list import collection_named_for, gap_documents, gap_get
from feedback.curation.gap_todos import gap_ask_again, gap_mark, gap_merge, gap_results_take, gap_split
from feedback.models import GapRun, KnowledgeGap
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.schema import errors
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.models import Document


class KnowledgeGapSerializer(serializers.Serializer[Any]):
    """question: as people call it, empty where its conversations are gone. people: who asked. recent, earlier:
    questions of the last 30 days, and of the 30 before. wordings: distinct ones; asked_again, answered: of these. busy:
    a document is being read, or its questions are being asked."""

    id = serializers.IntegerField()
    question = serializers.CharField(allow_blank=True)
    collection = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(KnowledgeGap.State.choices)
    reopened = serializers.CharField(allow_blank=True, help_text="Why the site opened it again.")
    assignee = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    due = serializers.DateField(allow_null=True)
    questions = serializers.IntegerField()
    people = serializers.IntegerField()
    recent = serializers.IntegerField()
    earlier = serializers.IntegerField()
    wordings = serializers.IntegerField()
    asked_again = serializers.IntegerField()
    answered = serializers.IntegerField()
    newest_at = serializers.DateTimeField()
    merged_into = serializers.IntegerField(allow_null=True, help_text="The gap where its questions stand.")
    busy = serializers.BooleanField()


class GapChangesSerializer(StrictSerializer):
    state = serializers.ChoiceField(KnowledgeGap.State.choices, required=False)
    assignee = TextField(required=False, allow_blank=True, max_length=150, help_text="A user name; empty: nobody.")
    note = TextField(required=False, allow_blank=True, max_length=4000)
    due = serializers.DateField(required=False, allow_null=True)


class AskedAgainSerializer(serializers.Serializer[Any]):
    batch = serializers.UUIDField(help_text="`GET /api/review/replay-batches/{batch}` tells how far it is.")


class GapApi(DeskView):
    """`/api/review/gaps/{id}`."""

    @extend_schema(tags=["review"], operation_id="review_gap", responses={200: KnowledgeGapSerializer})
    def get(self, request: Request, gap_id: int) -> Response:
        gap_results_take()
        return Response(gap_data(self.access, gap_id))

    @extend_schema(
        tags=["review"], operation_id="review_gap_change", request=GapChangesSerializer,
        responses={200: KnowledgeGapSerializer},
    )  # fmt: skip
    def patch(self, request: Request, gap_id: int) -> Response:
        """Curators change its state, whom it is assigned to, its note and the day it is due."""
        self.access.require("curate")
        gap_mark(access=self.access, gap=gap_get(gap_id), changes=checked(GapChangesSerializer, request.data))
        return Response(gap_data(self.access, gap_id))


def gap_data(access: DeskAccess, gap_id: int) -> dict[str, Any]:
    """Raises NotFoundError."""
    gap: Any = gap_get(gap_id)
    figures = ("id", "state", "reopened", "note", "questions", "people", "recent", "earlier", "wordings",
               "asked_again", "answered")  # fmt: skip
    return {
        **{name: getattr(gap, name) for name in figures},
        "question": gap.called or "",
        "collection": collection_named_for(access, [gap]).get(gap.pk, ""),
        "assignee": gap.assignee.get_username() if gap.assignee else None,
        "due": gap.due.isoformat() if gap.due else None,
        "newest_at": gap.newest_at.isoformat(),
        "merged_into": gap.merged_into_id,
        "busy": gap_is_busy(gap),
    }


class GapAskApi(DeskView):
    """`/api/review/gaps/{id}/ask`."""

    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @extend_schema(
        tags=["review"], operation_id="review_gap_ask", request=None,
        responses={202: AskedAgainSerializer, **errors(409)},
    )  # fmt: skip
    def post(self, request: Request, gap_id: int) -> Response:
        """Ask its questions again, as those who asked may search; a worker does it."""
        run = gap_ask_again(access=self.access, gap=gap_get(gap_id))
        return Response({"batch": str(run.batch_id)}, status=202)


class GapMergeSerializer(StrictSerializer):
    into = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The gap that it is one with.")


class GapMergeApi(DeskView):
    """`/api/review/gaps/{id}/merge`."""

    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @extend_schema(
        tags=["review"], operation_id="review_gap_merge", request=GapMergeSerializer,
        responses={200: KnowledgeGapSerializer, **errors(409)},
    )  # fmt: skip
    def post(self, request: Request, gap_id: int) -> Response:
        """Both are one to-do: its questions go to the other, which is returned. `split` undoes it."""
        gap = gap_get(gap_id)
        wanted = checked(GapMergeSerializer, request.data)["into"]
        try:
            other = gap_get(wanted)
        except NotFoundError as error:
            raise InvalidInputError(fields={"into": [worded("There is no such gap; choose another one.")]}) from error
        gap_merge(access=self.access, gap=gap, into=other)
        return Response(gap_data(self.access, wanted))


class GapSplitApi(DeskView):
    """`/api/review/gaps/{id}/split`."""

    rights: ClassVar[tuple[Right, ...]] = ("curate",)

    @extend_schema(
        tags=["review"], operation_id="review_gap_split", request=None,
        responses={200: KnowledgeGapSerializer, **errors(409)},
    )  # fmt: skip
    def post(self, request: Request, gap_id: int) -> Response:
        """Take it out of the gap that it was merged into, with its questions."""
        gap_split(access=self.access, gap=gap_get(gap_id))
        return Response(gap_data(self.access, gap_id))


def gap_is_busy(gap: KnowledgeGap) -> bool:
    done = (Document.Status.READY, Document.Status.FAILED)
    reading = gap_documents(gap).exclude(document__status__in=done).exists()
    return reading or GapRun.objects.filter(gap=gap, batch__replays__status__in=OPEN).exists()
