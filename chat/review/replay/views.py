"""Replays over HTTP and as pages: the form, and both answers side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from chat import labels
from chat.api.question_serializers import OptionsSerializer
from chat.messages.answer_serializers import AnswerSerializer
from chat.models import AnswerReview, Replay
from chat.review.api import DeskView, schema
from chat.review.desk_page import desk_page, problem_sentences
from chat.review.marks import readings_log
from chat.review.records import ended_answers
from chat.review.replay.differences import (
    figures,
    source_differences,
    step_differences,
    text_differences,
)
from chat.review.replay.replay_data import replay_data
from chat.review.replay.replay_run import NO_REVISION, OPEN
from chat.review.replay.replays import (
    change_words,
    model_status,
    option_label,
    replay_get,
    replays_create,
    replays_latest,
    revisions_offered,
)
from chat.review.roles import DeskAccess
from ragsite.core.api.fields import StrictSerializer, TextField, checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import errors
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.engine.workflows.registry import available_workflows
from retrieval.knowledge.api.question_fields import FiltersSerializer, search_filters
from retrieval.knowledge.selectors import as_uuid

ON_A_PAGE = 100
OPTIONS = ("rewrite", "hyde", "rerank", "judge", "web_search")
_DOCUMENT_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(/documents/[0-9a-f-]{36}/\)")


# ------------------------------------------------------------------------------------------------ API
class ChangeSerializer(StrictSerializer):
    """What is done otherwise than as asked; what is left out or null stays."""

    workflow = serializers.ChoiceField(
        choices=available_workflows(), required=False, allow_null=True
    )
    model = TextField(
        required=False,
        allow_null=True,
        max_length=200,
        help_text="One that the model server lists.",
    )
    options = OptionsSerializer(required=False, allow_null=True)
    filters = FiltersSerializer(
        required=False, allow_null=True, help_text="In place of all filters; {}: none."
    )
    revision = TextField(
        required=False,
        allow_null=True,
        max_length=36,
        help_text="The id of a boost revision; none: without boosts; left out: the live one.",
    )

    def validate_model(self, model: str | None) -> str | None:
        if model and model not in (status := model_status()).chat_models:
            unlisted = worded(
                "The model server has no model with this name. Choose one from its list."
            )
            _refuse(unlisted if status.reachable else status.reason)
        return model

    def validate_revision(self, revision: str | None) -> str | None:
        if revision and revision not in (
            NO_REVISION,
            *(str(one.pk) for one in revisions_offered()),
        ):
            _refuse(worded("There is no such ranking change; choose another one."))
        return revision

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """As it is stored in a replay."""
        change = {name: value for name, value in attrs.items() if value}
        if options := {
            name: value for name, value in change.pop("options", {}).items() if value is not None
        }:
            change["options"] = options
        if attrs.get("filters") is not None:
            change["filters"] = search_filters(attrs["filters"]).as_dict()
        return change


def _refuse(sentence: str) -> NoReturn:
    raise serializers.ValidationError(localized(sentence))


class StartedSerializer(serializers.Serializer[Any]):
    """url: its page."""

    id = serializers.UUIDField()
    url = serializers.CharField()


class DifferenceSerializer(serializers.Serializer[Any]):
    """One difference; the other fields depend on `kind`."""

    kind = serializers.CharField(
        help_text="status, decision, workflow, model, answer, source, step, usage."
    )


class ReplayedAnswerSerializer(AnswerSerializer):
    """An answer that is no message of a conversation: it has no ids."""

    session_id = serializers.UUIDField(allow_null=True)
    message_id = serializers.UUIDField(allow_null=True)


class ReplaySerializer(serializers.Serializer[Any]):
    """Both answers as messages. `replay` is null until it is complete."""

    id = serializers.UUIDField()
    message_id = serializers.UUIDField()
    question = serializers.CharField()
    status = serializers.ChoiceField(Replay.Status.choices)
    change = serializers.DictField()
    error = serializers.DictField(allow_null=True)
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    original = ReplayedAnswerSerializer(allow_null=True)
    replay = ReplayedAnswerSerializer(allow_null=True)
    differences = DifferenceSerializer(many=True)


class AnswerReplayApi(DeskView):
    """`/api/review/answers/{message_id}/replay`."""

    @schema(
        operation_id="review_answer_replay",
        request=ChangeSerializer,
        responses={202: StartedSerializer, **errors(409)},
    )
    def post(self, request: Request, message_id: UUID) -> Response:
        """Ask the stored question again, otherwise, in the name of its asker. The conversation is not touched."""
        change = checked(ChangeSerializer, request.data)
        (replay,) = replays_create(access=self.access, message_ids=[message_id], change=change)
        started = {"id": replay.pk, "url": f"/review/replays/{replay.pk}/"}
        return Response(rendered(StartedSerializer, started), status=202)


class ReplayApi(DeskView):
    """`/api/review/replays/{id}`."""

    @schema(operation_id="review_replay", responses={200: ReplaySerializer})
    def get(self, request: Request, replay_id: UUID) -> Response:
        """Both answers and how they differ."""
        return Response(rendered(ReplaySerializer, _read(replay_get(replay_id), self.access)))


def _read(replay: Replay, access: DeskAccess) -> dict[str, Any]:
    """Opening a replay counts as reading the answer beside it."""
    readings_log(user=access.user, rows=AnswerReview.objects.filter(message=replay.message_id))
    return replay_data(replay, reader=access.user)


# ------------------------------------------------------------------------------------------------ pages
@desk_page(query=("answer",), methods=("GET", "HEAD", "POST"))
def replay_new_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The form. `answer`: of this one. What is left as it is, is not sent."""
    answers = ended_answers().select_related("reply_to").filter(reply_to__isnull=False)
    key = as_uuid(request.GET.get("answer", ""))
    message = answers.filter(pk=key).first() if key else None
    if message is None:
        raise NotFoundError
    problems: list[str] = []
    if request.method == "POST":
        try:
            change = checked(ChangeSerializer, _posted(request.POST))
            (replay,) = replays_create(access=access, message_ids=[message.pk], change=change)
            return redirect("review_replay", replay_id=replay.pk)
        except (ValidationError, AppError) as error:
            problems = problem_sentences(error)
    context = {
        "section": "review",
        "access": access,
        "answer": message,
        "problems": problems,
        "workflows": available_workflows(),
        "models": model_status().chat_models,
        "revisions": revisions_offered(),
        "options": [(name, option_label(name)) for name in OPTIONS],
        "no_revision": NO_REVISION,
    }
    return render(request, "review/replay_new.html", context, status=400 if problems else 200)


