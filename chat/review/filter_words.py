"""The queue's filters in words, for pages that say what was filtered by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from chat.models import AnswerReview
from chat.review import labels
from chat.review.queue import NOBODY, collections_offered
from chat.review.roles import DeskAccess

COLLECTIONS_NAMED = 200


def filters_said(given: Mapping[str, str], access: DeskAccess) -> Iterator[tuple[str, str, str]]:
    """(parameter, what it is called, its value in words) of each filter; other parameters are left out."""
    names = _names()
    collections: dict[str, str] = {}
    if "collection" in given:
        collections = {str(row.pk): row.address for row in collections_offered(access)[:COLLECTIONS_NAMED]}
    words: dict[str, Mapping[str, Any]] = {
        "reason": labels.REASONS, "decision": labels.DECISIONS, "language": labels.LANGUAGES,
        "state": dict(AnswerReview.State.choices), "rating": dict(rating_choices()), "collection": collections,
        "reviewer": {NOBODY: _("Nobody")}, "workflow": labels.WORKFLOWS,
    }  # fmt: skip
    for name, value in given.items():
        if name in names:
            yield name, names[name], str(words.get(name, {}).get(value, value[:60]))


def rating_choices() -> list[tuple[str, str]]:
    return [
        ("bad", _("Badly rated (1–2)")), ("good", _("Well rated (4–5)")), ("any", _("Rated")), ("none", _("Not rated"))
    ]  # fmt: skip


def _names() -> dict[str, str]:
    return {
        "reason": _("Reason"), "rating": _("Rating"), "decision": _("Decision"), "workflow": _("Workflow"),
        "model": _("Model"), "language": _("Language"), "state": _("State"), "collection": _("Collection"),
        "group": _("Group"), "user": _("User"), "reviewer": _("Reviewer"), "label": _("Label"),
        "session": _("Conversation"), "search": _("Search"), "from": _("From"), "to": _("To"),
    }  # fmt: skip
