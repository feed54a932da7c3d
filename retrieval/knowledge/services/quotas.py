"""How much of the site one user may take up. The collection's owner is charged; the site's own and staff are not."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Sum

from ragsite.core.errors import QuotaExceededError
from ragsite.core.messages import worded
from ragsite.core.storage import MIB
from retrieval.models import Collection, Document


def usage_of(user: User) -> dict[str, dict[str, Any]]:
    """What the user's own collections hold, and may hold: `documents` and `storage_bytes`, each `used` and `allowed`.

    None: as much as there is room for.
    """
    used = Document.objects.filter(collection__owner=user).aggregate(
        documents=Count("*"), storage_bytes=Sum("size_bytes", default=0)
    )
    quotas = settings.RAG.quotas
    allowed = {"documents": quotas.documents, "storage_bytes": quotas.storage_mib * MIB}
    return {
        name: {"used": used[name], "allowed": None if user.is_staff else most or None}
        for name, most in allowed.items()
    }


def quota_check(*, collection: Collection, size_bytes: int) -> None:
    """Is there room for one more file in it. Inside a transaction: no other upload counts until that ends.

    Raises QuotaExceededError.
    """
    if collection.owner_id is None:
        return
    owner = User.objects.select_for_update(no_key=True).filter(pk=collection.owner_id).first()
    if owner is None:
        return
    usage = usage_of(owner)
    used, allowed = usage["documents"].values()
    if allowed is not None and used >= allowed:
        raise QuotaExceededError(
            worded(
                "You have {documents:,} documents, and {documents_allowed:,} are allowed; delete some first.",
                documents=used,
                documents_allowed=allowed,
            )
        )
    used, allowed = usage["storage_bytes"].values()
    if allowed is not None and used + size_bytes > allowed:
        raise QuotaExceededError(
            worded(
                "This file has {size:,.1f} MiB, and your documents take up {used:,.1f} of {allowed:,} MiB; "
                "delete some first.",
                size=size_bytes / MIB,
                used=used / MIB,
                allowed=allowed // MIB,
            )
        )