def _posted(form: Mapping[str, str]) -> dict[str, Any]:
    """The form as the API takes it, which says what is wrong with it."""
    options: dict[str, Any] = {name: form[name] == "true" for name in OPTIONS if form.get(name)}
    change: dict[str, Any] = {
        name: form[name] for name in ("workflow", "model", "revision") if form.get(name)
    }
    change["options"] = options | {"top_k": _number(form.get("top_k", ""))}
    if form.get("own_filters"):
        change["filters"] = {
            "department": form.get("department", ""),
            "doc_type": form.get("doc_type", ""),
            "policy_year": _number(form.get("policy_year", "")),
            "tags": [
                tag.strip() for tag in re.split("[,，、;；]", form.get("tags", "")) if tag.strip()
            ],
        }
    return change


def _number(text: str) -> int | str | None:
    """None where nothing is written; what is no number, or a huge one, stays, to be refused."""
    return int(text) if text.isdecimal() and len(text) < 10 else text or None


@desk_page()
def replays_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    return render(
        request,
        "review/replays.html",
        {"section": "review", "replays": replays_latest(most=ON_A_PAGE)},
    )


@desk_page()
def replay_page(request: HttpRequest, *, access: DeskAccess, replay_id: UUID) -> HttpResponse:
    """Both answers side by side."""
    replay = replay_get(replay_id)
    data = _read(replay, access)
    context = {
        "section": "review",
        "access": access,
        "replay": replay,
        "change": change_words(replay.change),
        "data": data,
        "open": replay.status in OPEN,
        "comparison": comparison(data["original"], data["replay"])
        if data["original"] and data["replay"]
        else None,
    }
    return render(request, "review/replay.html", context)


def comparison(original: Mapping[str, Any], replay: Mapping[str, Any]) -> dict[str, Any]:
    """Both as `message_data`: rows for the page's tables."""
    both = (original, replay)
    return {
        "decisions": [labels.label(labels.DECISIONS, data["decision"] or "") for data in both],
        "statuses": [labels.label(labels.STATUSES, data["status"]) for data in both],
        "words": text_differences(*(_DOCUMENT_LINK.sub(r"\1", data["answer"]) for data in both)),
        "same_text": original["answer"] == replay["answer"],
        "sources": [row | {"moved_down": -row["moved"]} for row in source_differences(*both)],
        "steps": [
            row | {"label": labels.label(labels.STEPS, row["name"])}
            for row in step_differences(*both)
        ],
        "figures": figures(*both),
    }
