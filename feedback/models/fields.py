"""What several tables of feedback have alike."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


def who(name: Any, **options: Any) -> models.ForeignKey:
    """The person who did something; empty once their account is deleted."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=name,
        **options,
    )


class InForce(models.Model):
    """What somebody made, and what holds until it expires or is ended. A row is never changed but to end it."""

    created_by = who(_("created by"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    expires_at = models.DateTimeField(null=True, blank=True, verbose_name=_("expires at"))
    ended_at = models.DateTimeField(null=True, blank=True, verbose_name=_("ended at"))
    ended_by = who(_("ended by"))

    class Meta:
        abstract = True

    @classmethod
    def in_force(cls) -> QuerySet[Self]:
        return cls._default_manager.filter(
            Q(expires_at=None) | Q(expires_at__gt=timezone.now()), ended_at=None
        )
