"""Settings over HTTP, for administrators of the desk: read, change a draft, try it, make it live, roll back."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.review.api import DeskView, schema
from chat.review.replay.replay_api import ReplayPages
from chat.review.replay.replays import models_listed
from chat.review.settings.revisions import (
    ALL_SETS,
    NOTE_CHARS,
    draft_discard,
    draft_get,
    draft_live,
    draft_rebase,
    draft_save,
    draft_try,
    history,
    restore,
    revision_get,
    try_cancel,
    try_get,
)
from chat.review.settings.shown import (
    draft_data,
    operator_data,
    prompt_data,
    prompt_rows,
    revision_data,
    sections_data,
    try_data,
    view_of,
)
from ragsite.core.api.fields import NoFieldsSerializer, StrictSerializer, TextField, checked
from ragsite.core.api.pagination import page_of, page_parameters
from ragsite.core.api.schema import errors
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.rag_settings.offered import OFFERED, kind_of
from ragsite.core.wording import worded
from ragsite.models import SettingRevision
from ragsite.runtime import live_settings
from retrieval.prompting import MAX_CHARS, built_in_prompts

MOST_NAMES = 500


# ------------------------------------------------------------------------------------------------ input
class ValuesField(serializers.DictField):
    """Setting → its value: a number, a text, true or false."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        values = super().to_internal_value(data)
        wrong = {name: [said] for name, value in values.items() if (said := _wrong_type(name, value))}
        if wrong:
            raise InvalidInputError(fields={"values": wrong})
        return values


