"""The JSON of documents."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ragsite.core.api.fields import (
    DateField,
    IdField,
    ListField,
    QuerySerializer,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.knowledge.api.collection_fields import ADDRESS, is_among
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.selectors import REVIEWS, SORTS, VERSIONS, writable_collections
from retrieval.models import MAX_REVIEW_MONTHS, Chunk, Document

MAX_BULK = 200  # documents of one call


class NewerVersionSerializer(serializers.Serializer[Any]):
    """The document that took another one's place, or will when it is ready. It is in the same collection."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=Document.Status.choices)


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document. `editable`: whether the asking user may change it."""

    collection = serializers.CharField(source="collection.name", read_only=True)
    collection_id = serializers.UUIDField(read_only=True)
    editable = serializers.SerializerMethodField()
    error = serializers.CharField(source="localized_error", read_only=True)
    unread = serializers.ListField(
        source="localized_unread",
        child=serializers.CharField(),
        read_only=True,
        help_text="What a viewer shows of it and was not read, each with its place.",
    )
    is_sample = serializers.BooleanField(
        source="collection.is_sample", read_only=True, help_text="The site came with it."
    )
    superseded = serializers.SerializerMethodField(
        help_text="A newer version is searched in its place."
    )
    newer_version = NewerVersionSerializer(read_only=True, allow_null=True)
    version = serializers.IntegerField(
        read_only=True, help_text="1, and more for each it replaced."
    )
    review_due = serializers.DateField(
        read_only=True,
        allow_null=True,
        help_text="`review_by`, else by the rule of its collection.",
    )
    overdue = serializers.BooleanField(
        read_only=True, help_text="That day has passed; never of an earlier version."
    )
    reviewed_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When somebody last said that it still holds."
    )

    class Meta:
        model = Document
        fields = [
            "id",
            "title",
            "file_name",
            "collection",
            "collection_id",
            "status",
            "progress",
            "error",
            "media_type",
            "size_bytes",
            "language",
            "department",
            "doc_type",
            "policy_year",
            "tags",
            "page_count",
            "chunk_count",
            "word_count",
            "unread",
            "editable",
            "is_sample",
            "replaces",
            "superseded",
            "newer_version",
            "version",
            "review_by",
            "review_due",
            "overdue",
            "reviewed_at",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    def get_editable(self, document: Document) -> bool:
        return is_among(document.collection, writable_collections, self.context)

    def get_superseded(self, document: Document) -> bool:
        return document.superseded_at is not None


class DocumentMetadataSerializer(StrictSerializer):
    """What can be changed of several documents at once; the values are checked by `services.metadata`."""

    department = TextField(required=False, allow_blank=True, max_length=100)
    doc_type = TextField(required=False, allow_blank=True, max_length=100)
    policy_year = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    tags = ListField(child=TextField(max_length=50), required=False, max_length=20)
    review_by = DateField(
        required=False, allow_null=True, help_text="null: as its collection says."
    )


class DocumentReviewSerializer(StrictSerializer):
    """That a document still holds."""

    months = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_REVIEW_MONTHS,
        help_text="To the next review. None: as its collection says, else 12.",
    )


class DocumentChangesSerializer(DocumentMetadataSerializer):
    """What can be changed of a document."""

    title = TextField(required=False, max_length=300)


class BulkSerializer(StrictSerializer):
    """One action on many documents."""

    action = serializers.ChoiceField(choices=["delete", "move", "metadata", "read_again"])
    ids = ListField(child=IdField(), allow_empty=False, max_length=MAX_BULK)
    collection = TextField(
        required=False, max_length=MAX_ADDRESS_CHARS, help_text=f"For `move`. {ADDRESS}"
    )
    changes = DocumentMetadataSerializer(required=False, help_text="For `metadata`.")

    schema_rules = {
        "allOf": [
            {
                "if": {"properties": {"action": {"const": "move"}}},
                "then": {"required": ["collection"]},
            },
            {
                "if": {"properties": {"action": {"const": "metadata"}}},
                "then": {"required": ["changes"]},
            },
        ]
    }

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        for action, field in (("move", "collection"), ("metadata", "changes")):
            if (values["action"] == action) != (field in values):
                problem = worded("Needed for the action {action}, and for no other.", action=action)
                raise serializers.ValidationError({field: [localized(problem)]})
        return values


class BulkResultSerializer(serializers.Serializer[Any]):
    """Of one document, in the order asked for. code, error: why it was refused."""

    id = serializers.UUIDField()
    outcome = serializers.ChoiceField(choices=["done", "refused"])
    code = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)


class BulkResultsSerializer(serializers.Serializer[Any]):
    results = BulkResultSerializer(many=True)


class DocumentListQuerySerializer(QuerySerializer):
    collection = serializers.CharField(
        allow_blank=True, max_length=MAX_ADDRESS_CHARS, default="", help_text=ADDRESS
    )
    status = serializers.ChoiceField(
        choices=Document.Status.choices, allow_blank=True, default="", help_text="One status only."
    )
    search = serializers.CharField(
        allow_blank=True, max_length=200, default="", help_text="Part of the title or file name."
    )
    versions = serializers.ChoiceField(
        choices=VERSIONS,
        allow_blank=True,
        default="",
        help_text="Without it all versions are listed.",
    )
    review = serializers.ChoiceField(
        choices=REVIEWS,
        allow_blank=True,
        default="",
        help_text="overdue: the day by which it was to be reviewed has passed.",
    )
    sort = serializers.ChoiceField(choices=list(SORTS), allow_blank=True, default="")


class DocumentFileQuerySerializer(QuerySerializer):
    inline = serializers.BooleanField(
        default=False, help_text="Show it in the browser: PDF, and text of every kind but HTML."
    )


class DocumentPictureQuerySerializer(QuerySerializer):
    width = serializers.IntegerField(
        default=1200, min_value=100, max_value=2400, help_text="In pixels."
    )


class UsedAndAllowedSerializer(serializers.Serializer[Any]):
    used = serializers.IntegerField()
    allowed = serializers.IntegerField(
        allow_null=True, help_text="null: as much as there is room for."
    )


class DocumentsUsageSerializer(serializers.Serializer[Any]):
    """What your own collections hold."""

    documents = UsedAndAllowedSerializer()
    storage_bytes = UsedAndAllowedSerializer()


class ChunkSerializer(serializers.ModelSerializer[Chunk]):
    class Meta:
        model = Chunk
        fields = [
            "id",
            "seq",
            "text",
            "heading",
            "page",
            "page_end",
            "char_start",
            "char_end",
            "token_count",
        ]
        read_only_fields = fields
