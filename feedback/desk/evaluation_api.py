"""Evaluations over HTTP: sets, runs, two runs compared. Who reads at the desk may look; curators measure."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView
from chat.review.roles import Right
from feedback.desk.evaluation_data import question_data, run_data, set_data, stage_data
from feedback.evaluation.compare import (
    question_changes,
    questions_compared,
    runs_check,
    setup_changes,
    stages_compared,
)
from feedback.evaluation.runs import (
    alarm_acknowledge,
    evaluation_run_get,
    evaluation_runs,
    has_outcomes,
    run_cancel,
    run_create,
    runs_queue,
)
from feedback.evaluation.sets import (
    MAX_LIMIT,
    MAX_NAME_CHARS,
    evaluation_set_change,
    evaluation_set_delete,
    evaluation_set_get,
    evaluation_set_import,
    evaluation_sets,
    golden_set_add,
)
from feedback.models import EvaluationRun
from feedback.staff_api.base import StaffPagination, StaffQuerySerializer
from ragsite.core.api.fields import (
    FlagField,
    NoFieldsSerializer,
    NumberField,
    StrictSerializer,
    TextField,
    WholeNumberField,
    checked,
)
from ragsite.core.api.form_parser import FormParser
from ragsite.core.api.pagination import page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from retrieval.evaluation.stages import DECISIONS, STAGES

schema = partial(extend_schema, tags=["review"])
MAX_CUTOFF = 100
PAGES = page_parameters(StaffPagination)


# ------------------------------------------------------------------------------------------------ answered
class EvaluationSetSerializer(serializers.Serializer[Any]):
    """golden: the name of the set of golden questions, * for all; null: it was imported. questions: of a run."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    kind = serializers.ChoiceField(["golden", "imported"])
    golden = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    documents = serializers.IntegerField(allow_null=True)
    questions = serializers.IntegerField()
    may_decide = serializers.BooleanField(help_text="Whether it is known which decisions are right.")
    stages = serializers.ListField(child=serializers.CharField())
    workflow = serializers.CharField(help_text="Asked each night; empty: none.")
    limit = serializers.IntegerField()
    nightly = serializers.BooleanField()
    margin = serializers.FloatField()
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class EvaluationRunSerializer(serializers.Serializer[Any]):
    """figures: stage → ndcg@k, recall@k, recall@100, mrr (0 to 1), p50_ms, p95_ms. decisions: what the question is →
    what the workflow did → how often. worse: the stages that fell against the run `baseline_id`."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    set_id = serializers.UUIDField()
    set = serializers.CharField()
    status = serializers.ChoiceField(EvaluationRun.Status.choices)
    trigger = serializers.ChoiceField(EvaluationRun.Trigger.choices)
    tried = serializers.IntegerField(allow_null=True, help_text="A draft of settings that was tried by this run.")
    with_draft = serializers.BooleanField(help_text="Of such a run: whether with the draft or with what was live.")
    stages = serializers.ListField(child=serializers.CharField())
    k = serializers.IntegerField()
    workflow = serializers.CharField()
    limit = serializers.IntegerField()
    progress = serializers.FloatField(help_text="0 to 1.")
    activity = serializers.DictField(allow_null=True, help_text="{label, done, total} of what it does now.")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    questions = serializers.IntegerField()
    figures = serializers.DictField()
    decisions = serializers.DictField()
    right = serializers.DictField(allow_null=True, help_text="{right, of} decisions.")
    fallbacks = serializers.DictField()
    problems = serializers.DictField(help_text="Stage → why it could not be measured.")
    setup = serializers.DictField()
    error = serializers.DictField(allow_null=True)
    alarm = serializers.BooleanField()
    worse = serializers.ListField(child=serializers.DictField())
    baseline_id = serializers.UUIDField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_null=True)
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    accepted = serializers.BooleanField()
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class EvaluationStageChangeSerializer(serializers.Serializer[Any]):
    """A stage in two runs, over the questions of both. drop: before − after, with a 90 % interval. left_out: questions
    where a fallback served in one of the runs alone."""

    stage = serializers.CharField()
    questions = serializers.IntegerField()
    before = serializers.FloatField()
    after = serializers.FloatField()
    drop = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    better = serializers.IntegerField()
    worse = serializers.IntegerField()
    left_out = serializers.IntegerField()


class EvaluationQuestionSerializer(serializers.Serializer[Any]):
    """Scores 0 to 1: nDCG, of decisions 1 right, 0 wrong. first: the place of the first relevant document."""

    question = serializers.CharField()
    key = serializers.CharField()
    golden_id = serializers.UUIDField(allow_null=True)
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    first_before = serializers.IntegerField(allow_null=True)
    first_after = serializers.IntegerField(allow_null=True)
    decision_before = serializers.CharField()
    decision_after = serializers.CharField()


class EvaluationSetupChangeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class EvaluationComparisonSerializer(serializers.Serializer[Any]):
    """stages: of those that both runs have. questions: at `stage`, those whose score differs, the worst first. setup:
    what was changed on the site. questions_kept: false where a run is so old that its questions are forgotten."""

    before = EvaluationRunSerializer()
    after = EvaluationRunSerializer()
    stage = serializers.CharField()
    questions_kept = serializers.BooleanField()
    stages = EvaluationStageChangeSerializer(many=True)
    questions = EvaluationQuestionSerializer(many=True)
    setup = EvaluationSetupChangeSerializer(many=True)


# ------------------------------------------------------------------------------------------------ asked
class StagesField(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=serializers.ChoiceField(STAGES), allow_empty=False, max_length=len(STAGES), **kwargs)


class GoldenSetInputSerializer(StrictSerializer):
    golden = TextField(max_length=100, help_text="The name of a set of golden questions.")


class EvaluationImportSerializer(StrictSerializer):
    name = TextField(max_length=MAX_NAME_CHARS)
    corpus = serializers.FileField(help_text="corpus.jsonl: {id or _id, text, title …} a line.")
    queries = serializers.FileField(help_text="queries.jsonl: {id or _id, text, unanswerable, clarify} a line.")
    qrels = serializers.FileField(help_text="qrels.tsv: query, document, grade by tabs, or TREC's four columns.")


class EvaluationSetChangesSerializer(StrictSerializer):
    name = TextField(max_length=MAX_NAME_CHARS, required=False, help_text="Of an imported set.")
    stages = StagesField(required=False)
    workflow = TextField(max_length=40, required=False, allow_blank=True, help_text="Asked each night; empty: none.")
    limit = WholeNumberField(min_value=1, max_value=MAX_LIMIT, required=False)
    nightly = FlagField(required=False)
    margin = NumberField(min_value=0.0, max_value=1.0, required=False)


class EvaluationRunInputSerializer(StrictSerializer):
    """What is left out is as for the nights."""

    stages = StagesField(required=False)
    workflow = TextField(
        max_length=40, required=False, allow_blank=True, help_text="Asked every question; empty: none."
    )
    limit = WholeNumberField(min_value=1, max_value=MAX_LIMIT, required=False)
    k = WholeNumberField(min_value=1, max_value=MAX_CUTOFF, required=False, help_text="10 where it is left out.")


class EvaluationAcknowledgeSerializer(StrictSerializer):
    accept = FlagField(default=False, help_text="Later runs are compared with this one.")


class EvaluationStageQuerySerializer(StaffQuerySerializer):
    stage = serializers.ChoiceField(choices=[*STAGES, DECISIONS], default="hybrid")


class EvaluationCompareQuerySerializer(EvaluationStageQuerySerializer):
    before = serializers.UUIDField()
    after = serializers.UUIDField()


# ------------------------------------------------------------------------------------------------ calls
class CuratedView(DeskView):
    """Who reads at the desk may look; to change something takes a curator."""

    READING: ClassVar[tuple[str, ...]] = ("GET", "HEAD", "OPTIONS")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method not in self.READING:
            self.access.require("curate")


class EvaluationSetsApi(CuratedView):
    @schema(
        operation_id="review_evaluation_sets",
        parameters=PAGES,
        responses={200: page_of("EvaluationSetPage", EvaluationSetSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """What is measured."""
        return StaffPagination().answer(evaluation_sets(), self, lambda rows: [set_data(row) for row in rows])

    @schema(
        operation_id="review_evaluation_set_add",
        request=GoldenSetInputSerializer,
        responses={201: EvaluationSetSerializer, **errors(409)},
    )
    def post(self, request: Request) -> Response:
        """Measure a set of golden questions by itself, every night."""
        wanted = checked(GoldenSetInputSerializer, request.data)
        made = golden_set_add(by=self.access.user, golden=wanted["golden"])
        return Response(set_data(made), status=status.HTTP_201_CREATED)


class EvaluationImportApi(DeskView):
    rights: ClassVar[tuple[Right, ...]] = ("curate",)
    parser_classes = [FormParser]

    @schema(
        operation_id="review_evaluation_import",
        request={"multipart/form-data": EvaluationImportSerializer},
        responses={201: EvaluationSetSerializer, **errors(409, 413)},
    )
    def post(self, request: Request) -> Response:
        """Store a labelled set, in the form that `manage.py evaluate` reads. All of it is checked before."""
        wanted = checked(EvaluationImportSerializer, request.data)
        made = evaluation_set_import(by=self.access.user, name=wanted.pop("name"), files=wanted)
        return Response(set_data(made), status=status.HTTP_201_CREATED)


class EvaluationSetApi(CuratedView):
    @schema(operation_id="review_evaluation_set", responses={200: EvaluationSetSerializer})
    def get(self, request: Request, set_id: UUID) -> Response:
        return Response(set_data(evaluation_set_get(set_id)))

    @schema(
        operation_id="review_evaluation_set_change",
        request=EvaluationSetChangesSerializer,
        responses={200: EvaluationSetSerializer, **errors(409)},
    )
    def patch(self, request: Request, set_id: UUID) -> Response:
        """What is measured each night, and by how much a run may be worse."""
        chosen = evaluation_set_get(set_id)
        changes = checked(EvaluationSetChangesSerializer, request.data, partial=True)
        return Response(set_data(evaluation_set_change(chosen=chosen, changes=changes)))

    @schema(operation_id="review_evaluation_set_delete", responses={204: None, **errors(409)})
    def delete(self, request: Request, set_id: UUID) -> Response:
        """With its runs. Golden questions stay."""
        evaluation_set_delete(chosen=evaluation_set_get(set_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class EvaluationSetRunsApi(CuratedView):
    @schema(
        operation_id="review_evaluation_runs",
        parameters=PAGES,
        responses={200: page_of("EvaluationRunPage", EvaluationRunSerializer(many=True))},
    )
    def get(self, request: Request, set_id: UUID) -> Response:
        """Newest first."""
        runs = evaluation_runs(evaluation_set_get(set_id))
        return StaffPagination().answer(runs, self, lambda rows: [run_data(row) for row in rows])

    @schema(
        operation_id="review_evaluation_run_create",
        request=EvaluationRunInputSerializer,
        responses={202: EvaluationRunSerializer, **errors(409)},
    )
    def post(self, request: Request, set_id: UUID) -> Response:
        """Measure it now, as a job of the workers."""
        chosen = evaluation_set_get(set_id)
        wanted = checked(EvaluationRunInputSerializer, request.data)
        run = run_create(chosen=chosen, by=asking_user(request), **wanted)
        runs_queue()
        return Response(run_data(evaluation_run_get(run.pk)), status=status.HTTP_202_ACCEPTED)


class EvaluationRunApi(CuratedView):
    @schema(operation_id="review_evaluation_run", responses={200: EvaluationRunSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        return Response(run_data(evaluation_run_get(run_id)))


class EvaluationRunQuestionsApi(CuratedView):
    @schema(
        operation_id="review_evaluation_run_questions",
        parameters=[EvaluationStageQuerySerializer, *PAGES],
        responses={200: page_of("EvaluationQuestionPage", EvaluationQuestionSerializer(many=True))},
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """Its questions at a stage, the worst first, beside the run that it is compared with."""
        run = evaluation_run_get(run_id)
        stage = checked(EvaluationStageQuerySerializer, request.query_params)["stage"]
        rows = question_changes(run.baseline or run, run, stage=stage)
        rows.sort(key=lambda row: (row.after if row.after is not None else 2.0, row.key))
        return StaffPagination().answer(rows, self, lambda page: [question_data(row) for row in page])


class EvaluationRunCancelApi(CuratedView):
    @schema(
        operation_id="review_evaluation_run_cancel",
        request=None,
        responses={200: EvaluationRunSerializer},
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """Stop it within seconds; one that has ended stays as it is."""
        checked(NoFieldsSerializer, request.data)
        run = evaluation_run_get(run_id)
        run_cancel(run)
        return Response(run_data(evaluation_run_get(run.pk)))


class EvaluationRunAcknowledgeApi(CuratedView):
    @schema(
        operation_id="review_evaluation_run_acknowledge",
        request=EvaluationAcknowledgeSerializer,
        responses={200: EvaluationRunSerializer, **errors(409)},
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """Say that somebody has seen the alarm. 409 where there is none."""
        wanted = checked(EvaluationAcknowledgeSerializer, request.data)
        run = alarm_acknowledge(run=evaluation_run_get(run_id), by=self.access.user, accept=wanted["accept"])
        return Response(run_data(run))


class EvaluationCompareApi(CuratedView):
    @schema(
        operation_id="review_evaluation_compare",
        parameters=[EvaluationCompareQuerySerializer],
        responses={200: EvaluationComparisonSerializer},
    )
    def get(self, request: Request) -> Response:
        """Two complete runs of one set."""
        query = checked(EvaluationCompareQuerySerializer, request.query_params)
        before, after = evaluation_run_get(query["before"]), evaluation_run_get(query["after"])
        runs_check(before, after)
        questions = questions_compared(before, after, stage=query["stage"])
        return Response(
            {
                "before": run_data(before),
                "after": run_data(after),
                "stage": query["stage"],
                "questions_kept": has_outcomes(before) and has_outcomes(after),
                "stages": [stage_data(change) for change in stages_compared(before, after)],
                "questions": [question_data(change) for change in questions],
                "setup": [
                    {"name": name, "before": was, "after": now} for name, was, now in setup_changes(before, after)
                ],
            }
        )
