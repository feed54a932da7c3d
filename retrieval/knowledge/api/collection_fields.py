"""What several inputs and outputs say of collections: how one is named, and what the user may do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from retrieval.models import Collection

MAX_NAMES = 50
ADDRESS = "An id, `owner/name`, `site:name`, or a plain name: your own collection first."


def is_among(
    collection: Collection,
    selector: Callable[[User], QuerySet[Collection]],
    context: Mapping[str, Any],
) -> bool:
    """Whether it is one of those that the selector gives for the request's user; they are looked up once a request."""
    request = context["request"]
    known = vars(request).setdefault("known_collections", {})
    if selector not in known:
        known[selector] = set(selector(request.user).values_list("pk", flat=True))
    return collection.pk in known[selector]
