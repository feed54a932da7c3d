"""The JSON of documents and collections, and the text of a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ragsite.core.api.fields import (
    IdField,
    ListField,
    QuerySerializer,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from ragsite.core.text import CONTROL, is_seen
from retrieval.engine.search.query_groups import query_text
from retrieval.engine.values import FILTERS_MODES, SearchFilters
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.selectors import (
    SORTS,
    VERSIONS,
    default_collections,
    is_approved,
    owned_collections,
    writable_collections,
)
from retrieval.models import Chunk, Collection, CollectionPerson, Document

_SAYS_NOTHING = rf"\s{CONTROL}\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
MAX_NAMES = 50
MAX_BULK = 200  # documents of one call
ADDRESS = "An id, `owner/name`, `site:name`, or a plain name: your own collection first."


def _is_among(
    collection: Collection, selector: Callable[[User], QuerySet[Collection]], context: Mapping[str, Any]
) -> bool:
    """Whether it is one of those that the selector gives for the request's user; they are looked up once a request."""
    request = context["request"]
    known = vars(request).setdefault("known_collections", {})
    if selector not in known:
        known[selector] = set(selector(request.user).values_list("pk", flat=True))
    return collection.pk in known[selector]


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
    superseded = serializers.SerializerMethodField(help_text="A newer version is searched in its place.")
    newer_version = NewerVersionSerializer(read_only=True, allow_null=True)

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
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    def get_editable(self, document: Document) -> bool:
        return _is_among(document.collection, writable_collections, self.context)

    def get_superseded(self, document: Document) -> bool:
        return document.superseded_at is not None


class DocumentMetadataSerializer(StrictSerializer):
    """What can be changed of several documents at once; the values are checked by `services.metadata`."""

    department = TextField(required=False, allow_blank=True, max_length=100)
    doc_type = TextField(required=False, allow_blank=True, max_length=100)
    policy_year = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    tags = ListField(child=TextField(max_length=50), required=False, max_length=20)


class DocumentChangesSerializer(DocumentMetadataSerializer):
    """What can be changed of a document."""

    title = TextField(required=False, max_length=300)


