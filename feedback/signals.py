"""What happens when the site starts: searches learn where boosts come from,
conversations where ratings are, the review desk which answers were rated, and deletions take evidence along.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.db.models.signals import post_delete, post_save, pre_delete

from chat.feedback import use_feedback
from chat.review.records import answer_changed
from feedback.chat_port import ChatFeedback
from feedback.curation.curated import LiveCuratedAnswers
from feedback.curation.gaps import gap_document_ready, questions_answered
from feedback.models import Evidence, GapRequest, Rating
from feedback.requests.asking import requests_forward
from feedback.requests.settling import request_document_ready, requests_settle
from feedback.rounds.deletions import lock_out_rounds
from feedback.rounds.evidence import answer_touch
from feedback.rounds.live import LiveBoosts
from feedback.rounds.passages import document_forget, document_relocate
from feedback.rounds.questions import questions_forget, questions_of_person
from ragsite.core.database import after_commit
from retrieval.compose import use_ports
from retrieval.models import Collection, Document


def connect() -> None:
    use_ports(boosts=LiveBoosts, curated=lambda _models: LiveCuratedAnswers())
    use_feedback(ChatFeedback())
    post_save.connect(_rating_saved, sender=Rating, dispatch_uid="feedback.rating_saved")
    post_delete.connect(_rating_deleted, sender=Rating, dispatch_uid="feedback.rating_deleted")
    post_save.connect(_document_saved, sender=Document, dispatch_uid="feedback.document_saved")
    pre_delete.connect(_collection_goes, sender=Collection, dispatch_uid="feedback.collection_goes")
    questions_answered.connect(requests_settle, dispatch_uid="feedback.requests_settle")
    pre_delete.connect(_on_rating_pre_delete, sender=Rating, dispatch_uid="feedback.rating_goes")
    pre_delete.connect(_document_goes, sender=Document, dispatch_uid="feedback.document_goes")
    pre_delete.connect(_user_goes, sender=get_user_model(), dispatch_uid="feedback.user_goes")
    post_delete.connect(
        _on_user_post_delete, sender=get_user_model(), dispatch_uid="feedback.user_gone"
    )


def _on_rating_pre_delete(
    sender: type[Model], instance: Rating, origin: Any = None, **_: Any
) -> None:
    """With it go the questions that nobody else has rated. (`_user_goes` looks after those of an account.)"""
    lock_out_rounds()
    if getattr(origin, "model", type(origin)) is not get_user_model():
        questions = (
            Evidence.objects.filter(rating=instance).order_by().values_list("question", flat=True)
        )
        instance._rated_questions = list(questions.distinct())  # type: ignore[attr-defined]


def _rating_saved(sender: type[Model], instance: Rating, raw: bool = False, **_: Any) -> None:
    if not raw:
        answer_changed(instance.message_id)


def _rating_deleted(sender: type[Model], instance: Rating, **_: Any) -> None:
    """A source's own rating stood in the way of the answer's, which is drawn again."""
    answer_changed(instance.message_id)
    questions_forget(getattr(instance, "_rated_questions", []))
    if instance.source_id is not None:
        answer_touch(user_id=instance.user_id, message_id=instance.message_id)


def _document_saved(
    sender: type[Model], instance: Document, update_fields: Names[str] | None = None, **_: Any
) -> None:
    """Its ingest is done: what was rated in it may stand in other chunks now."""
    if instance.status == Document.Status.READY and "status" in (update_fields or ()):
        after_commit(document_relocate, instance.pk)
        after_commit(request_document_ready, instance.pk)  # before: it takes its own alone
        after_commit(gap_document_ready, instance.pk)


def _collection_goes(sender: type[Model], instance: Collection, **_: Any) -> None:
    """What was sent to its people is the curators' from now on."""
    waiting = GapRequest.objects.filter(collection=instance, state=GapRequest.State.OPEN)
    if ids := list(waiting.values_list("pk", flat=True)):
        after_commit(requests_forward, ids)


def _document_goes(sender: type[Model], instance: Document, **_: Any) -> None:
    lock_out_rounds()
    document_forget(instance.pk)


def _user_goes(sender: type[Model], instance: Any, **_: Any) -> None:
    lock_out_rounds()
    instance._rated_questions = questions_of_person(user_id=instance.pk)


def _on_user_post_delete(sender: type[Model], instance: Any, **_: Any) -> None:
    """Questions that nobody else has rated go with the one who put them."""
    questions_forget(getattr(instance, "_rated_questions", []))
