"""A migration's operation for what models and fields are called and explained by, which no database holds."""

from __future__ import annotations

from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.state import ProjectState


class TextsOfFields(SeparateDatabaseAndState):
    """Takes `state_operations` alone, and lets Django make the models of its state once, not anew after each of them.

    A first start applies some 360 of such changes: one by one they took most of its time.
    """

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # a cached property: made again for whoever asks next
        super().state_forwards(app_label, state)
