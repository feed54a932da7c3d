"""Questions to people over HTTP: send one, list them, answer, decline, withdraw."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.selectors import message_get
from feedback.models import GapRequest
from feedback.requests.asking import (
    MAX_REMARK_CHARS,
    request_of,
    request_send,
    request_withdraw,
)
from feedback.requests.replying import (
    MAX_REASON_CHARS,
    MAX_REPLY_CHARS,
    MOST_PASSAGES,
    request_answer,
    request_decline,
)
from feedback.requests.request_data import (
    BOXES,
    addressee_shown,
    request_get,
    request_list,
    requests_shown,
)
from ragsite.core.api.fields import (
    IdField,
    ListField,
    QuerySerializer,
    StrictSerializer,
    TextField,
    checked,
)
from ragsite.core.api.pagination import Pages, page_of, page_parameters
from ragsite.core.api.rendering import rendered, rendered_list
from ragsite.core.api.schema import errors
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized


class RequestSendSerializer(StrictSerializer):
    """What goes with the question. The conversation itself is not shown to anybody."""

    remark = TextField(required=False, allow_blank=True, max_length=MAX_REMARK_CHARS)
    to = serializers.ChoiceField(
        choices=GapRequest.To.choices,
        required=False,
        help_text="One of those that a GET names; left out: the first of them.",
    )


class RequestReplySerializer(StrictSerializer):
    text = TextField(
        max_length=MAX_REPLY_CHARS, help_text="Markdown. [1] cites the first of `passages`."
    )
    passages = ListField(
        child=IdField(),
        required=False,
        max_length=MOST_PASSAGES,
        help_text="Ids of chunks (`chunk_id` of `/api/search`) that you may read.",
    )


class RequestDeclineSerializer(StrictSerializer):
    reason = TextField(max_length=MAX_REASON_CHARS, help_text="Shown to who asked.")


class RequestsQuerySerializer(QuerySerializer):
    box = serializers.ChoiceField(
        choices=BOXES, required=False, default=BOXES[0], help_text="Sent to you, or by you."
    )
    state = serializers.ChoiceField(choices=GapRequest.State.choices, required=False)


class AddresseeSerializer(serializers.Serializer[Any]):
    """owner: null where no person is named; others: people beside the owner who may answer, too; not_notified: how many
    of all these are not told of the question, and find it in their list."""

    sent_to = serializers.ChoiceField(GapRequest.To.choices)
    collection = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    others = serializers.IntegerField()
    not_notified = serializers.IntegerField()


class RequestSourceSerializer(serializers.Serializer[Any]):
    marker = serializers.IntegerField()
    document_id = serializers.UUIDField()
    title = serializers.CharField()
    text = serializers.CharField()
    note = serializers.CharField(
        allow_blank=True,
        help_text="What has become of its document since: replaced, or not read, or not wholly.",
    )


class GapRequestSerializer(serializers.Serializer[Any]):
    """A question that was sent to a person. reply: the answer, or why it is declined; empty where the question was
    answered by a document. session_id, message_id: for its asker alone."""

    id = serializers.UUIDField()
    question = serializers.CharField()
    remark = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(GapRequest.State.choices)
    sent_to = serializers.ChoiceField(GapRequest.To.choices)
    collection = serializers.CharField(
        allow_null=True,
        help_text="Its address; null: the curators of the site, or not yours to see.",
    )
    not_notified = serializers.IntegerField(
        help_text="People who could answer it when it was sent, and were not notified."
    )
    note = serializers.CharField(
        allow_blank=True,
        help_text="Where an account or the collection is gone, or not everybody was notified.",
    )
    asker = serializers.CharField(allow_null=True, help_text="Null where you may not know it.")
    is_own = serializers.BooleanField()
    session_id = serializers.UUIDField(allow_null=True)
    message_id = serializers.UUIDField(allow_null=True)
    sent_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_by = serializers.CharField(allow_null=True)
    reply = serializers.CharField(allow_blank=True)
    reply_html = serializers.CharField(allow_blank=True)
    is_checked = serializers.BooleanField(help_text="It is a checked answer, given to others, too.")
    sources = RequestSourceSerializer(many=True)
    hidden_sources = serializers.IntegerField(help_text="Cited passages that you may not read.")
    gone_sources = serializers.IntegerField(
        help_text="Cited passages whose documents are not there any more."
    )


class SentRequestSerializer(serializers.Serializer[Any]):
    """request: null where the question was not sent. to: where it can go, the nearest first; none: it has an answer."""

    request = GapRequestSerializer(allow_null=True)
    to = AddresseeSerializer(many=True)


class RepliedSerializer(serializers.Serializer[Any]):
    request = GapRequestSerializer()
    said = serializers.CharField(help_text="What else the reply is good for, in a sentence.")


class AskOwnerApi(APIView):
    """The question of one of your answers that were not good, and the people who could answer it."""

    scope = "ask"

    @extend_schema(
        operation_id="messages_ask_owner",
        responses={200: SentRequestSerializer, **errors(409)},
        tags=["requests"],
    )
    def get(self, request: Request, message_id: UUID) -> Response:
        """To whom the question can go, and what became of it."""
        user = asking_user(request)
        sent, addressees = request_of(user=user, message_id=message_id)
        shown = requests_shown([sent], user=user) if sent else [None]
        body = {"request": localized(shown[0]), "to": list(map(addressee_shown, addressees))}
        return Response(rendered(SentRequestSerializer, body))

    @extend_schema(
        operation_id="messages_ask_owner_send",
        request=RequestSendSerializer,
        responses={200: GapRequestSerializer, 201: GapRequestSerializer, **errors(409, 429)},
        tags=["requests"],
    )
    def post(self, request: Request, message_id: UUID) -> Response:
        """Send the question, with a remark, to a person; you are notified of a reply. The same again (200) sends
        nothing more."""
        user = asking_user(request)
        # Before the input is checked: a 400 could tell others that the message exists.
        message_get(user=user, message_id=message_id)
        fields = checked(RequestSendSerializer, request.data)
        sent, is_new = request_send(user=user, message_id=message_id, **fields)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(_data(sent, user), status=code)


class RequestsApi(APIView):
    scope = "ask"

    @extend_schema(
        operation_id="requests_list",
        parameters=[RequestsQuerySerializer, *page_parameters()],
        responses={200: page_of("GapRequestPage", GapRequestSerializer(many=True))},
        tags=["requests"],
    )
    def get(self, request: Request) -> Response:
        """Questions that were sent to you, or by you, the latest first."""
        user = asking_user(request)
        query = checked(RequestsQuerySerializer, request.query_params)
        rows = request_list(user=user, box=query["box"], state=query.get("state", ""))
        return Pages().answer(
            rows,
            self,
            lambda page: rendered_list(
                GapRequestSerializer, localized(requests_shown(page, user=user))
            ),
        )


class RequestApi(APIView):
    scope = "ask"

    @extend_schema(
        operation_id="requests_get", responses={200: GapRequestSerializer}, tags=["requests"]
    )
    def get(self, request: Request, request_id: UUID) -> Response:
        """One that was sent to you, or by you."""
        user = asking_user(request)
        return Response(_data(request_get(user=user, request_id=request_id), user))

    @extend_schema(
        operation_id="requests_withdraw", responses={204: None, **errors(409)}, tags=["requests"]
    )
    def delete(self, request: Request, request_id: UUID) -> Response:
        """Withdraw one of yours: nobody reads it any more. It can be sent again."""
        request_withdraw(user=asking_user(request), request_id=request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RequestReplyApi(APIView):
    scope = "write"

    @extend_schema(
        operation_id="requests_reply",
        request=RequestReplySerializer,
        responses={200: RepliedSerializer, **errors(409)},
        tags=["requests"],
    )
    def post(self, request: Request, request_id: UUID) -> Response:
        """Answer it. The reply stands below the question in the asker's conversation."""
        user = asking_user(request)
        request_get(user=user, request_id=request_id)
        fields = checked(RequestReplySerializer, request.data)
        replied = request_answer(user=user, request_id=request_id, **fields)
        shown = {"request": _data(replied.request, user), "said": localized(replied.said)}
        return Response(rendered(RepliedSerializer, shown))


class RequestDeclineApi(APIView):
    scope = "write"

    @extend_schema(
        operation_id="requests_decline",
        request=RequestDeclineSerializer,
        responses={200: GapRequestSerializer, **errors(409)},
        tags=["requests"],
    )
    def post(self, request: Request, request_id: UUID) -> Response:
        """Decline it, with a reason that who asked reads."""
        user = asking_user(request)
        request_get(user=user, request_id=request_id)
        fields = checked(RequestDeclineSerializer, request.data)
        return Response(_data(request_decline(user=user, request_id=request_id, **fields), user))


def _data(row: GapRequest, user: Any) -> dict[str, Any]:
    (shown,) = requests_shown([row], user=user)
    return rendered(GapRequestSerializer, localized(shown))
