"""What is older than the site keeps it goes, with all that hangs on it, and nothing else."""

from __future__ import annotations

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.utils import timezone

from chat.models import (
    AnswerReview,
    DecisionStep,
    DeskEvent,
    FilledPrompt,
    Message,
    Replay,
    Session,
    Share,
    Source,
)
from chat.review.records import answers_record
from feedback.models import Evidence, FeedbackState, RatedPassage, RatedQuestion, Rating
from feedback.rounds.evidence import evidence_gather
from ragsite.operations.retention import retention_work
from retrieval.knowledge.services.collections import collection_of_conversation
from retrieval.models import MemoryOrigin
from tests.factories import (
    DecisionStepFactory,
    DocumentFactory,
    MemoryFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)

pytestmark = pytest.mark.django_db
NOW = timezone.now()
OLD = NOW - timedelta(days=400)


def rows_of_all_tables() -> dict[str, int]:
    """How many rows each table has, but the one that rounds lock."""
    models = [
        model for model in apps.get_models() if model is not FeedbackState and not model._meta.proxy
    ]
    return {model._meta.label: model._default_manager.count() for model in models}


def conversation(*, at: datetime = OLD, user: Any = None, **values: Any) -> Session:
    """A question and its answer; last used then."""
    session: Session = SessionFactory(user=user or UserFactory(), **values)
    answer = answered(session=session)
    Message.objects.filter(session=session).update(created_at=at)
    Session.objects.filter(pk=session.pk).update(updated_at=at)
    answers_record([answer.pk])
    return session


def with_everything(session: Session) -> None:
    """All that can hang on a conversation."""
    answer = session.messages.get(role="assistant")
    SourceFactory(message=answer, marker=1)
    DecisionStepFactory(message=answer, seq=1)
    rating = RatingFactory(message=answer, score=1, comment="No.")
    question = RatedQuestion.objects.create(signature=session.pk.hex[:16], text="What of zebras?")
    passage = RatedPassage.objects.first() or RatedPassage.objects.create(
        document=DocumentFactory(), content_hash="h"
    )
    Evidence.objects.create(
        rating=rating,
        question=question,
        passage=passage,
        voter=session.user,
        weight=1,
        document_weight=0.5,
        day=1,
    )
    memory = MemoryFactory(user=session.user)
    MemoryOrigin.objects.create(memory=memory, conversation_id=session.pk, answer_id=answer.pk)
    drawer = collection_of_conversation(owner=session.user, conversation_id=session.pk)
    document = DocumentFactory(collection=drawer)
    document.file.save("fees.md", ContentFile(b"# Fees"))
    Share.objects.create(
        session=session, scope="site", message_ids=[str(answer.pk)], expires_at=OLD
    )
    Replay.objects.create(
        message=answer, question="?", status=Replay.Status.COMPLETE, finished_at=NOW
    )
    FilledPrompt.objects.create(message=answer, step=1, call=0, name="generate")
    row = AnswerReview.objects.get(message=answer)
    row.labels.create(name="hr")
    DeskEvent.objects.create(by_name="ann", kind=DeskEvent.Kind.READ, answer=row)


def run() -> dict[str, int]:
    """What the command deletes, by kind."""
    out = io.StringIO()
    call_command("retention", stdout=out)
    told = (
        line.removesuffix(" deleted").partition(": ") for line in out.getvalue().splitlines()[:-1]
    )
    return {kind: int(count) for kind, _, count in told}


