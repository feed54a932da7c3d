"""A question that was sent to a person, as its asker and those who may answer it read it: never more than they may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from chat.messages.rendering import render_answer
from chat.review.roles import PERMISSIONS
from feedback.models import GapRequest, GapRequestSource
from feedback.requests.addressees import MOST_PEOPLE, Addressee, requests_from, requests_to
from feedback.requests.asking import RequestNotFoundError
from ragsite.core.messages import counted, joined, worded
from retrieval.knowledge.selectors import (
    visible_collections,
    visible_documents,
    writable_collections,
)
from retrieval.models import Document

ASKER_GONE = worded("The account that asked was deleted, so nobody is notified of a reply.")
COLLECTION_GONE = worded(
    "The collection that it was sent to was deleted, so it went to the curators of the site."
)
OWNER_GONE = worded(
    "The account of the owner is closed, so the curators of the site can answer it."
)
REPLACED = worded("A newer version has taken the place of this document.")
FAILED = worded("This document could not be read again, so nothing is found in it.")
BEING_READ = worded("This document is being read again.")
PARTLY_READ = worded("Parts of this document could not be read.")
BOXES = ("received", "sent")


def request_list(*, user: User, box: str = "received", state: str = "") -> QuerySet[GapRequest]:
    """Those sent to the user, or by the user, the latest first. box: of BOXES."""
    rows = requests_from(user) if box == "sent" else requests_to(user)
    if state:
        rows = rows.filter(state=state)
    return _with_details(rows)


def request_get(*, user: User, request_id: Any) -> GapRequest:
    """Sent by the user or to the user. Raises RequestNotFoundError."""
    for rows in (requests_from(user), requests_to(user)):
        request = _with_details(rows).filter(pk=request_id).first()
        if request is not None:
            return request
    raise RequestNotFoundError


def _with_details(rows: QuerySet[GapRequest]) -> QuerySet[GapRequest]:
    related = rows.select_related("message", "asker", "ended_by", "collection__owner")
    return related.prefetch_related("sources").order_by("-sent_at", "pk")


def requests_shown(requests: Iterable[GapRequest], *, user: User) -> list[dict[str, Any]]:
    """What each says to `user`, who sent it or may answer it. Five queries, however many."""
    listed = list(requests)
    collections = {one.collection_id for one in listed if one.collection_id}
    known = set(visible_collections(user).filter(pk__in=collections).values_list("pk", flat=True))
    own = set(writable_collections(user).filter(pk__in=collections).values_list("pk", flat=True))
    cited = {source.document_id for one in listed for source in one.sources.all()}
    documents = visible_documents(user).in_bulk(list(cited)) if cited else {}
    hidden = Document.objects.filter(pk__in=cited - documents.keys())
    gone = cited - documents.keys() - set(hidden.values_list("pk", flat=True))
    return [
        _shown(one, user, known)
        | _cited_by(one, documents, gone)
        | {"asker": _asker(one, user, own)}
        for one in listed
    ]


def _shown(request: GapRequest, user: User, known: set[Any]) -> dict[str, Any]:
    is_own = request.asker_id == user.pk
    collection = request.collection if request.collection_id in known else None
    return {
        "id": str(request.pk),
        "question": request.question,
        "remark": request.remark,
        "state": request.state,
        "sent_to": request.sent_to,
        "collection": collection.address if collection else None,
        "not_notified": request.not_notified or 0,
        "note": _note(request),
        "is_own": is_own,
        "session_id": str(request.message.session_id) if is_own and request.message else None,
        "message_id": str(request.message_id) if is_own and request.message_id else None,
        "sent_at": request.sent_at,
        "ended_at": request.ended_at,
        "ended_by": name_of(request.ended_by) if request.ended_by else None,
        "reply": request.reply,
        "is_checked": request.curated_id is not None,
    }


def _cited_by(
    request: GapRequest, documents: Mapping[UUID, Document], gone: set[UUID]
) -> dict[str, Any]:
    """The reply with what it cites. documents: those that may be read; gone: those that are not there any more."""
    cited = list(request.sources.all())
    sources = [one for one in cited if one.document_id in documents]
    gone_sources = sum(one.document_id in gone for one in cited)
    is_answer = request.state == GapRequest.State.ANSWERED and bool(request.reply)
    html = render_answer(request.reply, markers={one.marker for one in sources}, weak=[])
    return {
        "reply_html": html if is_answer else "",
        "sources": [_source(one, documents[one.document_id]) for one in sources],
        "hidden_sources": len(cited) - len(sources) - gone_sources,
        "gone_sources": gone_sources,
    }


def _note(request: GapRequest) -> str:
    """What happened to those whom it concerns, in sentences; mostly empty."""
    return joined(" ", filter(None, (_note_of_people(request), _note_of_notices(request))))


def _note_of_people(request: GapRequest) -> str:
    if request.asker_id is None:
        return ASKER_GONE
    if request.sent_to != GapRequest.To.COLLECTION:
        return ""
    if request.collection is None:
        return COLLECTION_GONE
    owner = request.collection.owner
    return "" if owner is not None and owner.is_active else OWNER_GONE


def _note_of_notices(request: GapRequest) -> str:
    if request.state != GapRequest.State.OPEN or not request.not_notified:
        return ""
    return counted(
        "{notified} people were notified; {count} more can answer it, and finds it on the page Questions to people.",
        "{notified} people were notified; {count} more can answer it, and find it on the page Questions to people.",
        request.not_notified,
        notified=MOST_PEOPLE,
    )


def _asker(request: GapRequest, user: User, own: set[Any]) -> str | None:
    """The people of a collection see who asks them; curators as far as their role shows names. own: collections whose
    documents `user` may change."""
    if request.asker is None:
        return None
    sees_names = request.collection_id in own or user.has_perm(PERMISSIONS["names"])
    return request.asker.get_username() if sees_names else None


def _source(source: GapRequestSource, document: Document) -> dict[str, Any]:
    return {
        "marker": source.marker,
        "document_id": str(source.document_id),
        "title": source.title,
        "text": source.text,
        "note": _document_note(document),
    }


def _document_note(document: Document) -> str:
    """What has become of it since the passage was cited, in a sentence; mostly empty."""
    if document.superseded_at is not None:
        return REPLACED
    if document.status == Document.Status.FAILED:
        return FAILED
    if document.status != Document.Status.READY:
        return BEING_READ
    return PARTLY_READ if document.unread else ""


def addressee_shown(addressee: Addressee) -> dict[str, Any]:
    collection = addressee.collection
    return {
        "sent_to": addressee.sent_to,
        "collection": collection.address if collection else None,
        "owner": addressee.owner or None,
        "others": addressee.others,
        "not_notified": addressee.not_notified,
    }


def name_of(user: User) -> str:
    return user.get_full_name() or user.get_username()
