"""How old what a source is of is, as it is now: its document's date and version, and whether its review is overdue.

The database reads it with the sources themselves, of documents that the reader may see now; of others nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Func, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from chat.models import Source
from retrieval.engine.values import StoredChunk
from retrieval.knowledge.selectors import visible_documents
from retrieval.models import Document

COLUMNS = ("created_at", "version", "superseded_at", "review_due", "policy_year")


def sources_with_ages(user: User | F | None) -> QuerySet[Source]:
    """Each with `document_state`, for `age_of_row`. user: who reads; F: the owner of the answer, who was just given these
    passages; None: nobody in particular, and nothing is read."""
    if user is None:
        return Source.objects.all()
    documents = visible_documents(user) if isinstance(user, User) else Document.objects.all()
    state = _Columns(**{name: name for name in COLUMNS})
    found = documents.filter(pk=OuterRef("document_id")).order_by().annotate(state=state)
    return Source.objects.annotate(document_state=Subquery(found.values("state")))


class _Columns(JSONObject):
    """Django asks SQLite for JSON by a statement of its own on every connection; the site needs it anyway."""

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return Func.as_sql(self, compiler, connection, **context)


def age_of_row(row: Source) -> dict[str, Any]:
    """Of a stored source as it was read by `sources_with_ages`."""
    state: Mapping[str, Any] | None = getattr(row, "document_state", None)
    if state is None:
        return _age()
    due = state["review_due"]
    return _age(
        added_at=parse_datetime(state["created_at"]),
        version=state["version"],
        replaced=state["superseded_at"] is not None,
        review_due=parse_date(due) if due else None,
        policy_year=state["policy_year"],
    )


def age_of_chunk(chunk: StoredChunk) -> dict[str, Any]:
    """Of a source whose answer is being written."""
    if chunk.kind == "web":
        return _age()
    return _age(
        added_at=chunk.created_at,
        version=chunk.version,
        review_due=chunk.review_due,
        policy_year=chunk.policy_year,
    )


def _age(
    *,
    added_at: datetime | None = None,
    version: int | None = None,
    replaced: bool = False,
    review_due: date | None = None,
    policy_year: int | None = None,
) -> dict[str, Any]:
    if added_at is not None and timezone.is_naive(added_at):  # as SQLite's JSON has it
        added_at = added_at.replace(tzinfo=UTC)
    overdue = review_due is not None and not replaced and review_due < timezone.localdate()
    return {
        "added_at": added_at,
        "version": version,
        "replaced": replaced,
        "policy_year": policy_year,
        "review_due": review_due,
        "overdue": overdue,
    }


def overdue_markers(sources: Sequence[Mapping[str, Any]]) -> list[int]:
    """Of the cited sources whose documents were to be reviewed by now."""
    return [source["marker"] for source in sources if source["cited"] and source["overdue"]]
