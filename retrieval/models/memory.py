"""What is remembered for each user."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Memory(models.Model):
    """A fact that an earlier answer gave a user, with the question it answered. Only that user sees it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories"
    )
    question = models.CharField(max_length=500)
    text = models.TextField()
    terms = models.TextField(blank=True)  # the distinct analysed terms of both, separated by spaces
    embedding_model = models.CharField(max_length=200, blank=True)
    vector = models.BinaryField(default=bytes)  # float32, of that model; empty where it is
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("memory")
        ordering = ["-updated_at", "pk"]
        verbose_name_plural = _("memories")
        indexes = [models.Index(fields=["user", "-updated_at"], name="memory_of_user")]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class MemoryOrigin(models.Model):
    """An answer that a fact came from. The latest one gave it its words. Conversations are known by id alone."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="origins")
    conversation_id = models.UUIDField(db_index=True)
    answer_id = models.UUIDField(db_index=True)

    class Meta:
        verbose_name = _("memory origin")
        verbose_name_plural = _("memory origins")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["memory", "answer_id"], name="memory_origin_once")
        ]

    def __str__(self) -> str:
        return f"{self.memory_id}: {self.answer_id}"


class MemoryPreference(models.Model):
    """Whether answers are remembered for this user; without a row, as the settings say."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="memory_preference",
    )
    enabled = models.BooleanField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("memory preference")
        verbose_name_plural = _("memory preferences")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.user_id}"
