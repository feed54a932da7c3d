"""Experiments over HTTP. All at the desk may read them; administrators of the desk make, start and stop them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api.serializers import OptionsSerializer
from chat.models import Experiment
from chat.review.api import DeskView, schema
from chat.review.figures.experiments import (
    LEAST_MINIMUM,
    LEAST_SHARE,
    MOST_MINIMUM,
    MOST_SHARE,
    experiment_create,
    experiment_get,
    experiment_list,
    experiment_result,
    experiment_start,
    experiment_stop,
)
from chat.review.figures.stats_api import RateSerializer
from chat.review.replay.replay_api import ReplayPages
from ragsite.core.api.fields import (
    NoFieldsSerializer,
    NumberField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
)
from ragsite.core.api.pagination import page_of, page_parameters
from ragsite.core.api.schema import errors
from retrieval.workflows import available_workflows


class ExperimentInputSerializer(StrictSerializer):
    """B differs from A, which is what is asked by default, by its workflow or by an option."""

    name = TextField(max_length=120)
    share = NumberField(
        required=False, default=0.5, min_value=LEAST_SHARE, max_value=MOST_SHARE, help_text="Of the people, for B."
    )
    workflow = serializers.ChoiceField(choices=available_workflows(), required=False, allow_null=True)
    options = OptionsSerializer(required=False, allow_null=True)
    minimum = WholeNumberField(
        required=False, default=30, min_value=LEAST_MINIMUM, max_value=MOST_MINIMUM,
        help_text="People of each variant who have rated, before anything is concluded.",
    )  # fmt: skip


class ExperimentSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    state = serializers.ChoiceField(Experiment.State.choices)
    share = serializers.FloatField()
    workflow = serializers.CharField(help_text="Of B.")
    options = serializers.DictField()
    minimum = serializers.IntegerField()
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    stopped_at = serializers.DateTimeField(allow_null=True)


class ArmSerializer(serializers.Serializer[Any]):
    """people: one observation of each person, which the test is made of. rated: of all rated answers, for reading."""

    answers = serializers.IntegerField()
    users = serializers.IntegerField()
    people = RateSerializer()
    rated = RateSerializer()
    bad = RateSerializer()
    no_answer = RateSerializer()
    weak = RateSerializer()
    degraded = RateSerializer()
    mean_ms = serializers.IntegerField(allow_null=True)


class ArmsSerializer(serializers.Serializer[Any]):
    A = ArmSerializer()
    B = ArmSerializer()


class ResultSerializer(serializers.Serializer[Any]):
    """e_value: evidence against equal rates; at `needed` or more at any look (`highest`) they differ, wrongly so in at
    most `alpha` of all experiments without a difference, however often one looks."""

    arms = ArmsSerializer()
    e_value = serializers.FloatField()
    highest = serializers.FloatField()
    needed = serializers.FloatField()
    alpha = serializers.FloatField()
    blocks = serializers.IntegerField()
    minimum = serializers.IntegerField()
    enough = serializers.BooleanField()
    conclusion = serializers.ChoiceField(["none", "A", "B"], help_text="Whose answers are rated well more often.")


class ExperimentDetailSerializer(ExperimentSerializer):
    result = ResultSerializer()


def experiment_data(experiment: Experiment) -> dict[str, Any]:
    return {
        "id": str(experiment.pk),
        "name": experiment.name,
        "state": experiment.state,
        "share": experiment.share,
        "workflow": experiment.workflow or settings.RAG.answer.workflow,
        "options": experiment.options,
        "minimum": experiment.minimum,
        "by": experiment.made_by.get_username() if experiment.made_by else None,
        "created_at": experiment.created_at.isoformat(),
        "started_at": experiment.started_at.isoformat() if experiment.started_at else None,
        "stopped_at": experiment.stopped_at.isoformat() if experiment.stopped_at else None,
    }


class ExperimentsApi(DeskView):
    """`/api/review/experiments`."""

    @schema(
        operation_id="review_experiments",
        parameters=page_parameters(ReplayPages),
        responses={200: page_of("ExperimentPage", ExperimentSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        return ReplayPages().answer(experiment_list(), self, lambda rows: [experiment_data(row) for row in rows])

    @schema(
        operation_id="review_experiment_create",
        request=ExperimentInputSerializer,
        responses={201: ExperimentSerializer},
    )
    def post(self, request: Request) -> Response:
        """A draft; nobody is answered otherwise before it is started."""
        self.access.require("administer")
        given = checked(ExperimentInputSerializer, request.data)
        options = {name: value for name, value in (given.get("options") or {}).items() if value is not None}
        experiment = experiment_create(
            access=self.access, name=given["name"], share=given["share"], workflow=given.get("workflow") or "",
            options=options, minimum=given["minimum"],
        )  # fmt: skip
        return Response(experiment_data(experiment), status=201)


class ExperimentApi(DeskView):
    """`/api/review/experiments/{id}`."""

    @schema(operation_id="review_experiment", responses={200: ExperimentDetailSerializer})
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """With what came of it so far."""
        experiment = experiment_get(experiment_id)
        return Response({**experiment_data(experiment), "result": experiment_result(experiment)})


class ExperimentStartApi(DeskView):
    """`/api/review/experiments/{id}/start`."""

    rights = ("administer",)

    @schema(operation_id="review_experiment_start", request=None, responses={200: ExperimentSerializer, **errors(409)})
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """From the next question on its share of people gets B."""
        checked(NoFieldsSerializer, request.data)
        return Response(experiment_data(experiment_start(access=self.access, experiment_id=experiment_id)))


class ExperimentStopApi(DeskView):
    """`/api/review/experiments/{id}/stop`."""

    rights = ("administer",)

    @schema(operation_id="review_experiment_stop", request=None, responses={200: ExperimentSerializer})
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """From the next question on everybody gets A again."""
        checked(NoFieldsSerializer, request.data)
        return Response(experiment_data(experiment_stop(access=self.access, experiment_id=experiment_id)))
