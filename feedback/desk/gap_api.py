"""One knowledge gap over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView
from chat.review.replay.replay_run import OPEN
from chat.review.roles import Right
from feedback.curation.gap_list import collection_named_for, gap_get
from feedback.curation.gap_todos import gap_ask_again, gap_mark, gap_results_take
from feedback.models import GapRun, KnowledgeGap
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.schema import errors
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
        return Response(self._told(gap_id))

    @extend_schema(
        tags=["review"], operation_id="review_gap_change", request=GapChangesSerializer,
        responses={200: KnowledgeGapSerializer},
    )  # fmt: skip
    def patch(self, request: Request, gap_id: int) -> Response:
        """Curators change its state, whom it is assigned to, its note and the day it is due."""
        self.access.require("curate")
        gap_mark(access=self.access, gap=gap_get(gap_id), changes=checked(GapChangesSerializer, request.data))
        return Response(self._told(gap_id))

    def _told(self, gap_id: int) -> Any:
        gap: Any = gap_get(gap_id)
        figures = ("id", "state", "reopened", "note", "questions", "people", "recent", "earlier", "wordings",
                   "asked_again", "answered")  # fmt: skip
        return {
            **{name: getattr(gap, name) for name in figures},
            "question": gap.called or "",
            "collection": collection_named_for(self.access, [gap]).get(gap.pk, ""),
            "assignee": gap.assignee.get_username() if gap.assignee else None,
            "due": gap.due.isoformat() if gap.due else None,
            "newest_at": gap.newest_at.isoformat(),
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


def gap_is_busy(gap: KnowledgeGap) -> bool:
    done = (Document.Status.READY, Document.Status.FAILED)
    reading = gap.documents.exclude(document__status__in=done).exists()
    return reading or GapRun.objects.filter(gap=gap, batch__replays__status__in=OPEN).exists()
