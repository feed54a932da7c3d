"""What a rated passage said, kept small: so that it is known again where its document is cut otherwise."""

from __future__ import annotations

from django.db import models

from feedback.models.evidence import RatedPassage


class PassageSketch(models.Model):
    """In a table of its own, for every round reads all passages and few sketches."""

    passage = models.OneToOneField(RatedPassage, on_delete=models.CASCADE, primary_key=True, related_name="sketch")
    hashes = models.BinaryField(help_text="By feedback.ranking.text_overlap.")

    def __str__(self) -> str:
        return f"sketch of passage {self.passage_id}"
