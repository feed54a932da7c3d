"""Assistants over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.api.question_serializers import OptionsSerializer
from chat.assistant_selectors import assistant_get, assistant_list, owned_assistants
from chat.models import Assistant
from chat.models.assistants import MAX_INSTRUCTIONS, MAX_STARTER_CHARS, MAX_STARTERS
from chat.services.assistants import assistant_create, assistant_update
from ragsite.core.api.fields import FlagField, ListField, StrictSerializer, TextField
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.rendering import TimestampField, rendered
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.errors import PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line
from retrieval.engine.text.same_question import without_repeats
from retrieval.engine.workflows.registry import available_workflows
from retrieval.knowledge.api.collection_fields import ADDRESS, MAX_NAMES
from retrieval.knowledge.api.question_fields import FiltersSerializer, search_filters
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.selectors import visible_collections
from retrieval.models import Collection


class AssistantInputSerializer(StrictSerializer):
    """What an assistant gives to questions that do not name it themselves."""

    name = TextField(max_length=100)
    description = TextField(required=False, allow_blank=True, max_length=500)
    instructions = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_INSTRUCTIONS,
        help_text="How answers are worded. What they are taken from, and when there is none, stays the site's rule.",
    )
    collections = ListField(
        child=TextField(max_length=MAX_ADDRESS_CHARS, help_text=ADDRESS),
        required=False,
        max_length=MAX_NAMES,
        help_text="Empty: all that the asker's questions search unasked. An assistant lends no permission.",
    )
    with_own = FlagField(
        required=False,
        help_text="The asker's own collections are searched beside these. Without any they are anyway.",
    )
    workflow = serializers.ChoiceField(
        choices=available_workflows(), required=False, allow_null=True
    )
    options = OptionsSerializer(required=False, help_text="Of `workflow`.")
    filters = FiltersSerializer(required=False)
    model = TextField(required=False, allow_blank=True, max_length=200)
    starters = ListField(
        child=TextField(max_length=MAX_STARTER_CHARS),
        required=False,
        max_length=MAX_STARTERS,
        help_text="Questions to start with.",
    )
    visibility = serializers.ChoiceField(choices=Collection.Visibility.choices, required=False)
    groups = ListField(child=TextField(max_length=150), required=False, max_length=50)
    people = ListField(
        child=TextField(max_length=150),
        required=False,
        max_length=200,
        help_text="Whole user names.",
    )

    def values(self) -> dict[str, Any]:
        """As the services take them."""
        values: dict[str, Any] = dict(self.validated_data)
        if "workflow" in values:
            values["workflow"] = values["workflow"] or ""
        if "filters" in values:
            values["filters"] = {
                name: value
                for name, value in search_filters(values["filters"]).as_dict().items()
                if value
            }
        if "options" in values:
            values["options"] = {
                name: value for name, value in values["options"].items() if value is not None
            }
        if "starters" in values:
            lines = map(clean_line, values["starters"])
            values["starters"] = without_repeats(filter(None, lines))
        return values


class AssistantChangeSerializer(AssistantInputSerializer):
    """Its collections that you may not read stay, whatever `collections` says."""

    forget_unreadable = FlagField(
        required=False,
        default=False,
        help_text="Take out its collections that you may not read. With none left it looks everywhere.",
    )


class AssistantCreateSerializer(AssistantInputSerializer):
    of_site = FlagField(
        required=False, default=False, help_text="Of the site in place of your own; for staff."
    )


class AssistantSerializer(serializers.Serializer[Any]):
    """An assistant. owner: null for the site's. version: grows with every change of what it gives.

    owned: you may change it; `groups` and `people` are empty for everybody else. default: new conversations have it
    where nobody chooses.
    """

    id = serializers.UUIDField()
    name = serializers.CharField()
    address = serializers.CharField(help_text="`owner/name`; `site:name` of the site's own.")
    description = serializers.CharField()
    owner = serializers.CharField(allow_null=True)
    instructions = serializers.CharField()
    collections = serializers.ListField(
        child=serializers.CharField(), help_text="Addresses of those that you may read."
    )
    unreadable = serializers.IntegerField(help_text="Its collections that you may not read.")
    with_own = serializers.BooleanField(help_text="Your own are searched beside them.")
    workflow = serializers.CharField(help_text="Empty: the site's.")
    options = serializers.DictField()
    filters = serializers.DictField()
    model = serializers.CharField(help_text="Empty: the site's.")
    starters = serializers.ListField(child=serializers.CharField())
    visibility = serializers.CharField()
    groups = serializers.ListField(child=serializers.CharField())
    people = serializers.ListField(child=serializers.CharField())
    default = serializers.BooleanField()
    owned = serializers.BooleanField()
    version = serializers.IntegerField()
    created_at = TimestampField()
    updated_at = TimestampField()


def assistants_data(user: Any, assistants: Sequence[Assistant]) -> list[dict[str, Any]]:
    """As JSON, for this user."""
    ids = {key for assistant in assistants for key in assistant.collections}
    readable = visible_collections(user).filter(pk__in=ids).select_related("owner")
    addresses = {str(collection.pk): collection.address for collection in readable}
    owned = owned_assistants(user).filter(pk__in=[assistant.pk for assistant in assistants])
    shared = {
        row.pk: {
            "groups": [group.name for group in row.groups.all()],
            "people": [person.username for person in row.people.all()],
        }
        for row in owned.prefetch_related("groups", "people")
    }
    return [
        rendered(AssistantSerializer, _data(assistant, addresses, shared.get(assistant.pk)))
        for assistant in assistants
    ]


def _data(
    assistant: Assistant, addresses: dict[str, str], shared: dict[str, list[str]] | None
) -> dict[str, Any]:
    seen = [addresses[key] for key in assistant.collections if key in addresses]
    plain = (
        "name",
        "address",
        "description",
        "instructions",
        "workflow",
        "options",
        "filters",
        "model",
        "starters",
        "visibility",
        "version",
    )
    return {
        "id": assistant.pk,
        **{name: getattr(assistant, name) for name in plain},
        "owner": assistant.owner.username if assistant.owner else None,
        "collections": seen,
        "unreadable": len(assistant.collections) - len(seen),
        "with_own": bool(assistant.with_own),
        **(shared or {"groups": [], "people": []}),
        "default": assistant.is_default,
        "owned": shared is not None,
        "created_at": assistant.created_at,
        "updated_at": assistant.updated_at,
    }


class AssistantsApi(APIView):
    """The assistants that you may ask by, and the way to make one."""

    scope = "read"
    scope_to_change = "write"

    @extend_schema(
        operation_id="assistants_list",
        parameters=page_parameters(),
        responses={200: page_of("AssistantPage", AssistantSerializer(many=True))},
        tags=["assistants"],
    )
    def get(self, request: Request) -> Response:
        """The site's default first, then by name."""
        user = asking_user(request)
        return Pages().answer(
            assistant_list(user=user), self, lambda page: assistants_data(user, page)
        )

    @extend_schema(
        operation_id="assistants_create",
        request=AssistantCreateSerializer,
        responses={201: AssistantSerializer, **errors(409)},
        tags=["assistants"],
    )
    def post(self, request: Request) -> Response:
        """A new one, private unless said otherwise."""
        user = asking_user(request)
        body = AssistantCreateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        assistant = assistant_create(by=user, **body.values())
        return Response(assistants_data(user, [assistant])[0], status=status.HTTP_201_CREATED)


