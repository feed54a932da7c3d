"""Revisions over HTTP: what they change, what was measured, and who decides."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.models import User
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.roles import Right
from feedback.curation.sentences import guard_sentences
from feedback.models import Boost, Revision, RevisionEvent, round_told
from feedback.rounds.live import feedback_state
from feedback.rounds.resets import reset_document, reset_rater
from feedback.rounds.revisions import feedback_freeze, revision_hold, revision_release, revision_roll_back
from feedback.staff_api.base import StaffQuerySerializer, StaffView, WhySerializer, list_schema, row_get, schema
from ragsite.core.api.fields import FlagField, IdField, TextField, checked
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.models import Document

REVISIONS = Revision.objects.select_related("parent", "made_by", "live_by").defer("content", "parent__content")


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """summary: counts of boosts and what was added, changed, removed. guard: what was measured, with the questions that
    got worse; guard_sentences: the same in words. reason: why it has its status. parent: the number of the one that was
    live when it was made."""

    parent = serializers.IntegerField(  # type: ignore[assignment]  # the metaclass takes fields out of the class
        source="parent.number", default=None, allow_null=True
    )
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True)
    live_by = serializers.CharField(source="live_by.username", default=None, allow_null=True)
    guard_sentences = serializers.SerializerMethodField()

    reason = serializers.CharField(source="reason_said", read_only=True)
    guard = serializers.JSONField(source="measured", read_only=True)

    def get_guard_sentences(self, revision: Revision) -> list[str]:
        return guard_sentences(revision.measured)

    class Meta:
        model = Revision
        fields = [
            "id", "number", "parent", "status", "reason", "summary", "guard", "guard_sentences", "made_by", "live_by",
            "created_at", "live_at", "ended_at",
        ]  # fmt: skip
        read_only_fields = fields


class BoostSerializer(serializers.ModelSerializer[Boost]):
    """A multiplier before and after; 1 means there was or is none."""

    document_title = serializers.CharField(source="document.title")
    chunk_id = serializers.UUIDField(source="passage.chunk_id", default=None, allow_null=True)
    question = serializers.CharField(source="question.text", default=None, allow_null=True)

    class Meta:
        model = Boost
        fields = [
            "kind", "change", "document", "document_title", "chunk_id", "question", "before", "after", "raters_up",
            "raters_down",
        ]  # fmt: skip
        read_only_fields = fields


class EventSerializer(serializers.ModelSerializer[RevisionEvent]):
    """by: null for the periodic round."""

    revision = serializers.IntegerField(source="revision.number", default=None, allow_null=True)
    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    rater = serializers.CharField(source="rater.username", default=None, allow_null=True)

    why = serializers.CharField(source="why_said", read_only=True)
    detail = serializers.JSONField(source="facts", read_only=True)

    class Meta:
        model = RevisionEvent
        fields = ["id", "action", "revision", "document_id", "rater", "by", "why", "detail", "at"]
        read_only_fields = fields


class RevisionListQuerySerializer(StaffQuerySerializer):
    status = serializers.ChoiceField(choices=Revision.Status.choices, required=False)


class StateSerializer(serializers.Serializer[Any]):
    """live: the live revision's id and number, null for none. last_round: the outcome of the last one."""

    live = serializers.UUIDField(source="live_id", allow_null=True)
    live_number = serializers.IntegerField(source="live.number", default=None, allow_null=True)
    version = serializers.IntegerField()
    frozen = serializers.BooleanField()
    last_round_at = serializers.DateTimeField(allow_null=True)
    last_round = serializers.DictField(source="last_round_told")


class RollBackSerializer(WhySerializer):
    """to: an earlier revision that was live; by default the one before. freeze: rounds, for the next one would draw
    the same from the same ratings."""

    to = IdField(required=False, allow_null=True)
    freeze = FlagField(default=True)


class FreezeSerializer(WhySerializer):
    frozen = FlagField(default=True, help_text="false: let rounds propose again.")


