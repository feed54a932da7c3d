"""Collections and documents in the admin: lists to look at, with the actions that their own pages do not have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from ragsite.core.api.pagination import KeysFirst
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin, excerpt
from retrieval.knowledge.index_sync.reembedding import reembedding_start
from retrieval.knowledge.ingest.sniff import MEDIA_TYPES
from retrieval.knowledge.selectors import with_document_count
from retrieval.knowledge.services.collections import collection_approve
from retrieval.knowledge.services.documents import document_delete, document_reingest
from retrieval.models import Collection, Document, IngestJob

ORDINARY = Collection.objects.filter(
    conversation_id=None
)  # they hold no files of people's conversations
MOST_CHOICES = 500  # of a filter


class ActionsAdmin(ReadOnlyAdmin):
    """Mixin: nothing is edited, yet who may change the rows may act on them."""

    def has_action_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")


@admin.register(Collection)
class CollectionAdmin(ActionsAdmin, admin.ModelAdmin):
    """Collections: approved, re-embedded."""

    list_display = [
        "name",
        "owner",
        "visibility",
        "approved",
        "documents_held",
        "embedding_model",
        "updated_at",
    ]
    list_filter = ["visibility", "approved", "embedding_model"]
    list_select_related = ["owner"]
    paginator = KeysFirst
    ordering = ["name", "pk"]  # a count beside each row takes the model's own order away
    search_fields = ["name", "description", "owner__username"]
    date_hierarchy = "created_at"
    actions = ["approve", "withdraw_approval", "reembed"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        """Without those that hold the files of people's conversations."""
        ordinary = super().get_queryset(request).filter(conversation_id=None)
        return with_document_count(ordinary)

    @admin.action(description=_("Search for everyone by default"), permissions=["action"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._approve(request, queryset, approved=True)

    @admin.action(
        description=_("Withdraw the approval: search them only where they are named"),
        permissions=["action"],
    )
    def withdraw_approval(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._approve(request, queryset, approved=False)

    def _approve(
        self, request: HttpRequest, queryset: QuerySet[Collection], *, approved: bool
    ) -> None:
        done = sum(
            collection_approve(collection=collection, approved=approved) for collection in queryset
        )
        text = ngettext(
            "%(count)d collection is changed.", "%(count)d collections are changed.", done
        )
        self.message_user(request, text % {"count": done}, messages.SUCCESS)
        if left := len(queryset) - done:
            stay = ngettext(
                "%(count)d stays as it is: the site's own, or not public.",
                "%(count)d stay as they are: the site's own, or not public.",
                left,
            )
            self.message_user(request, stay % {"count": left}, messages.WARNING)

    @admin.action(description=_("Rebuild the index with the current model"), permissions=["action"])
    def reembed(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        for collection in queryset:
            reembedding_start(collection=collection)
        self.message_user(
            request,
            _("A worker does it as soon as it can; searches go on meanwhile."),
            messages.SUCCESS,
        )

    @admin.display(description=_("Documents"), ordering="document_count")
    def documents_held(self, collection: Any) -> int:
        return int(collection.document_count)


class CollectionFilter(admin.RelatedFieldListFilter):
    """Without those of conversations, and without looking through all documents for the collections that hold any."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        return [
            (row.pk, row.address)
            for row in ORDINARY.select_related("owner").order_by("name", "pk")[:MOST_CHOICES]
        ]


class MediaTypeFilter(admin.SimpleListFilter):
    """Of the kinds that the site reads."""

    title = _("media type")
    parameter_name = "media_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(media_type, media_type) for media_type in sorted(set(MEDIA_TYPES.values()))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        return queryset.filter(media_type=self.value()) if self.value() else queryset


class IngestJobInline(PartOfHistoryAdmin, admin.TabularInline):
    """A document's jobs, on its page."""

    model = IngestJob
    extra = 0
    fields = ["state", "attempts", "holder", "error", "created_at", "started_at", "finished_at"]
    readonly_fields = [
        "state",
        "attempts",
        "holder",
        "error",
        "created_at",
        "started_at",
        "finished_at",
    ]


@admin.register(Document)
class DocumentAdmin(ActionsAdmin, admin.ModelAdmin):
    """Documents come in by upload; here they are read again or deleted."""

    list_display = [
        "title",
        "collection",
        "status",
        "size",
        "uploaded_by",
        "problem",
        "created_at",
    ]
    list_filter = ["status", ("collection", CollectionFilter), MediaTypeFilter]
    list_select_related = ["collection", "uploaded_by"]
    list_per_page = 50
    search_fields = ["title__icontains_han", "file_name__icontains_han"]
    ordering = ["-created_at", "pk"]
    paginator = KeysFirst
    show_full_result_count = False
    actions = ["read_again"]
    inlines = [IngestJobInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        """Without the files of people's conversations."""
        return super().get_queryset(request).filter(collection__in=ORDINARY.values("pk"))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        """One by one: with the last document a collection forgets in which index their rows are."""
        for document in queryset:
            document_delete(document=document)

    @admin.action(description=_("Read again from the stored file"), permissions=["action"])
    def read_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        refused = 0
        for document in queryset:
            try:
                document_reingest(document=document, by=asking_user(request))
            except AppError:
                refused += 1
        queued = len(queryset) - refused
        text = ngettext(
            "%(count)d document is being read again.",
            "%(count)d documents are being read again.",
            queued,
        )
        self.message_user(request, text % {"count": queued}, messages.SUCCESS)
        if refused:
            text = ngettext(
                "%(count)d document is being read at the moment already.",
                "%(count)d documents are being read at the moment already.",
                refused,
            )
            self.message_user(request, text % {"count": refused}, messages.WARNING)

    @admin.display(description=_("Size"), ordering="size_bytes")
    def size(self, document: Document) -> str:
        return filesizeformat(document.size_bytes)

    @admin.display(description=_("Error"), ordering="error")
    def problem(self, document: Document) -> str:
        return excerpt(document.localized_error) or "–"
