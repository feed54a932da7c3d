"""Questions that a new conversation offers of the documents, as a model made them and was tried to answer them."""

from __future__ import annotations

from typing import Any

from django.db import models

from retrieval.models import Collection, Document


class Starter(models.Model):
    """A question that a document answers. It goes with the document, and is offered to people who may read that."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    text = models.CharField(max_length=200)
    language = models.CharField(max_length=10, blank=True)  # as `detect_language` names it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.text[:80]


class StarterLook(models.Model):
    """Which state of a collection starters were last looked for in, by which assistant, and how far a look has come that
    is under way."""

    collection = models.OneToOneField(
        Collection, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    version = models.PositiveBigIntegerField()  # of the collection; 0 while no look has ended
    # Mark of how the site's default assistant asked then (`chat.services.starters`); None: there was none.
    asked_as = models.UUIDField(null=True)
    # Of the look that is under way: id of a document → how often it was tried. None: it has ended.
    tried: Any = models.JSONField(null=True)
    looked_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.collection_id}: {self.version}"