class ResetSerializer(WhySerializer):
    """What was said of a document, or by a rater, counts no more. Give one of them."""

    schema_rules = {"oneOf": [{"required": ["document"]}, {"required": ["rater"]}]}

    document = IdField(required=False)
    rater = TextField(required=False, max_length=150, help_text="A user name.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("document" in attrs) == ("rater" in attrs):
            raise serializers.ValidationError({"document": ["Give a document or a rater, one of them."]})
        return attrs


class DecidingView(StaffView):
    """What is live is decided by administrators of the desk."""

    changes: ClassVar[tuple[Right, ...]] = ("administer",)


class RevisionsApi(DecidingView):
    @list_schema("feedback_revisions_list", "RevisionPage", RevisionSerializer, RevisionListQuerySerializer)
    def get(self, request: Request) -> Response:
        """The newest first."""
        rows = REVISIONS.all().filter(**checked(RevisionListQuerySerializer, request.query_params))
        return self.paged(rows, RevisionSerializer)


class RevisionApi(DecidingView):
    @schema(operation_id="feedback_revision", responses={200: RevisionSerializer})
    def get(self, request: Request, revision_id: UUID) -> Response:
        """One revision; `…/boosts` and `…/events` tell the rest of it."""
        return Response(RevisionSerializer(row_get(REVISIONS, pk=revision_id)).data)


class RevisionBoostsApi(DecidingView):
    @list_schema("feedback_revision_boosts", "BoostPage", BoostSerializer)
    def get(self, request: Request, revision_id: UUID) -> Response:
        """How it differs from its parent: every boost before and after."""
        revision = row_get(REVISIONS, pk=revision_id)
        rows = revision.boosts.select_related("document", "passage", "question")
        return self.paged(rows, BoostSerializer)


class RevisionReleaseApi(DecidingView):
    @schema(request=WhySerializer, responses={200: RevisionSerializer, **errors(409)})
    def post(self, request: Request, revision_id: UUID) -> Response:
        """Make one that waits live, in spite of the guard."""
        revision, why = row_get(REVISIONS, pk=revision_id), checked(WhySerializer, request.data)["why"]
        return Response(RevisionSerializer(revision_release(revision=revision, by=asking_user(request), why=why)).data)


class RevisionHoldApi(DecidingView):
    @schema(request=WhySerializer, responses={200: RevisionSerializer, **errors(409)})
    def post(self, request: Request, revision_id: UUID) -> Response:
        """Keep a proposed one from going live."""
        revision, why = row_get(REVISIONS, pk=revision_id), checked(WhySerializer, request.data)["why"]
        return Response(RevisionSerializer(revision_hold(revision=revision, by=asking_user(request), why=why)).data)


class RevisionRollBackApi(DecidingView):
    @schema(request=RollBackSerializer, responses={200: StateSerializer, **errors(409)})
    def post(self, request: Request, revision_id: UUID) -> Response:
        """Take the live revision back. It has to be the one that is named: 409 when another went live meanwhile."""
        revision, wanted = row_get(REVISIONS, pk=revision_id), checked(RollBackSerializer, request.data)
        to = row_get(REVISIONS, pk=wanted["to"]) if wanted.get("to") else None
        why, freeze = wanted["why"], wanted["freeze"]
        revision_roll_back(revision=revision, by=asking_user(request), why=why, to=to, freeze=freeze)
        return Response(StateSerializer(feedback_state()).data)


class FeedbackStateApi(DecidingView):
    @schema(operation_id="feedback_state", responses={200: StateSerializer})
    def get(self, request: Request) -> Response:
        """What is live, whether rounds are frozen, and what the last round did."""
        return Response(StateSerializer(feedback_state()).data)


class FreezeApi(DecidingView):
    @schema(request=FreezeSerializer, responses={200: StateSerializer})
    def post(self, request: Request) -> Response:
        """Stop rounds from proposing anything, or let them again. Said twice it is no error."""
        wanted = checked(FreezeSerializer, request.data)
        feedback_freeze(by=asking_user(request), why=wanted["why"], frozen=wanted["frozen"])
        return Response(StateSerializer(feedback_state()).data)


class ResetApi(DecidingView):
    @schema(request=ResetSerializer, responses={200: OpenApiTypes.OBJECT, **errors(409)})
    def post(self, request: Request) -> Response:
        """Discard the evidence on a document or by a rater, and run a round; answers with its outcome.

        Status `queued`: a worker runs it, and its outcome will be `last_round` of the state.
        """
        wanted, by = checked(ResetSerializer, request.data), asking_user(request)
        if "document" in wanted:
            document = row_get(Document.objects.all(), pk=wanted["document"])
            outcome = reset_document(document=document, by=by, why=wanted["why"])
        else:
            rater = row_get(User.objects.all(), username=wanted["rater"])
            outcome = reset_rater(rater=rater, by=by, why=wanted["why"])
        return Response(round_told(outcome.as_dict()))


class EventsQuerySerializer(StaffQuerySerializer):
    revision = serializers.UUIDField(required=False)
    document = serializers.UUIDField(required=False)
    action = serializers.ChoiceField(choices=RevisionEvent.Action.choices, required=False)


class EventsApi(DecidingView):
    rights: ClassVar[tuple[Right, ...]] = ("administer", "names")  # of raters

    @list_schema("feedback_events_list", "FeedbackEventPage", EventSerializer, EventsQuerySerializer)
    def get(self, request: Request) -> Response:
        """The log: who or what did what, when and why; the newest first."""
        wanted = checked(EventsQuerySerializer, request.query_params)
        names = {"revision": "revision_id", "document": "document_id", "action": "action"}
        rows = RevisionEvent.objects.filter(**{names[key]: value for key, value in wanted.items()})
        rows = rows.select_related("revision", "by", "rater").defer("revision__content")
        return self.paged(rows, EventSerializer)
