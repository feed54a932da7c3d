"""What documents and memories hold of a person, for `ragsite.accounts.personal_data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from ragsite.accounts.personal_data import Held, Part
from ragsite.core.text import clean_file_name
from ragsite.core.wording import counted
from retrieval.memory.selectors import memory_enabled
from retrieval.memory.services import memories_forget
from retrieval.models import Collection, Document, KeptGroup, Memory

DOCUMENTS_AT_ONCE = 5  # each with up to thousands of chunks
MEMORIES_AT_ONCE = 100
COLLECTION_FIELDS = ("id", "name", "description", "visibility", "created_at", "updated_at")
DOCUMENT_FIELDS = (
    "id", "collection__name", "title", "file_name", "media_type", "size_bytes", "department", "doc_type", "policy_year",
    "tags", "language", "summary", "status", "created_at", "updated_at",
)  # fmt: skip
MEMORY_FIELDS = ("id", "question", "text", "use_count", "last_used_at", "created_at", "updated_at")


class RetrievalHolder:
    """One's own collections with documents and files, documents given to others' collections, groups, memories.

    Groups that one keeps, and what others shared by one's name, go with the account's row.
    """

    def goes(self, user: User) -> Iterable[Held]:
        collections = Collection.objects.filter(owner=user).count()
        documents = Document.objects.filter(collection__owner=user).count()
        memories = Memory.objects.filter(user=user).count()
        yield Held(counted("{count} collection", "{count} collections", collections), collections)
        yield Held(
            counted("{count} document with its file", "{count} documents with their files", documents), documents
        )
        yield Held(counted("{count} memory", "{count} memories", memories), memories)

    def stays(self, user: User) -> Iterable[Held]:
        given = _given_to_others(user).count()
        yield Held(
            counted(
                "{count} document that you put into a collection of others; it no longer names you",
                "{count} documents that you put into collections of others; they no longer name you",
                given,
            ),
            given,
        )

    def parts(self, user: User) -> Iterator[Part]:
        yield Part("collections.json", Collection.objects.filter(owner=user).values(*COLLECTION_FIELDS).iterator())
        yield Part("groups.json", map(_group, KeptGroup.objects.filter(owner=user).select_related("group")))
        documents = Document.objects.filter(Q(collection__owner=user) | Q(uploaded_by=user)).order_by(
            "created_at", "pk"
        )
        yield Part("documents.json", map(_document, documents.values(*DOCUMENT_FIELDS).iterator()))
        for document in documents.exclude(file="").select_related("collection").iterator():
            folder = f"documents/{document.collection.name.strip(' .')}"
            name = f"{document.pk.hex[:8]}-{clean_file_name(document.file_name)[-120:]}"
            yield Part(f"{folder}/{name}", partial(document.file.storage.open, str(document.file.name), "rb"))
        yield Part("memories.json", Memory.objects.filter(user=user).values(*MEMORY_FIELDS).iterator())
        yield Part("memory-settings.json", {"remembers": memory_enabled(user_id=user.pk)})

    def erase(self, user: User) -> Iterator[int]:
        documents = Document.objects.filter(collection__owner=user)
        while batch := list(documents.values_list("pk", flat=True)[:DOCUMENTS_AT_ONCE]):
            with transaction.atomic():
                Document.objects.filter(pk__in=batch).delete()
            yield len(batch)
        for collection in Collection.objects.filter(owner=user):
            collection.delete()
            yield 1
        Document.objects.filter(uploaded_by=user).update(uploaded_by=None)
        while ids := list(Memory.objects.filter(user=user).values_list("pk", flat=True)[:MEMORIES_AT_ONCE]):
            yield memories_forget(user_id=user.pk, memory_ids=ids)


def _given_to_others(user: User) -> QuerySet[Document]:
    return Document.objects.filter(uploaded_by=user).exclude(collection__owner=user)


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"collection" if name == "collection__name" else name: value for name, value in row.items()}


def _group(kept: KeptGroup) -> dict[str, Any]:
    return {"name": kept.group.name, "members": sorted(kept.group.user_set.values_list("username", flat=True))}
