"""Collections and documents in the admin: changed and deleted through the services, so that the index follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.db.models import Count, Max, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin, excerpt
from retrieval.models import Chunk, Collection, Document, IngestJob, MemoryOwner, WriteLease
from retrieval.selectors import documents_cut_larger, visible_collections
from retrieval.services.collections import collection_approve, collection_delete
from retrieval.services.documents import document_delete, document_reingest, document_update
from retrieval.services.embedding_space import recorded_size
from retrieval.services.index_rebuild import index_work_ask


@admin.register(Collection)
class CollectionAdmin(admin.ModelAdmin):
    """Collections: approved, re-embedded, written anew."""

    list_display = [
        "name", "owner", "visibility", "approved", "documents_link", "embedding_model", "embedding_dim",
        "index_work", "version", "updated_at",
    ]  # fmt: skip
    list_filter = ["visibility", "approved", "embedding_model"]
    list_select_related = ["owner"]
    ordering = ["name", "pk"]  # a count beside each row takes the model's own order away
    search_fields = ["name", "description", "owner__username"]
    date_hierarchy = "created_at"
    autocomplete_fields = ["owner"]
    filter_horizontal = ["groups"]
    fields = [
        "name", "description", "owner", "visibility", "approved", "groups", "embedding_model", "embedding_dim",
        "size_of_chunks", "index_work", "version", "created_at", "updated_at",
    ]  # fmt: skip
    readonly_fields = [
        "embedding_model", "embedding_dim", "size_of_chunks", "index_work", "version", "created_at", "updated_at",
    ]  # fmt: skip
    actions = ["approve", "withdraw_approval", "reembed", "reindex"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        """Without those that hold the files of people's conversations."""
        ordinary = super().get_queryset(request).filter(conversation_id=None)
        return ordinary.annotate(document_count=Count("documents"))

    def save_model(self, request: HttpRequest, obj: Collection, form: ModelForm[Collection], change: bool) -> None:
        """Staff who make a collection public approve it by that; one that is not public is not approved."""
        if obj.visibility != Collection.Visibility.PUBLIC:
            obj.approved = False
        elif "visibility" in form.changed_data or not change:
            obj.approved = True
        super().save_model(request, obj, form, change)

    @admin.action(description=_("Approve: search them where a question names no collection"), permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._approved(request, queryset, approved=True)

    @admin.action(description=_("Withdraw the approval: search them only where they are named"), permissions=["change"])
    def withdraw_approval(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._approved(request, queryset, approved=False)

    def _approved(self, request: HttpRequest, queryset: QuerySet[Collection], *, approved: bool) -> None:
        done = sum(collection_approve(collection=collection, approved=approved) for collection in queryset)
        outcome = (
            ngettext("%(count)d collection is approved.", "%(count)d collections are approved.", done)
            if approved
            else ngettext(
                "%(count)d collection is no longer approved.", "%(count)d collections are no longer approved.", done
            )
        )
        self.message_user(request, outcome % {"count": done}, messages.SUCCESS)
        if left := len(queryset) - done:
            stay = ngettext(
                "%(count)d stays as it is: the site's own, or not public.",
                "%(count)d stay as they are: the site's own, or not public.",
                left,
            )
            self.message_user(request, stay % {"count": left}, messages.WARNING)

    @admin.display(description=_("Documents"), ordering="document_count")
    def documents_link(self, collection: Any) -> SafeString:
        url = reverse("admin:retrieval_document_changelist")
        return format_html(
            '<a href="{}?collection__id__exact={}">{}</a>', url, collection.pk, collection.document_count
        )

    @admin.display(description=_("Size of chunks"))
    def size_of_chunks(self, collection: Collection) -> str:
        """What is used now, why, and whether its documents were cut like that."""
        tokens, context = recorded_size(collection).tokens, collection.embedding_context
        reads = gettext(", as the model reads %(tokens)s of a text") % {"tokens": context} if context else ""
        larger = documents_cut_larger(collection, tokens)
        again = ngettext(
            " %(count)d document was cut larger; read it again to have it cut anew.",
            " %(count)d documents were cut larger; read them again to have them cut anew.",
            larger,
        )
        size = gettext("at most %(tokens)s tokens%(reads)s.") % {"tokens": tokens, "reads": reads}
        return size + (again % {"count": larger} if larger else "")

    @admin.action(description=_("Re-embed with the model that new collections get"), permissions=["change"])
    def reembed(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._ask(request, queryset, Collection.IndexWork.REEMBED)

    @admin.action(description=_("Rebuild the index rows"), permissions=["change"])
    def reindex(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        self._ask(request, queryset, Collection.IndexWork.REINDEX)

    def _ask(self, request: HttpRequest, queryset: QuerySet[Collection], work: Collection.IndexWork) -> None:
        index_work_ask(collections=Collection.objects.filter(pk__in=[row.pk for row in queryset]), work=work)
        self.message_user(request, _("A worker does it as soon as it can; searches go on meanwhile."), messages.SUCCESS)

    def delete_model(self, request: HttpRequest, obj: Collection) -> None:
        collection_delete(collection=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        for collection in queryset:
            collection_delete(collection=collection)


class IngestJobInline(PartOfHistoryAdmin, admin.TabularInline):
    """A document's jobs, on its page."""

    model = IngestJob
    extra = 0
    fields = [
        "state", "attempts", "holder", "error", "timings_ms", "created_at", "started_at", "finished_at",
    ]  # fmt: skip
    readonly_fields = [
        "state", "attempts", "holder", "error", "timings_ms", "created_at", "started_at", "finished_at",
    ]  # fmt: skip


class NamedValuesFilter(admin.AllValuesFieldListFilter):
    """All values of a column; the empty one has a name, too."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            choice["display"] = choice["display"] or "–"
            yield choice


@admin.register(Document)
class DocumentAdmin(admin.ModelAdmin):
    """Documents come in by upload; here their metadata are corrected, and they are read again or deleted."""

    list_display = [
        "headline", "collection", "status", "progress_bar", "department", "doc_type", "policy_year", "language",
        "chunk_count", "size", "uploaded_by", "problem", "created_at",
    ]  # fmt: skip
    list_filter = [
        "status",
        ("collection", admin.RelatedOnlyFieldListFilter),
        ("department", NamedValuesFilter),
        ("doc_type", NamedValuesFilter),
        "policy_year",
        ("language", NamedValuesFilter),
        ("media_type", NamedValuesFilter),
    ]
    list_select_related = ["collection", "uploaded_by"]
    list_per_page = 50
    search_fields = ["title__icontains_han", "file_name__icontains_han", "content_hash", "department"]
    date_hierarchy = "created_at"
    show_full_result_count = False
    actions = ["read_again"]
    inlines = [IngestJobInline]
    readonly_fields = [
        "collection", "file_name", "media_type", "size", "content_hash", "language", "status", "progress_bar", "error",
        "page_count", "chunks_link", "chunk_tokens", "uploaded_by", "created_at", "updated_at",
    ]  # fmt: skip
    fields = ["title", "department", "doc_type", "policy_year", "tags", *readonly_fields]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        """Without the files of people's conversations."""
        return super().get_queryset(request).filter(collection__conversation_id=None)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Document, form: ModelForm[Document], change: bool) -> None:
        """Through the service, which writes the index rows anew."""
        changes = {name: form.cleaned_data[name] for name in form.changed_data}
        document = Document.objects.get(pk=obj.pk)
        try:
            document_update(document=document, changes=changes)
        except AppError as error:
            self.message_user(
                request, gettext("Nothing was changed. %(reasons)s") % {"reasons": _reasons(error)}, messages.ERROR
            )

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        document_delete(document=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            document_delete(document=document)

    @admin.action(description=_("Read again from the stored file"), permissions=["change"])
    def read_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        refused = 0
        for document in queryset:
            try:
                document_reingest(document=document)
            except AppError:
                refused += 1
        queued = len(queryset) - refused
        told = ngettext("%(count)d document is being read again.", "%(count)d documents are being read again.", queued)
        self.message_user(request, told % {"count": queued}, messages.SUCCESS)
        if refused:
            told = ngettext(
                "%(count)d document is being read at the moment already.",
                "%(count)d documents are being read at the moment already.",
                refused,
            )
            self.message_user(request, told % {"count": refused}, messages.WARNING)

    @admin.display(description=_("Title"), ordering="title")
    def headline(self, document: Document) -> str:
        return excerpt(document.title) or document.file_name

    @admin.display(description=_("Progress"), ordering="progress")
    def progress_bar(self, document: Document) -> SafeString:
        return format_html(
            '<progress class="document-progress" max="1" value="{}">{}</progress>',
            f"{document.progress:.2f}",
            f"{document.progress:.0%}",
        )

    @admin.display(description=_("Size"), ordering="size_bytes")
    def size(self, document: Document) -> str:
        return filesizeformat(document.size_bytes)

    @admin.display(description=_("Error"), ordering="error")
    def problem(self, document: Document) -> str:
        return excerpt(document.told_error) or "–"

    @admin.display(description=_("Chunks"))
    def chunks_link(self, document: Document) -> SafeString:
        url = reverse("admin:retrieval_chunk_changelist")
        return format_html('<a href="{}?document__id__exact={}">{}</a>', url, document.pk, document.chunk_count)


@admin.register(Chunk)
class ChunkAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    """Chunks of the collections that the reader may see."""

    list_display = ["beginning", "document_link", "seq", "page", "heading", "token_count", "indexed"]
    list_filter = ["indexed", "document__collection"]
    list_select_related = ["document"]
    search_fields = ["text__icontains_han", "heading__icontains_han", "document__title__icontains_han"]
    date_hierarchy = "document__created_at"
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        """Being staff gives no view into what is written in other people's private collections."""
        return Chunk.objects.filter(document__collection__in=visible_collections(request.user))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description=_("Text"))
    def beginning(self, chunk: Chunk) -> str:
        return excerpt(chunk.text)

    @admin.display(description=_("Document"), ordering="document__title")
    def document_link(self, chunk: Chunk) -> SafeString:
        return _document_link(chunk.document)


@admin.register(IngestJob)
class IngestJobAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    """All jobs: who works on what, and why it failed."""

    list_display = [
        "document_link",
        "state",
        "attempts",
        "holder",
        "problem",
        "created_at",
        "started_at",
        "finished_at",
    ]
    list_filter = ["state", "attempts"]
    fields = [
        "document_link", "state", "attempts", "holder", "error", "timings_ms", "created_at", "started_at",
        "finished_at",
    ]  # fmt: skip
    list_select_related = ["document"]
    search_fields = ["document__title", "document__file_name", "error", "holder"]
    date_hierarchy = "created_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        """Without those of files of people's conversations."""
        return super().get_queryset(request).filter(document__collection__conversation_id=None)

    @admin.display(description=_("Document"), ordering="document__title")
    def document_link(self, job: IngestJob) -> SafeString:
        return _document_link(job.document)

    @admin.display(description=_("Error"))
    def problem(self, job: IngestJob) -> str:
        return excerpt(job.error) or "–"


@admin.register(WriteLease)
class WriteLeaseAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    """Who writes into which index now."""

    list_display = ["space", "holder", "until"]
    fields = ["space", "holder", "until"]
    search_fields = ["space", "holder"]
    date_hierarchy = "lease_expires_at"

    @admin.display(description=_("Until"), ordering="lease_expires_at")
    def until(self, lease: WriteLease) -> Any:
        return lease.lease_expires_at


@admin.register(MemoryOwner)
class MemoryOwnerAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    """How much is remembered for each user. What it says is theirs alone, so no page of the admin shows it."""

    list_display = ["username", "remembered", "switched", "latest"]
    search_fields = ["username"]
    fields = ["username", "remembered", "switched", "latest"]
    readonly_fields = ["username", "remembered", "switched", "latest"]
    ordering = ["username"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemoryOwner]:
        owners = super().get_queryset(request).select_related("memory_preference")
        return owners.annotate(memory_count=Count("memories"), latest_memory=Max("memories__updated_at"))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Accounts are deleted on their own page."""
        return False

    @admin.display(description=_("Remembered"), ordering="memory_count")
    def remembered(self, owner: Any) -> int:
        return int(owner.memory_count)

    @admin.display(description=_("Switched"))
    def switched(self, owner: MemoryOwner) -> str:
        preference = getattr(owner, "memory_preference", None)
        if preference is None:
            return gettext("as the settings say")
        return gettext("on") if preference.enabled else gettext("off")

    @admin.display(description=_("Latest"), ordering="latest_memory")
    def latest(self, owner: Any) -> Any:
        return owner.latest_memory


def _document_link(document: Document) -> SafeString:
    url = reverse("admin:retrieval_document_change", args=[quote(str(document.pk))])
    return format_html('<a href="{}">{}</a>', url, excerpt(document.title, 60) or document.file_name)


def _reasons(error: AppError) -> str:
    texts = [
        str(localized(text))
        for reasons in error.fields.values()
        for text in (reasons if isinstance(reasons, list) else [reasons])
    ]
    return " ".join(texts) or str(localized(error.message))
