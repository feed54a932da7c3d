"""How much one user may ask at once and within a minute."""

from __future__ import annotations

import math
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from chat.models import Message
from chat.runs.answers import answers_mark_interrupted
from ragsite.core.errors import PermissionDeniedError, RateLimitedError
from ragsite.core.messages import worded

WINDOW_S = 60


def lock_asking(user: User) -> None:
    """One ask of a user at a time. Raises PermissionDeniedError: an open socket may outlive its account."""
    if (
        not User.objects.select_for_update()
        .filter(pk=user.pk, is_active=True)
        .order_by()
        .values_list("pk")
        .first()
    ):
        raise PermissionDeniedError


def check_limits(user: User) -> None:
    """Answers whose run has died are ended here: they count for nothing. Raises RateLimitedError."""
    limits = settings.RAG.limits
    now = timezone.now()
    answers = Message.objects.filter(session__user=user, role=Message.Role.ASSISTANT)
    since = now - timedelta(seconds=WINDOW_S)
    counted = answers.filter(Q(created_at__gt=since) | Q(status=Message.Status.STREAMING)).order_by(
        "created_at"
    )
    rows = list(counted.only("created_at", "status", "lease_token", "lease_expires_at"))
    begun = [row.created_at for row in rows if row.created_at > since]
    streaming = [row for row in rows if row.status == Message.Status.STREAMING]
    written = [row for row in streaming if row.is_held]
    if len(written) < len(streaming):
        answers_mark_interrupted(session__user=user)
    if len(begun) >= limits.questions_per_minute:
        free_at = begun[-limits.questions_per_minute] + timedelta(seconds=WINDOW_S)
        wait_s = max(1, math.ceil((free_at - now).total_seconds()))
        raise RateLimitedError(
            worded(
                "More than {limit} questions in a minute; try again in {retry_after_s} s.",
                limit=limits.questions_per_minute,
                retry_after_s=wait_s,
            ),
            code="too_many_questions",
            retry_after_s=wait_s,
        )
    if len(written) >= limits.answers_at_once:
        raise RateLimitedError(
            worded(
                "{limit} of your answers are being written already; wait for one of them or stop it.",
                limit=limits.answers_at_once,
            ),
            code="too_many_answers",
            retry_after_s=5,
        )
