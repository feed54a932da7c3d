"""`/api/model-server`: which model server the site uses, which models, whether it answers. For superusers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from adrf.views import APIView as AsyncAPIView
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.validators import RegexValidator
from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.api.streaming import JsonOrEvents, streamed
from ragsite.accounts.auth import KeyHasScope
from ragsite.accounts.credentials import credential_of_request
from ragsite.core.api.fields import ListField, StrictSerializer, TextField, checked, read_body
from ragsite.core.api.rendering import rendered
from ragsite.core.api.schema import EVENT_STREAM, errors, event_stream
from ragsite.core.api.user import asking_user
from ragsite.core.database import database_call
from ragsite.core.errors import ConflictError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.operations.model_server.pulling import pull_events
from ragsite.operations.model_server.settings import (
    address_shown,
    locked_names,
    model_settings_save,
    settings_with,
)
from ragsite.runtime import live_settings
from retrieval.engine.providers.probe import probe
from retrieval.engine.providers.registry import FORCED_OFFLINE

MAX_ADDRESS_CHARS = 500
MAX_KEY_CHARS = 1000
MAX_MODEL_CHARS = 200
MOST_MODELS = 50
MODEL_NAME = r"^[^,\x00-\x1f]*$"  # the names of several are separated by commas
PULLED_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$"
SERVERS = ["ollama", "openai"]


class IsSuperuser(BasePermission):
    """People who may decide where questions and documents are sent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user.is_superuser)


SUPERUSERS = [IsAuthenticated, KeyHasScope, IsSuperuser]


class SwitchedOffError(ConflictError):
    code = "offline_forced"
    message = FORCED_OFFLINE


class NoPullError(ConflictError):
    code = "no_pull"
    message = worded(
        "Only Ollama downloads models by itself; give this server its model where it runs."
    )


class ModelNameField(TextField):
    """A model as its server calls it."""

    schema_rules: ClassVar[Mapping[str, Any]] = {"pattern": MODEL_NAME}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=MAX_MODEL_CHARS, validators=[RegexValidator(MODEL_NAME)], **options
        )


class PulledNameField(TextField):
    """Ollama's names: `model`, `model:tag`, `namespace/model:tag`, or with a registry's host before it."""

    schema_rules: ClassVar[Mapping[str, Any]] = {"pattern": PULLED_NAME}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=MAX_MODEL_CHARS, validators=[RegexValidator(PULLED_NAME)], **options
        )


class ModelServerChangesSerializer(StrictSerializer):
    server = serializers.ChoiceField(SERVERS, required=False)
    ollama_url = TextField(required=False, allow_blank=True, max_length=MAX_ADDRESS_CHARS)
    openai_url = TextField(required=False, allow_blank=True, max_length=MAX_ADDRESS_CHARS)
    key = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_KEY_CHARS,
        help_text="For `openai_url` alone. Empty: none.",
    )
    chat_models = ListField(
        child=ModelNameField(),
        required=False,
        max_length=MOST_MODELS,
        help_text="The first one answers, and questions may choose another of them. None: all that the server lists.",
    )
    fast_model = ModelNameField(
        required=False, allow_blank=True, help_text="Empty: the model that answers."
    )
    embed_model = ModelNameField(
        required=False, allow_blank=True, help_text="Empty: the first one that is listed."
    )


class ModelServerSerializer(serializers.Serializer[Any]):
    server = serializers.ChoiceField(SERVERS)
    ollama_url = serializers.CharField()
    openai_url = serializers.CharField(allow_blank=True)
    has_key = serializers.BooleanField(help_text="The key itself is never told.")
    chat_models = serializers.ListField(child=serializers.CharField())
    fast_model = serializers.CharField(allow_blank=True)
    embed_model = serializers.CharField(allow_blank=True)
    offline_forced = serializers.BooleanField(
        help_text="No model server is called (RAG_OFFLINE=1)."
    )
    locked = serializers.ListField(
        child=serializers.CharField(), help_text="Fields that an environment variable decides."
    )


class FoundModelSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    can_chat = serializers.BooleanField()
    can_embed = serializers.BooleanField()
    can_think = serializers.BooleanField()
    context_length = serializers.IntegerField(help_text="Tokens; 0: the server does not say.")