@pytest.fixture(autouse=True)
def site(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"


# ------------------------------------------------------------------------------------------------ conversations
def test_without_a_setting_nothing_that_people_made_goes() -> None:
    with_everything(conversation())
    before = rows_of_all_tables()
    assert run() == {}
    assert rows_of_all_tables() == before | {
        "chat.FilledPrompt": 0
    }  # which a site without the setting never stores


def test_a_conversation_goes_with_all_that_hangs_on_it(
    rag_settings: Any, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    rag_settings(retention={"conversations_days": 365})
    stays = conversation(at=NOW - timedelta(days=364))
    RatedPassage.objects.create(document=DocumentFactory(), content_hash="h")
    user = stays.user
    before = rows_of_all_tables()
    goes = conversation(user=user)
    with_everything(goes)
    assert sum(rows_of_all_tables().values()) > sum(before.values()) + 15
    with django_capture_on_commit_callbacks(execute=True):
        assert run() == {"conversations": 1}
    assert rows_of_all_tables() == before
    assert not [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]
    assert Session.objects.get() == stays


@pytest.mark.parametrize("why", ["pinned", "archived", "shared", "assigned", "running", "used"])
def test_a_conversation_that_somebody_wants_still_is_kept(why: str, rag_settings: Any) -> None:
    rag_settings(retention={"conversations_days": 30})
    session = conversation()
    answer = session.messages.get(role="assistant")
    rows = Session.objects.filter(pk=session.pk)
    match why:
        case "pinned":
            rows.update(pinned_at=OLD)
        case "archived":
            rows.update(archived_at=OLD)
        case "shared":
            Share.objects.create(session=session, scope="site", message_ids=[str(answer.pk)])
        case "assigned":
            AnswerReview.objects.update(assignee=UserFactory())
        case "running":
            Message.objects.filter(pk=answer.pk).update(status="streaming")
        case "used":
            rows.update(updated_at=NOW - timedelta(days=29))
    assert "conversations" not in run()
    assert rows.exists()


def test_archived_conversations_have_an_age_of_their_own(rag_settings: Any) -> None:
    rag_settings(retention={"archived_days": 30})
    conversation()
    lately, long_ago = (conversation(archived_at=at) for at in (NOW - timedelta(days=2), OLD))
    assert run() == {"archived": 1}
    assert (
        Session.objects.filter(pk=lately.pk).exists()
        and not Session.objects.filter(pk=long_ago.pk).exists()
    )


# ------------------------------------------------------------------------------------------------ parts of them
def test_a_path_goes_with_its_prompts_and_its_answer_stays(rag_settings: Any) -> None:
    rag_settings(retention={"paths_days": 30})
    old, new, held = conversation(), conversation(at=NOW), conversation()
    for session in (held, old, new):
        answer = session.messages.get(role="assistant")
        DecisionStepFactory.create_batch(3, message=answer)
        FilledPrompt.objects.create(message=answer, step=1, call=0, name="generate")
    AnswerReview.objects.filter(session=held).update(assignee=UserFactory())
    assert run() == {"paths": 1}
    assert DecisionStep.objects.filter(message__session=old).count() == 0
    assert (
        DecisionStep.objects.count(),
        FilledPrompt.objects.count(),
        Message.objects.count(),
    ) == (6, 2, 6)


def test_what_an_answer_that_was_deleted_meanwhile_left_goes() -> None:
    left = SourceFactory().message
    DecisionStepFactory(message=left)
    # Its row alone, as if a run had stored what belongs to it at the same moment.
    Message.objects.filter(pk=left.pk)._raw_delete("default")
    stays = SourceFactory()
    list(retention_work())
    assert list(Source.objects.all()) == [stays]
    assert not DecisionStep.objects.exists()


def test_what_a_rating_says_goes_and_is_not_drawn_again(rag_settings: Any) -> None:
    rag_settings(retention={"evidence_days": 30})
    session = conversation()
    with_everything(session)
    Rating.objects.update(attributed_at=Rating.objects.get().updated_at)
    assert run() == {"evidence": 1}
    assert (
        not Evidence.objects.exists()
        and not RatedQuestion.objects.exists()
        and Rating.objects.count() == 1
    )
    evidence_gather()
    assert not Evidence.objects.exists()


def test_the_desks_log_goes_by_its_age(rag_settings: Any) -> None:
    rag_settings(retention={"desk_log_days": 30})
    for at in (OLD, NOW):
        event = DeskEvent.objects.create(by_name="ann", kind=DeskEvent.Kind.EXPORT)
        DeskEvent.objects.filter(pk=event.pk).update(at=at)
    assert run() == {"desk_log": 1} and DeskEvent.objects.get().at == NOW


# ------------------------------------------------------------------------------------------------ told
def test_a_dry_run_tells_and_deletes_nothing(rag_settings: Any) -> None:
    rag_settings(retention={"conversations_days": 30})
    for days in (0, 100, 200):
        conversation(at=NOW - timedelta(days=days))
    before = rows_of_all_tables()
    out = io.StringIO()
    call_command("retention", "--dry-run", stdout=out)
    assert "conversations: 2 are older than 30 days" in out.getvalue()
    assert rows_of_all_tables() == before
