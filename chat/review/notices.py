"""What a person at the desk has to know of, wherever they are there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.review.feedback_port import DeskNotice, get_feedback
from chat.review.roles import DeskAccess
from ragsite.models import SettingRevision

SETTINGS_DAYS = 7  # that a change of the settings is told


def desk_notices(access: DeskAccess) -> Sequence[DeskNotice]:
    """Of this person's checked answers, and for administrators of settings that others made live."""
    return [*get_feedback().notices(access.user, curates=access.may("curate")), *_settings_made_live(access)]


def _settings_made_live(access: DeskAccess) -> list[DeskNotice]:
    if not access.may("administer"):
        return []
    since = timezone.now() - timedelta(days=SETTINGS_DAYS)
    live = SettingRevision.objects.filter(state=SettingRevision.State.LIVE, live_at__gte=since)
    row = live.filter(~Q(made_by=access.user) | Q(made_by=None)).select_related("made_by").order_by("-number").first()
    if row is None:
        return []
    name = row.made_by.get_username() if row.made_by else "–"
    return [
        DeskNotice(
            text=_("{name} has made settings live (revision {number}).").format(name=name, number=row.number),
            url=reverse("review_settings_revision", args=[row.number]),
            alarms=False,
        )
    ]