def _wrong_type(name: str, value: Any) -> str | None:
    """A form sends text for everything; JSON has types."""
    if name not in OFFERED:
        return worded("This version has no such setting.")
    kind = kind_of(name)
    if kind == "flag":
        return None if isinstance(value, bool) else worded("Give true or false.")
    if kind in ("whole", "number"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else worded("Give a number.")
    return None if isinstance(value, str) else worded("Give a text.")


class DraftInputSerializer(StrictSerializer):
    """What is to change of your draft; one is begun where there is none."""

    values = ValuesField(required=False, help_text="Setting, such as search.top_k, and its value.")
    reset = serializers.ListField(
        child=TextField(max_length=100),
        required=False,
        max_length=MOST_NAMES,
        help_text="Settings as the operator has them.",
    )
    prompts = serializers.DictField(
        child=TextField(allow_null=True, allow_blank=True, max_length=2 * MAX_CHARS, trim_whitespace=False),
        required=False,
        help_text="Prompt, such as generate.en, and its text; null: the shipped one.",
    )


class NoteSerializer(StrictSerializer):
    note = TextField(required=False, allow_blank=True, max_length=NOTE_CHARS, help_text="Why.")


class TrySerializer(StrictSerializer):
    golden = TextField(
        required=False,
        default=ALL_SETS,
        allow_blank=True,
        max_length=100,
        help_text="A set of golden questions; *: all.",
    )


# ------------------------------------------------------------------------------------------------ output
class SettingRevisionSerializer(serializers.Serializer[Any]):
    """Settings that are or were live. values, prompts: what differs from the operator's; of prompts the names."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(SettingRevision.State.choices)
    values = serializers.DictField()
    prompts = serializers.ListField(child=serializers.CharField())
    changes = serializers.IntegerField()
    restores = serializers.IntegerField(allow_null=True)
    note = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    live_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class SettingDifferenceSerializer(serializers.Serializer[Any]):
    """before, after: values; of a prompt its text, null where it is the shipped one."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    prompt = serializers.BooleanField()
    before = serializers.JSONField()
    after = serializers.JSONField()


class DraftSerializer(serializers.Serializer[Any]):
    """outdated: another revision has gone live since it was begun. differences: to what is live."""

    base = serializers.IntegerField(allow_null=True)
    outdated = serializers.BooleanField()
    differences = SettingDifferenceSerializer(many=True)
    prompts = serializers.ListField(child=serializers.CharField())
    changed_at = serializers.DateTimeField()


class SettingSerializer(serializers.Serializer[Any]):
    """value: that is live. draft: null without a draft. default: where no revision sets it."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    meaning = serializers.CharField()
    variable = serializers.CharField()
    kind = serializers.ChoiceField(["flag", "whole", "number", "choice", "model", "models"])
    choices = serializers.ListField(child=serializers.CharField())
    bounds = serializers.DictField(child=serializers.FloatField(), help_text="least, most; above: not taken itself.")
    value = serializers.JSONField()
    draft = serializers.JSONField()
    default = serializers.JSONField()
    origin = serializers.ChoiceField(["default", "environment", "revision"])
    revision = serializers.IntegerField(allow_null=True)
    locked = serializers.BooleanField()
    changed = serializers.BooleanField()


class SectionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    settings = SettingSerializer(many=True)


class OperatorSettingSerializer(serializers.Serializer[Any]):
    """Not offered here. value: null also where it may hold an address or a secret."""

    variable = serializers.CharField()
    value = serializers.JSONField()
    reason = serializers.CharField()


class PromptRowSerializer(serializers.Serializer[Any]):
    """replaced: by what is live. changed: by the draft."""

    name = serializers.CharField()
    about = serializers.CharField()
    locked = serializers.BooleanField()
    replaced = serializers.BooleanField()
    changed = serializers.BooleanField()


class AllSettingsSerializer(serializers.Serializer[Any]):
    """problems: stored values that are left out, by name."""

    live = SettingRevisionSerializer(allow_null=True)
    draft = DraftSerializer(allow_null=True)
    sections = SectionSerializer(many=True)
    prompts = PromptRowSerializer(many=True)
    operator = OperatorSettingSerializer(many=True)
    problems = serializers.DictField(child=serializers.CharField())


class SettingPromptSerializer(serializers.Serializer[Any]):
    """live, draft: null where the shipped text stands."""

    name = serializers.CharField()
    shipped = serializers.CharField()
    live = serializers.CharField(allow_null=True)
    draft = serializers.CharField(allow_null=True)
    locked = serializers.BooleanField()


class RebasedSerializer(DraftSerializer):
    both = serializers.ListField(
        child=serializers.CharField(), help_text="Changed on both sides; the draft's values stay."
    )


class TriedSerializer(serializers.Serializer[Any]):
    """id: of the job of replays, `/api/review/replay-batches/{id}`. tried: of what is tried,
    `/api/review/settings/tries/{tried}`. url: the page with the result."""

    id = serializers.UUIDField()
    tried = serializers.IntegerField()
    url = serializers.CharField()


class TryResultSerializer(serializers.Serializer[Any]):
    """answers: the job of replays."""

    tried = serializers.IntegerField()
    open = serializers.BooleanField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    answers = serializers.UUIDField()
    url = serializers.CharField()


# ------------------------------------------------------------------------------------------------ calls
class SettingsView(DeskView):
    """The base: administrators of the desk alone."""

    rights = ("administer",)

    def draft(self) -> dict[str, Any]:
        """Raises NoDraftError."""
        draft_get(self.access)
        return draft_data(view_of(self.access)) or {}


class SettingsApi(SettingsView):
    """`/api/review/settings`."""

    @schema(operation_id="review_settings", responses={200: AllSettingsSerializer})
    def get(self, request: Request) -> Response:
        """Every setting with its value, where that comes from, and your draft."""
        live_settings.refresh(at_once=True)
        view = view_of(self.access)
        return Response(
            {
                "live": revision_data(view.live) if view.live else None,
                "draft": draft_data(view),
                "sections": sections_data(view),
                "prompts": prompt_rows(view),
                "operator": operator_data(view),
                "problems": localized(view.live_problems),
            }
        )


class SettingsPromptApi(SettingsView):
    """`/api/review/settings/prompts/{name}`."""

    @schema(operation_id="review_settings_prompt", responses={200: SettingPromptSerializer})
    def get(self, request: Request, name: str) -> Response:
        """One prompt file, such as generate.en."""
        if name not in built_in_prompts():
            raise NotFoundError
        return Response(prompt_data(view_of(self.access), name))


class SettingsDraftApi(SettingsView):
    """`/api/review/settings/draft`."""

    @schema(operation_id="review_settings_draft", responses={200: DraftSerializer})
    def get(self, request: Request) -> Response:
        """Your draft; 404 without one."""
        return Response(self.draft())

    @schema(operation_id="review_settings_draft_change", request=DraftInputSerializer, responses={200: DraftSerializer})
    def patch(self, request: Request) -> Response:
        """Change your draft: all of it or, where something is wrong, nothing. What is live stays as it is."""
        given = checked(DraftInputSerializer, request.data)
        draft_save(
            access=self.access,
            values=given.get("values", {}),
            reset=given.get("reset", ()),
            prompts=given.get("prompts", {}),
            models=async_to_sync(models_listed)(),
        )
        return Response(self.draft())

    @schema(operation_id="review_settings_draft_discard", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Discard it."""
        draft_discard(access=self.access)
        return Response(status=204)


class SettingsDraftRebaseApi(SettingsView):
    """`/api/review/settings/draft/rebase`."""

    @schema(operation_id="review_settings_draft_rebase", request=None, responses={200: RebasedSerializer})
    def post(self, request: Request) -> Response:
        """Put your draft's own changes on top of what is live now."""
        checked(NoFieldsSerializer, request.data)
        both = draft_rebase(access=self.access)[1]
        return Response({**self.draft(), "both": both})


class SettingsDraftTryApi(SettingsView):
    """`/api/review/settings/draft/try`."""

    @schema(
        operation_id="review_settings_draft_try",
        request=TrySerializer,
        responses={202: TriedSerializer, **errors(404, 409)},
    )
    def post(self, request: Request) -> Response:
        """Put golden questions to the site as it is and with your draft, as a job of the workers."""
        given = checked(TrySerializer, request.data)
        chosen = given["golden"]
        made = draft_try(access=self.access, set_name=None if chosen == ALL_SETS else chosen)
        url = reverse("review_settings_try", args=[made.revision.pk])
        return Response({"id": str(made.batch.pk), "tried": made.revision.pk, "url": url}, status=202)


class SettingsTryApi(SettingsView):
    """`/api/review/settings/tries/{tried}`."""

    @schema(operation_id="review_settings_try", responses={200: TryResultSerializer})
    def get(self, request: Request, pk: int) -> Response:
        """What came of it so far. The answers: `/api/review/replay-batches/{answers}`."""
        return Response(try_data(try_get(pk)))


class SettingsTryCancelApi(SettingsView):
    """`/api/review/settings/tries/{tried}/cancel`."""

    @schema(operation_id="review_settings_try_cancel", request=NoFieldsSerializer, responses={200: TryResultSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Stop what of it has not ended; what came of it so far stays."""
        checked(NoFieldsSerializer, request.data)
        try_cancel(access=self.access, pk=pk)
        return Response(try_data(try_get(pk)))


class SettingsDraftLiveApi(SettingsView):
    """`/api/review/settings/draft/live`."""

    @schema(
        operation_id="review_settings_draft_live",
        request=NoteSerializer,
        responses={200: SettingRevisionSerializer, **errors(404, 409)},
    )
    def post(self, request: Request) -> Response:
        """Make your draft live: every process takes it up within seconds; answers that run keep what they have."""
        note = checked(NoteSerializer, request.data).get("note", "")
        return Response(revision_data(draft_live(access=self.access, note=note)))


class SettingsRevisionsApi(SettingsView):
    """`/api/review/settings/revisions`."""

    @schema(
        operation_id="review_settings_revisions",
        parameters=page_parameters(ReplayPages),
        responses={200: page_of("SettingRevisionPage", SettingRevisionSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """What is and was live, the newest first."""
        return ReplayPages().answer(history(), self, lambda rows: [revision_data(row) for row in rows])


class SettingsRevisionApi(SettingsView):
    """`/api/review/settings/revisions/{number}`."""

    @schema(operation_id="review_settings_revision", responses={200: SettingRevisionSerializer})
    def get(self, request: Request, number: int) -> Response:
        return Response(revision_data(revision_get(number)))


class SettingsRestoreApi(SettingsView):
    """`/api/review/settings/revisions/{number}/restore`."""

    @schema(
        operation_id="review_settings_restore",
        request=NoteSerializer,
        responses={200: SettingRevisionSerializer, **errors(404, 409)},
    )
    def post(self, request: Request, number: int) -> Response:
        """Make these settings live again, as a new revision; 0: the operator's, without any change."""
        note = checked(NoteSerializer, request.data).get("note", "")
        return Response(revision_data(restore(access=self.access, number=number, note=note)))
