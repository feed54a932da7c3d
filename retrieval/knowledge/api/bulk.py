"""One action on many documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.core.api.fields import checked
from ragsite.core.api.rendering import rendered
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from retrieval.knowledge.api.document_serializers import BulkResultsSerializer, BulkSerializer
from retrieval.knowledge.api.uploads import document_writable
from retrieval.knowledge.selectors import collection_get
from retrieval.knowledge.services.collections import collection_writable
from retrieval.knowledge.services.documents import (
    document_delete,
    document_move,
    document_reingest,
    document_update,
)
from retrieval.models import Document


class DocumentsBulkApi(APIView):
    """One action on many documents."""

    scope = "write"

    @extend_schema(
        operation_id="documents_bulk", request=BulkSerializer, responses=BulkResultsSerializer
    )
    def post(self, request: Request) -> Response:
        """Delete, move, describe or read again; each document by itself: one that is refused does not keep the others
        from it. 404 for a collection that is not there, 403 for one that the user may not change."""
        body = checked(BulkSerializer, request.data)
        act = _bulk_action(request, body)
        results = []
        for document_id in dict.fromkeys(body["ids"]):
            refusal: dict[str, str] = {"code": "", "error": ""}
            try:
                act(document_writable(request, document_id))
            except AppError as error:
                refusal = {"code": error.code, "error": localized(error.message)}
            outcome = "refused" if refusal["code"] else "done"
            results.append({"id": document_id, "outcome": outcome, **refusal})
        return Response(rendered(BulkResultsSerializer, {"results": results}))


def _bulk_action(request: Request, body: Mapping[str, Any]) -> Callable[[Document], object]:
    match body["action"]:
        case "delete":
            return lambda document: document_delete(document=document)
        case "read_again":
            user = asking_user(request)
            return lambda document: document_reingest(document=document, by=user)
        case "metadata":
            return lambda document: document_update(document=document, changes=body["changes"])
        case _:
            found = collection_get(user=request.user, name=body["collection"])
            target = collection_writable(collection=found, user=request.user)
            return lambda document: document_move(document=document, collection=target)
