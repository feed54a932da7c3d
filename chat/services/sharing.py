"""Share a conversation read-only, with the people of the site or by a secret link, and take that back.

What is shared is a snapshot: the questions and answers that the conversation shows at that moment. What is asked later,
and other versions, are not in it. Sharing it again makes a new snapshot, and a new link in place of the old one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.safestring import mark_safe

from chat import selectors
from chat.messages.data import weak_sentences
from chat.messages.rendering import reachable, render_answer
from chat.messages.sources import cited_page
from chat.models import Message, Session, Share, Source
from chat.services.temporary import TemporaryChatError
from ragsite.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
)
from ragsite.core.messages import worded
from retrieval.knowledge.selectors import visible_documents

MESSAGES_SHARED = 1000  # of one conversation, the newest
SALT = "chat.share"


def session_share(
    *, user: User, session_id: UUID, scope: str, expires_at: datetime | None = None
) -> Share:
    """Raises SessionNotFoundError, TemporaryChatError, PermissionDeniedError where the site has no secret links,
    InvalidInputError, ConflictError where no message is there to show."""
    session = selectors.session_get(user=user, session_id=session_id)
    if session.is_temporary:
        raise TemporaryChatError
    if scope == Share.Scope.LINK and not settings.SHARE_LINKS:
        raise PermissionDeniedError(
            worded(
                "Secret links are switched off on this site; share it with people who have an account, or ask an "
                "administrator."
            ),
            code="share_links_off",
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInputError(fields={"expires_at": [worded("Give a time in the future.")]})
    shown = selectors.message_list(user=user, session=session).exclude(
        status=Message.Status.STREAMING
    )
    ids = [str(pk) for pk in shown.values_list("pk", flat=True)]
    if not ids:
        raise ConflictError(
            worded("There is nothing to share yet; ask a question first."), code="nothing_to_share"
        )
    with transaction.atomic():
        Session.objects.select_for_update().get(pk=session.pk)
        Share.objects.filter(session=session, scope=scope).delete()
        return Share.objects.create(
            session=session, scope=scope, expires_at=expires_at, message_ids=ids[-MESSAGES_SHARED:]
        )


def session_unshare(*, user: User, session_id: UUID, scope: str | None = None) -> None:
    """Raises SessionNotFoundError. What is not shared stays so."""
    session = selectors.session_get(user=user, session_id=session_id)
    Share.objects.filter(session=session, **({"scope": scope} if scope else {})).delete()


def share_list(*, user: User, session_id: UUID) -> list[Share]:
    """Those that can be read now. Raises SessionNotFoundError."""
    session = selectors.session_get(user=user, session_id=session_id)
    shares = Share.objects.filter(_open(), session=session).order_by("-scope")
    return [share for share in shares if share.scope == Share.Scope.SITE or settings.SHARE_LINKS]


def share_path(share: Share) -> str:
    """Where it is read, without the site's name."""
    if share.scope == Share.Scope.LINK:
        return reverse("shared_link", args=[share.pk, share_signature(share.pk)])
    return reverse("shared", args=[share.pk])


def share_signature(share_id: UUID) -> str:
    """The secret part of a link: whoever reads the database alone can't make it."""
    return salted_hmac(SALT, share_id.hex, algorithm="sha256").hexdigest()


def share_open(
    *, share_id: UUID, reader: User | AnonymousUser, signature: str | None = None
) -> Share:
    """The share that an address means; that of a closed account leads nowhere. Raises NotFoundError, whatever is the
    matter with it."""
    scope = Share.Scope.SITE if signature is None else Share.Scope.LINK
    shares = Share.objects.filter(_open(), pk=share_id, scope=scope, session__user__is_active=True)
    share = shares.select_related("session__user").first()
    if share is None:
        raise NotFoundError
    if signature is None:
        allowed = reader.is_authenticated
    else:
        allowed = settings.SHARE_LINKS and constant_time_compare(
            signature, share_signature(share.pk)
        )
    if not allowed:
        raise NotFoundError
    return share


def shared_entries(*, share: Share, reader: User | AnonymousUser) -> list[dict[str, Any]]:
    """Questions and answers in order, as the page shows them. Of documents that the reader may not read neither title
    nor text is given, but the marker, under `hidden`; who has no account reads those of public collections that the
    site has approved. Results of web searches are shown."""
    messages = list(selectors.messages_shared(session_id=share.session_id, ids=share.message_ids))
    readable = _readable(
        [source for message in messages for source in message.sources.all()], reader
    )
    return [_entry(number, message, readable) for number, message in enumerate(messages)]


def _entry(number: int, message: Message, readable: set[UUID]) -> dict[str, Any]:
    """number: of the entry in the page; it tells its sources from those of the others."""
    cited = [source for source in message.sources.all() if source.cited]
    sources = [
        {
            "marker": source.marker,
            "anchor": f"source-{number}-{source.marker}",
            "source": source,
            "page": cited_page(source),
            "is_hidden": source.kind != Source.Kind.WEB and source.document_id not in readable,
        }
        for source in cited
    ]
    html = render_answer(
        message.text,
        markers={source.marker for source in cited},
        weak=weak_sentences(message.grounding or []),
    )
    linked = reachable(html).replace('href="#source-', f'href="#source-{number}-')
    return {
        "message": message,
        "html": mark_safe(linked),  # noqa: S308 -- sanitised by `render_answer`
        "sources": [entry for entry in sources if not entry["is_hidden"]],
        "hidden": [entry for entry in sources if entry["is_hidden"]],
    }


def _readable(sources: Iterable[Source], reader: User | AnonymousUser) -> set[UUID]:
    ids = {source.document_id for source in sources if source.document_id}
    documents = visible_documents(reader).filter(pk__in=ids)
    if not reader.is_authenticated:
        documents = documents.filter(Q(collection__owner=None) | Q(collection__approved=True))
    return set(documents.values_list("pk", flat=True))


def _open() -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=timezone.now())