class AssistantApi(APIView):
    """One assistant, by its id, `owner/name`, `site:name`, or plain name: your own before any other."""

    scope = "read"
    scope_to_change = "write"

    @extend_schema(
        operation_id="assistants_read",
        responses={200: AssistantSerializer},
        tags=["assistants"],
    )
    def get(self, request: Request, name: str) -> Response:
        user = asking_user(request)
        return Response(assistants_data(user, [assistant_get(user=user, address=name)])[0])

    @extend_schema(
        operation_id="assistants_change",
        request=AssistantChangeSerializer(partial=True),
        responses={200: AssistantSerializer, **errors(409)},
        tags=["assistants"],
    )
    def patch(self, request: Request, name: str) -> Response:
        """What is left out stays."""
        user = asking_user(request)
        assistant = _owned(request, name)
        body = AssistantChangeSerializer(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        changes = body.values()
        if changes.pop("forget_unreadable", False):
            changes["forgotten"] = assistant.collections
        changed = assistant_update(assistant=assistant, changes=changes, by=user)
        return Response(assistants_data(user, [changed])[0])

    @extend_schema(
        operation_id="assistants_delete",
        responses={204: None},
        tags=["assistants"],
    )
    def delete(self, request: Request, name: str) -> Response:
        """Conversations that it was asked in go on without it."""
        _owned(request, name).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


def _owned(request: Request, name: str) -> Assistant:
    """Raises AssistantNotFoundError, PermissionDeniedError for one that is seen and somebody else's."""
    user = asking_user(request)
    assistant = assistant_get(user=user, address=name)
    if not owned_assistants(user).filter(pk=assistant.pk).exists():
        raise PermissionDeniedError(
            worded("Only its owner may change the assistant “{name}”.", name=assistant.name)
        )
    return assistant
