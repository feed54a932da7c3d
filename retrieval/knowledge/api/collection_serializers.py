"""The JSON of collections."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ragsite.core.api.fields import ListField, StrictSerializer, TextField, WholeNumberField
from retrieval.knowledge.api.collection_fields import is_among
from retrieval.knowledge.selectors import (
    default_collections,
    is_approved,
    owned_collections,
    writable_collections,
)
from retrieval.models import MAX_REVIEW_MONTHS, Collection, CollectionPerson


class PersonSerializer(StrictSerializer):
    """Somebody whom a collection is shared with, by the whole user name."""

    username = TextField(max_length=150)
    role = serializers.ChoiceField(choices=CollectionPerson.Role.choices)


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A collection. owner: null for the site's. version: grows with every change of its content.

    address: what names it and no other, for everybody. approved: public, and searched by questions that name none.
    searched: by those of the asking user.

    editable: you may change its documents. owned: and the collection itself, and whom it is shared with;
    `editor_groups` and `people` are empty for everybody else.
    """

    owner = serializers.CharField(
        source="owner.username", read_only=True, allow_null=True, default=None
    )
    groups: Any = serializers.SlugRelatedField(many=True, read_only=True, slug_field="name")
    address = serializers.CharField(
        read_only=True, help_text="`owner/name`; `site:name` of the site's own."
    )
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
            "review_months",
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
        return is_among(collection, default_collections, self.context)

    def get_editable(self, collection: Collection) -> bool:
        return is_among(collection, writable_collections, self.context)

    def get_owned(self, collection: Collection) -> bool:
        return is_among(collection, owned_collections, self.context)

    def get_editor_groups(self, collection: Collection) -> list[str]:
        return (
            [group.name for group in collection.editor_groups.all()]
            if self.get_owned(collection)
            else []
        )

    @extend_schema_field(PersonSerializer(many=True))
    def get_people(self, collection: Collection) -> list[dict[str, str]]:
        if not self.get_owned(collection):
            return []
        return [
            {"username": person.user.username, "role": person.role}
            for person in collection.people.all()
        ]


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
    review_months = WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_REVIEW_MONTHS,
        help_text="Its documents are to be reviewed so many months after they came in, unless they have a date of "
        "their own. null: never.",
    )
