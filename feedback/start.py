"""What happens when the site starts: searches learn where boosts come from, and deletions take evidence along."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.db.models.signals import post_delete, pre_delete

from feedback.boost_source import LiveBoosts
from feedback.models import Rating
from feedback.services.evidence import answer_touch
from feedback.services.forgetting import questions_forget, questions_of
from ragsite.rag_settings import RagSettings
from retrieval.engine import use_boosts
from retrieval.ports import Models


def connect() -> None:
    use_boosts(_make_boosts)
    post_delete.connect(_rating_deleted, sender=Rating, dispatch_uid="feedback.rating_deleted")
    pre_delete.connect(_user_goes, sender=get_user_model(), dispatch_uid="feedback.user_goes")
    post_delete.connect(_user_gone, sender=get_user_model(), dispatch_uid="feedback.user_gone")


def _make_boosts(models: Models, rag: RagSettings) -> LiveBoosts:
    return LiveBoosts(models, rag.feedback)


def _rating_deleted(sender: type[Model], instance: Rating, **_: Any) -> None:
    """A source's own rating stood in the way of the answer's: that one's evidence is drawn anew."""
    if instance.source_id is not None:
        answer_touch(user_id=instance.user_id, message_id=instance.message_id)


def _user_goes(sender: type[Model], instance: Any, **_: Any) -> None:
    instance._rated_questions = questions_of(user_id=instance.pk)


def _user_gone(sender: type[Model], instance: Any, **_: Any) -> None:
    """Questions that nobody else has rated go with the one who put them."""
    questions_forget(getattr(instance, "_rated_questions", []))