class BulkSerializer(StrictSerializer):
    """One action on many documents."""

    action = serializers.ChoiceField(choices=["delete", "move", "metadata", "read_again"])
    ids = ListField(child=IdField(), allow_empty=False, max_length=MAX_BULK)
    collection = TextField(required=False, max_length=MAX_ADDRESS_CHARS, help_text=f"For `move`. {ADDRESS}")
    changes = DocumentMetadataSerializer(required=False, help_text="For `metadata`.")

    schema_rules = {
        "allOf": [
            {"if": {"properties": {"action": {"const": "move"}}}, "then": {"required": ["collection"]}},
            {"if": {"properties": {"action": {"const": "metadata"}}}, "then": {"required": ["changes"]}},
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


class FiltersSerializer(StrictSerializer):
    """A filter that is silently ignored would show what it was meant to hide."""

    department = TextField(required=False, allow_null=True, allow_blank=True, max_length=100)
    doc_type = TextField(required=False, allow_null=True, allow_blank=True, max_length=100)
    policy_year = WholeNumberField(required=False, allow_null=True, min_value=1000, max_value=9999)
    tags = ListField(child=TextField(max_length=100), required=False, max_length=MAX_NAMES)


class FiltersModeField(serializers.ChoiceField):
    """Whether the request's filters hold whatever they leave, or may give way."""

    def __init__(self, **options: Any) -> None:
        help_text = (
            "strict (default): the filters are never relaxed. prefer: what they name comes first, as far as it is "
            "about the question, and the rest follows. Filters that are read from the question itself always prefer."
        )
        super().__init__(choices=FILTERS_MODES, required=False, help_text=help_text, **options)


def search_filters(checked: Mapping[str, Any]) -> SearchFilters:
    """From a `FiltersSerializer`'s validated data. What is empty or null does not filter."""
    values = {name: value for name, value in checked.items() if value not in (None, "")}
    return SearchFilters(**{**values, "tags": tuple(values.get("tags", ()))})


class DocumentListQuerySerializer(QuerySerializer):
    collection = serializers.CharField(allow_blank=True, max_length=MAX_ADDRESS_CHARS, default="", help_text=ADDRESS)
    status = serializers.ChoiceField(
        choices=Document.Status.choices, allow_blank=True, default="", help_text="One status only."
    )
    search = serializers.CharField(
        allow_blank=True, max_length=200, default="", help_text="Part of the title or file name."
    )
    versions = serializers.ChoiceField(
        choices=VERSIONS, allow_blank=True, default="", help_text="Without it all versions are listed."
    )
    sort = serializers.ChoiceField(choices=list(SORTS), allow_blank=True, default="")


class DocumentFileQuerySerializer(QuerySerializer):
    inline = serializers.BooleanField(
        default=False, help_text="Show it in the browser: PDF, and text of every kind but HTML."
    )


class DocumentPictureQuerySerializer(QuerySerializer):
    width = serializers.IntegerField(default=1200, min_value=100, max_value=2400, help_text="In pixels.")


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
    tags = serializers.CharField(required=False, allow_blank=True, help_text="Parted by commas, or sent many times.")


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

    file = serializers.FileField(required=False, help_text="May be left out where `content_hash` is that of last time.")
    content_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$", required=False, help_text="SHA-256 of the file; a file of another one is refused."
    )
    collection = serializers.CharField(required=False, allow_blank=True, max_length=MAX_ADDRESS_CHARS)
    title = serializers.CharField(required=False, allow_blank=True, max_length=300)


class KeyQuerySerializer(QuerySerializer):
    collection = serializers.CharField(allow_blank=True, max_length=MAX_ADDRESS_CHARS, default="", help_text=ADDRESS)


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


class UsedAndAllowedSerializer(serializers.Serializer[Any]):
    used = serializers.IntegerField()
    allowed = serializers.IntegerField(allow_null=True, help_text="null: as much as there is room for.")


class DocumentsUsageSerializer(serializers.Serializer[Any]):
    """What your own collections hold."""

    documents = UsedAndAllowedSerializer()
    storage_bytes = UsedAndAllowedSerializer()


class ChunkSerializer(serializers.ModelSerializer[Chunk]):
    class Meta:
        model = Chunk
        fields = ["id", "seq", "text", "heading", "page", "page_end", "char_start", "char_end", "token_count"]
        read_only_fields = fields


class PersonSerializer(StrictSerializer):
    """Somebody whom a collection is shared with, by the whole user name."""

    username = TextField(max_length=150)
    role = serializers.ChoiceField(choices=CollectionPerson.Role.choices)


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A collection. owner: null for the site's. version: grows with every change of its content.

    address: what names it and no other, for everybody. approved: public, and searched by questions that name none.
    searched: by those of the asking user.

    editable: you may change its documents. owned: and the collection itself, and whom it is shared with; nobody else is
    told `editor_groups` and `people`.
    """

    owner = serializers.CharField(source="owner.username", read_only=True, allow_null=True, default=None)
    groups: Any = serializers.SlugRelatedField(many=True, read_only=True, slug_field="name")
    address = serializers.CharField(read_only=True, help_text="`owner/name`; `site:name` of the site's own.")
    approved = serializers.SerializerMethodField()
    searched = serializers.SerializerMethodField()
    document_count = serializers.IntegerField(read_only=True)
    editor_groups = serializers.SerializerMethodField()
    people = serializers.SerializerMethodField()
    editable = serializers.SerializerMethodField()
    owned = serializers.SerializerMethodField()

    class Meta:
        model = Collection
        fields = [
            "id",
            "name",
            "address",
            "description",
            "owner",
            "visibility",
            "approved",
            "searched",
            "groups",
            "document_count",
            "embedding_model",
            "embedding_dim",
            "version",
            "editable",
            "owned",
            "editor_groups",
            "people",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    def get_approved(self, collection: Collection) -> bool:
        return is_approved(collection)

    def get_searched(self, collection: Collection) -> bool:
        return _is_among(collection, default_collections, self.context)

    def get_editable(self, collection: Collection) -> bool:
        return _is_among(collection, writable_collections, self.context)

    def get_owned(self, collection: Collection) -> bool:
        return _is_among(collection, owned_collections, self.context)

    def get_editor_groups(self, collection: Collection) -> list[str]:
        return [group.name for group in collection.editor_groups.all()] if self.get_owned(collection) else []

    @extend_schema_field(PersonSerializer(many=True))
    def get_people(self, collection: Collection) -> list[dict[str, str]]:
        if not self.get_owned(collection):
            return []
        return [{"username": person.user.username, "role": person.role} for person in collection.people.all()]


class CollectionInputSerializer(StrictSerializer):
    """`groups`: names of groups that the user is in; `editor_groups`: those of them whose members may change its
    documents. One of them, or of `people`, is needed when the visibility is `shared`. `public` needs the permission
    `retrieval.publish_collection`, which staff have. Questions that name none search what is shared once it is
    accepted."""

    name = TextField(max_length=100)
    description = TextField(required=False, allow_blank=True, max_length=500)
    visibility = serializers.ChoiceField(choices=Collection.Visibility.choices, required=False)
    groups = ListField(child=TextField(max_length=150), required=False, max_length=50)
    editor_groups = ListField(child=TextField(max_length=150), required=False, max_length=50)
    people = ListField(child=PersonSerializer(), required=False, max_length=200)


class QuestionField(TextField):
    """A text with something to search for in it: control characters and what is not seen alone are as good as blank.

    A text beyond the site's limit is not wrong but too large, where the view says so with 413.
    """

    schema_rules = {
        "maxLength": settings.RAG.limits.message_chars,
        "pattern": rf"^[^\u0000]*[^{_SAYS_NOTHING}][^\u0000]*$",
    }

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not query_text(text) or not is_seen(text):
            self.fail("blank")
        return text
