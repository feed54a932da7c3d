"""Places elsewhere whose files are kept in step with a collection."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from retrieval.models.collections import Collection


class SyncSource(Leased):
    """A place elsewhere whose files are kept in step with a collection, in the name of its owner.

    `credentials` are encrypted (`ragsite.core.sealed`). A run holds the lease; `report` is of the last one. Where
    another one of the owner's is under way, `waits_since` says that a run was asked for.
    """

    lost_credentials = False  # by a change just made; not stored

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Folder")
        WEB = "web", _("Web pages")
        GIT = "git", _("Git repository")
        S3 = "s3", _("S3 store")
        WEBDAV = "webdav", _("WebDAV folder")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sync_sources"
    )
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="sync_sources"
    )
    kind = models.CharField(max_length=10, choices=Kind)
    address = models.CharField(max_length=1000)
    options = models.JSONField(default=dict, blank=True)
    credentials = models.TextField(blank=True)
    every_hours = models.PositiveSmallIntegerField(
        default=24, help_text=_("Hours between two runs; 0: only by hand.")
    )
    version = models.CharField(
        max_length=200, blank=True
    )  # of the whole, when all of it was taken in
    report = models.JSONField(default=dict, blank=True)
    waits_since = models.DateTimeField(null=True, blank=True, editable=False)
    waits_dry = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name