class ProbeSerializer(serializers.Serializer[Any]):
    """What a server said. call_ms: of one short reply by `called`, with the loading of the model."""

    label: Any = serializers.CharField(help_text="The kind of server, for people.")
    address = serializers.CharField(help_text="Host and port.")
    answered = serializers.BooleanField()
    list_ms = serializers.FloatField(allow_null=True)
    models: Any = FoundModelSerializer(many=True)
    called = serializers.CharField(allow_blank=True)
    call_ms = serializers.FloatField(allow_null=True)
    ignoring_format = serializers.ListField(
        child=serializers.CharField(),
        help_text="Models that are not held to a form, as calls have shown.",
    )
    reason = serializers.SerializerMethodField(
        help_text="Why the server, or the model, did not answer."
    )

    def get_reason(self, found: Any) -> str:
        return str(localized(found.reason))


def model_server_data() -> dict[str, Any]:
    ollama = settings.RAG.ollama
    return {
        "server": ollama.server,
        "ollama_url": address_shown(ollama.base_url),
        "openai_url": address_shown(ollama.url),
        "has_key": bool(ollama.key_for(ollama.url)),
        "chat_models": list(ollama.chat_models),
        "fast_model": ollama.fast_model,
        "embed_model": ollama.embed_model,
        "offline_forced": ollama.offline == "1",
        "locked": locked_names(),
    }


class ModelServerApi(APIView):
    scope = ""
    permission_classes = SUPERUSERS

    @extend_schema(operation_id="model_server", responses=ModelServerSerializer, tags=["models"])
    def get(self, request: Request) -> Response:
        """The model server, and the models that are chosen of it. For superusers."""
        live_settings.refresh()
        return Response(rendered(ModelServerSerializer, model_server_data()))

    @extend_schema(
        operation_id="model_server_change",
        request=ModelServerChangesSerializer,
        responses=ModelServerSerializer,
        tags=["models"],
    )
    def patch(self, request: Request) -> Response:
        """Another server, or other models of it; what is left out stays. It counts for the next question. Where
        `openai_url` leads to another host, the stored key is deleted. For superusers."""
        changes = checked(ModelServerChangesSerializer, request.data, partial=True)
        model_settings_save(by=asking_user(request), changes=changes)
        return Response(rendered(ModelServerSerializer, model_server_data()))


class ModelServerTestApi(AsyncAPIView):
    scope = ""
    permission_classes = SUPERUSERS

    @extend_schema(
        operation_id="model_server_test",
        request=ModelServerChangesSerializer,
        responses={200: ProbeSerializer, **errors(409)},
        tags=["models"],
    )
    async def post(self, request: Request) -> Response:
        """Ask a server what it has, and a model of it for one short reply; with these changes, of which nothing is
        stored. For superusers."""
        changes = (await read_body(ModelServerChangesSerializer, request)).validated_data
        await database_call(live_settings.refresh)
        if settings.RAG.ollama.offline == "1":
            raise SwitchedOffError
        return Response(
            ProbeSerializer(await probe(await sync_to_async(settings_with)(changes))).data
        )


class PullInputSerializer(StrictSerializer):
    model = PulledNameField(help_text="As Ollama's library has it: `qwen3:4b`, or `hf.co/…`.")


class PullEventSerializer(serializers.Serializer[Any]):
    """free: bytes on the disk of a server on this machine; null: not known from here. error: why it ended."""

    step = serializers.CharField(
        help_text="As the server says it; `success` ends a pull that went well."
    )
    completed = serializers.IntegerField(help_text="Bytes.")
    total = serializers.IntegerField(
        help_text="Bytes of the files that have begun; 0: not known yet."
    )
    free = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(required=False)


class ModelPullsApi(AsyncAPIView):
    scope = ""
    permission_classes = SUPERUSERS
    content_negotiation_class = JsonOrEvents

    @extend_schema(
        operation_id="model_server_pull",
        request=PullInputSerializer,
        responses={
            (200, EVENT_STREAM): event_stream("ModelPull", PullEventSerializer),
            **errors(409),
        },
        tags=["models"],
    )
    async def post(self, request: Request) -> StreamingHttpResponse:
        """Have Ollama download a model, and follow how far it is. Closing the connection breaks it off; asked for
        again, it goes on from there. For superusers."""
        name = (await read_body(PullInputSerializer, request)).validated_data["model"]
        await database_call(live_settings.refresh)
        if settings.RAG.ollama.offline == "1":
            raise SwitchedOffError
        if settings.RAG.ollama.server != "ollama":
            raise NoPullError
        return streamed(pull_events(name, settings.RAG.ollama, credential_of_request(request)))
