"""The forms of uploads, and what became of each file."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from ragsite.core.api.fields import ListField, QuerySerializer, StrictSerializer
from retrieval.knowledge.api.collection_fields import ADDRESS
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.models import Document


class FilesField(ListField):
    """The files of one upload. More of them are not wrong but too large, which the view says with 413."""

    def __init__(self, **options: Any) -> None:
        options = {"child": serializers.FileField(), "allow_empty": False, **options}
        super().__init__(max_length=settings.RAG.ingest.max_files_per_upload, **options)


class UploadFormSerializer(StrictSerializer):
    """What every upload may say of its file."""

    department = serializers.CharField(required=False, allow_blank=True, max_length=100)
    doc_type = serializers.CharField(required=False, allow_blank=True, max_length=100)
    policy_year = serializers.IntegerField(required=False, min_value=1000, max_value=9999)
    tags = serializers.CharField(
        required=False, allow_blank=True, help_text="Parted by commas, or sent many times."
    )
    review_by = serializers.DateField(
        required=False, help_text="YYYY-MM-DD. Without it as the collection says."
    )


class UploadSerializer(UploadFormSerializer):
    """A multipart upload; `file` may come many times."""

    file = FilesField()
    collection = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_ADDRESS_CHARS,
        help_text="A plain name means your own collection, or for staff the site's, and is made where there is none.",
    )
    replaces = serializers.UUIDField(
        required=False,
        help_text="The document whose place the file takes as soon as it is ready; then only one file, and no other "
        "`collection` than that one's. Metadata that are not given are that one's.",
    )


class KeyedUploadSerializer(UploadFormSerializer):
    """A file under another system's key. What is not given of the metadata stays as it is."""

    file = serializers.FileField(
        required=False, help_text="May be left out where `content_hash` is that of last time."
    )
    content_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$",
        required=False,
        help_text="SHA-256 of the file; a file of another one is refused.",
    )
    collection = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_ADDRESS_CHARS
    )
    title = serializers.CharField(required=False, allow_blank=True, max_length=300)


class KeyQuerySerializer(QuerySerializer):
    collection = serializers.CharField(
        allow_blank=True, max_length=MAX_ADDRESS_CHARS, default="", help_text=ADDRESS
    )


class KeyedDocumentSerializer(serializers.Serializer[Any]):
    """What stands under the key now. outcome: `unchanged` reads and embeds nothing; `changed`: a new version, which
    takes the former one's place when it is ready."""

    id = serializers.UUIDField(source="document.id")
    title = serializers.CharField(source="document.title")
    status = serializers.ChoiceField(choices=Document.Status.choices, source="document.status")
    collection = serializers.CharField(source="document.collection.name")
    collection_id = serializers.UUIDField(source="document.collection_id")
    outcome = serializers.ChoiceField(choices=["added", "changed", "unchanged", "retried"])


class UploadedDocumentSerializer(serializers.Serializer[Any]):
    """One entry per file, in order. A refused file has no id, the status `failed`, and says why."""

    id = serializers.UUIDField(allow_null=True)
    title = serializers.CharField()
    file_name = serializers.CharField()
    status = serializers.CharField()
    collection = serializers.CharField()
    collection_id = serializers.UUIDField()
    outcome = serializers.ChoiceField(choices=["added", "unchanged", "retried", "refused"])
    code = serializers.CharField(allow_blank=True, help_text="Of the error, when refused.")
    error = serializers.CharField(allow_blank=True)


class UploadResultSerializer(serializers.Serializer[Any]):
    documents = UploadedDocumentSerializer(many=True)
