"""How much of the site one user may take up. The collection's owner is charged; the site's own and staff are not."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Sum

from ragsite.core.errors import QuotaExceededError
from ragsite.core.storage import MIB
from ragsite.core.wording import worded
from retrieval.models import Collection, Document


@dataclass(frozen=True, slots=True)
class Usage:
    """What a user's documents take up, and what they may; None: as much as there is room for."""

    documents: int
    storage_bytes: int
    documents_allowed: int | None
    storage_bytes_allowed: int | None


def usage_of(user: User) -> Usage:
    """What the user's own collections hold, and may hold."""
    used = Document.objects.filter(collection__owner=user).aggregate(
        documents=Count("pk"), storage_bytes=Sum("size_bytes", default=0)
    )
    quotas = settings.RAG.quotas
    return Usage(
        **used,
        documents_allowed=None if user.is_staff else quotas.documents or None,
        storage_bytes_allowed=None if user.is_staff else quotas.storage_mib * MIB or None,
    )


def quota_check(*, collection: Collection, size_bytes: int, lock: bool = False) -> None:
    """Is there room for one more file in it. `lock`: inside a transaction, so that no other upload counts meanwhile.

    Raises QuotaExceededError.
    """
    if collection.owner_id is None:
        return
    owners = User.objects.select_for_update(no_key=True) if lock else User.objects.all()
    owner = owners.filter(pk=collection.owner_id).first()
    if owner is None or owner.is_staff:
        return
    usage = usage_of(owner)
    if usage.documents_allowed is not None and usage.documents >= usage.documents_allowed:
        raise QuotaExceededError(
            worded(
                "You have {documents:,} documents, and {documents_allowed:,} are allowed; delete some first.",
                documents=usage.documents,
                documents_allowed=usage.documents_allowed,
            )
        )
    if usage.storage_bytes_allowed is not None and usage.storage_bytes + size_bytes > usage.storage_bytes_allowed:
        used, allowed = usage.storage_bytes / MIB, usage.storage_bytes_allowed // MIB
        raise QuotaExceededError(
            worded(
                "This file has {size:,.1f} MiB, and your documents take up {used:,.1f} of {allowed:,} MiB; "
                "delete some first.",
                size=size_bytes / MIB,
                used=used,
                allowed=allowed,
            )
        )
