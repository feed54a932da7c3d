"""What the cells of a CSV call collections and documents, among those that one person may know of.

A collection is called by its address. A document is called by its title, by its key of another system, or by its id;
an export writes the title where no other document of the collection has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from chat.review.queue import collections_known
from ragsite.core.errors import AppError, InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.text import shortened
from retrieval.knowledge.selectors import as_uuid, collection_named
from retrieval.models import Collection, Document, DocumentKey

AT_ONCE = 500  # names in one statement
NAME_SHOWN = 80  # characters


class Named:
    """Looks each name up once. `load` looks many up together; what it was not given is looked up when it is needed."""

    def __init__(self, user: User) -> None:
        self._known = collections_known(user)
        self._collections: dict[str, Collection | AppError] = {}
        self._documents: dict[tuple[UUID, str], Document | AppError] = {}

    def collections(self) -> QuerySet[Collection]:
        return self._known

    def collection(self, name: str) -> Collection:
        """Raises AppError where it names none, or several."""
        found = self._collections.get(name)
        if found is None:
            try:
                found = collection_named(name, among=self._known)
            except AppError as error:
                found = error
            self._collections[name] = found
        if isinstance(found, AppError):
            raise found
        return found

    def document(self, collection: Collection, name: str) -> Document:
        """Raises InvalidInputError where it names none of the collection, or several."""
        key = (collection.pk, name)
        if key not in self._documents:
            self.load({collection: [name]})
        found = self._documents[key]
        if isinstance(found, AppError):
            raise found
        return found

    def load(self, wanted: Mapping[Collection, Iterable[str]]) -> None:
        for collection, all_names in wanted.items():
            names = [name for name in all_names if (collection.pk, name) not in self._documents]
            for start in range(0, len(names), AT_ONCE):
                self._load(collection, names[start : start + AT_ONCE])

    def _load(self, collection: Collection, names: list[str]) -> None:
        documents = Document.objects.filter(collection=collection)
        ids = {name: key for name in names if (key := as_uuid(name))}
        by_id = documents.in_bulk(list(ids.values()))
        by_name: dict[str, dict[UUID, Document]] = {name: {} for name in names}
        for name, key in ids.items():
            if key in by_id:
                by_name[name][key] = by_id[key]
        current = documents.filter(superseded_at=None)
        for document in current.filter(title__in=names):
            by_name[document.title][document.pk] = document
        keys = DocumentKey.objects.filter(
            collection=collection, key__in=names, document__superseded_at=None
        )
        for key_row in keys.exclude(document=None).select_related("document"):
            if key_row.document is not None:
                by_name[key_row.key][key_row.document.pk] = key_row.document
        for name, found in by_name.items():
            self._documents[collection.pk, name] = _only(collection, name, found)


def _only(
    collection: Collection, name: str, found: Mapping[UUID, Document]
) -> Document | InvalidInputError:
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        return InvalidInputError(
            worded(
                "Several documents of {collection} are called “{name}”. Write the id of one in its place.",
                collection=collection.name,
                name=shortened(name, NAME_SHOWN),
            )
        )
    return InvalidInputError(
        worded(
            "{collection} has no document called “{name}”.",
            collection=collection.name,
            name=shortened(name, NAME_SHOWN),
        )
    )


def document_names(documents: Iterable[Document]) -> dict[UUID, str]:
    """What an export calls them, so that `Named.document` finds the same ones again."""
    rows = {document.pk: document for document in documents}
    titles = list({document.title for document in rows.values()})
    collections = list({document.collection_id for document in rows.values()})
    taken: Counter[tuple[UUID, str]] = Counter()
    for start in range(0, len(titles), AT_ONCE):
        some = titles[start : start + AT_ONCE]
        current = Document.objects.filter(collection__in=collections, superseded_at=None)
        taken.update(current.filter(title__in=some).values_list("collection_id", "title"))
        keys = DocumentKey.objects.filter(collection__in=collections, key__in=some)
        taken.update(keys.exclude(document=None).values_list("collection_id", "key"))
    names = {}
    for document in rows.values():
        is_alone = taken[document.collection_id, document.title] == 1
        is_plain = document.title == document.title.strip() and "\n" not in document.title
        by_title = is_alone and is_plain and document.superseded_at is None
        names[document.pk] = document.title if by_title else str(document.pk)
    return names
