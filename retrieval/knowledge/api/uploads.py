"""Files that come in: what the form has to hold, where they go, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.request import Request

from ragsite.core.api.fields import unknown_fields
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, InvalidInputError, TooLargeError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.text import clean_file_name
from retrieval.knowledge.selectors import as_uuid, collection_find, document_get
from retrieval.knowledge.services import documents
from retrieval.knowledge.services.collections import (
    collection_ensure,
    collection_for_upload,
    collection_writable,
)
from retrieval.knowledge.services.documents import document_create
from retrieval.knowledge.services.metadata import FIELDS
from retrieval.models import Collection, Document


def document_writable(request: Request, document_id: UUID) -> Document:
    """Raises NotFoundError for one that the user can't see, PermissionDeniedError for one to be read only."""
    document = document_get(user=request.user, document_id=document_id)
    collection_writable(collection=document.collection, user=request.user)
    return document


def collection_named_in(request: Request) -> Collection:
    """Without a name it is the user's own, whatever else has the default's name."""
    user = asking_user(request)
    name = request.POST.get("collection", "").strip()
    if name:
        return collection_for_upload(user=user, name=name)
    return collection_ensure(owner=user, name=documents.DEFAULT_COLLECTION)


def replaced_document(request: Request, files: Sequence[UploadedFile]) -> Document | None:
    """The document that `replaces` names. Raises as `document_writable`; InvalidInputError where it does not
    fit the rest."""
    if "replaces" not in request.POST:
        return None
    document_id = as_uuid(request.POST["replaces"])
    if document_id is None:
        raise InvalidInputError(fields={"replaces": [worded("Give the id of a document.")]})
    if len(files) > 1:
        raise InvalidInputError(
            fields={"file": [worded("A document is replaced by one file; send one.")]}
        )
    document = document_writable(request, document_id)
    name = request.POST.get("collection", "").strip()
    if name and collection_find(user=request.user, name=name) != document.collection:
        raise InvalidInputError(
            fields={
                "collection": [
                    worded(
                        "A new version goes into the collection of the document; leave this out."
                    )
                ]
            }
        )
    return document


def form_values(data: QueryDict) -> dict[str, Any]:
    """The metadata fields of the form; `tags` may be sent many times, each with commas."""
    values: dict[str, Any] = {name: data[name] for name in FIELDS if name in data}
    if "tags" in data:
        values["tags"] = ",".join(str(value) for value in data.getlist("tags"))
    return values


def refuse_unknown_fields(request: Request, form: type[serializers.Serializer[Any]]) -> None:
    """Raises InvalidInputError; also where a file was sent under the name of a text field."""
    known = list(form().fields)
    if unknown := {
        **unknown_fields(request.POST, known),
        **unknown_fields(request.FILES, ["file"]),
    }:
        raise InvalidInputError(fields=unknown)


def uploaded_files(request: Request) -> list[UploadedFile]:
    """The form's `file`s. Raises InvalidInputError, TooLargeError."""
    files: list[UploadedFile] = request.FILES.getlist("file")
    if not files:
        raise InvalidInputError(
            worded("Send at least one file."), fields={"file": [worded("Send at least one file.")]}
        )
    if len(files) > settings.RAG.ingest.max_files_per_upload:
        raise TooLargeError(
            worded(
                "At most {max_files_per_upload} files at once.",
                max_files_per_upload=settings.RAG.ingest.max_files_per_upload,
            )
        )
    return files


def documents_store(
    user: User,
    files: Sequence[UploadedFile],
    collection: Collection,
    metadata: Mapping[str, Any] | None = None,
    *,
    replaces: Document | None = None,
) -> list[dict[str, Any]]:
    """One entry per file (`UploadedDocumentSerializer`). Raises the first refusal when every file was refused."""
    entries: list[dict[str, Any]] = []
    refusals: list[AppError] = []
    for file in files:
        name = clean_file_name(file.name or "")
        entry = {
            "collection": collection.name,
            "collection_id": collection.pk,
            "code": "",
            "error": "",
        }
        try:
            created = document_create(
                collection=collection,
                upload=file,
                file_name=name,
                uploaded_by=user,
                metadata=metadata,
                replaces=replaces,
            )
        except AppError as error:
            refusals.append(error)
            entry |= {
                "id": None,
                "title": name,
                "file_name": name,
                "status": Document.Status.FAILED.value,
            }
            entry |= {"outcome": "refused", "code": error.code, "error": localized(error.message)}
        else:
            entry |= {
                name: getattr(created.document, name)
                for name in ("id", "title", "file_name", "status")
            }
            entry |= {"outcome": created.outcome}
        entries.append(entry)
    if len(refusals) == len(files):
        refusals[0].fields = {"file": [f"{entry['title']}: {entry['error']}" for entry in entries]}
        raise refusals[0]
    return entries
