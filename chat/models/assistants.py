"""Assistants: what somebody has set up for questions of one kind, and whom it is shared with."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from retrieval.models import SITE, Collection, name_validator

MAX_INSTRUCTIONS = 4000  # characters
MAX_STARTERS = 4
MAX_STARTER_CHARS = 300


class Assistant(models.Model):
    """How questions are asked that choose it: where they look, how thoroughly, and how answers are worded.

    It lends no permission: whoever asks by it searches those of its collections that they may read themselves. Names
    are unique per owner; one without an owner belongs to the site.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=100, validators=[name_validator])
    description = models.CharField(_("description"), max_length=500, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="assistants",
        verbose_name=_("owner"),
    )
    instructions = models.TextField(_("instructions"), max_length=MAX_INSTRUCTIONS, blank=True)
    # Ids, not rows: an assistant whose last collection is deleted must not begin to search all of them.
    collections: Any = models.JSONField(_("collections"), default=list, blank=True)
    # Beside these: of each person who asks their own. None: no.
    with_own = models.BooleanField(_("each person’s own collections, too"), null=True, blank=True)
    workflow = models.CharField(_("workflow"), max_length=40, blank=True)
    options: Any = models.JSONField(_("options"), default=dict, blank=True)  # of `workflow`
    filters: Any = models.JSONField(_("filters"), default=dict, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    starters: Any = models.JSONField(_("questions to start with"), default=list, blank=True)
    visibility = models.CharField(
        _("visibility"),
        max_length=10,
        choices=Collection.Visibility,
        default=Collection.Visibility.PRIVATE,
    )
    groups = models.ManyToManyField(
        Group, blank=True, related_name="assistants", verbose_name=_("groups")
    )
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="shared_assistants",
        verbose_name=_("people"),
    )
    is_default = models.BooleanField(_("default"), default=False)
    version = models.PositiveIntegerField(_("version"), default=1)  # grows with every change
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("assistant")
        verbose_name_plural = _("assistants")
        ordering = ["name", "created_at"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="assistant_name_per_owner"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(owner=None), name="assistant_name_of_site"
            ),
            models.UniqueConstraint(
                fields=["is_default"], condition=Q(is_default=True), name="one_default_assistant"
            ),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(owner=None, visibility="public"),
                name="default_assistant_is_the_sites",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """What names it and no other, whoever asks: `owner/name`, for the site's `site:name`."""
        return f"{self.owner.username}/{self.name}" if self.owner else f"{SITE}{self.name}"
